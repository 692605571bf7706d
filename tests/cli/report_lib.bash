# Sourced by the tests of reports, after top.bash: need, fail, browse; $dir goes when the test ends.
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
name=$(basename "$0" .sh)
passed() { echo "$name: all checks passed"; }

# need TOOL...: skips the test where one is not installed.
need() {
    local tool
    for tool; do
        command -v "$tool" >/dev/null || skip "$tool is not installed"
    done
}

# browse ARGS...: headless Chromium.
browse() {
    timeout 120 chromium --headless --no-sandbox --disable-gpu --hide-scrollbars \
        --user-data-dir="$dir/chromium" "$@" 2>"$dir/chromium.log" ||
        { tail -n 5 "$dir/chromium.log" >&2; fail "chromium failed"; }
}

# paper_data: $dir/truncated.csv, hyper.csv, study, rates.csv, beyond; see paper_data.py.
paper_data() {
    python3 tests/cli/paper_data.py "$B/isodepth" "$dir"
}
