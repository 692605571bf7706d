#!/usr/bin/env bash
# STUDY/live.html: whole at every moment, right in its numbers, and in a browser free of errors, of
# sideways scrolling, and readable in light and dark.
set -u
. "$(dirname "$0")/top.bash"
command -v chromium >/dev/null || skip "no chromium"
. "$(dirname "$0")/top.bash"
. tests/cli/sweep_lib.bash
export ISO_TRAIN_PROGRAM STANDIN_STEPS=25 STANDIN_SLEEP=0.1
ISO_TRAIN_PROGRAM=$standin
make_data
cd "$tmp" || exit 1
make_grid toy.yaml
sed -i "s/^name: .*/name: '<b>toy \& co'/" toy.yaml

# While it works, with a run that fails: every copy is whole.
STANDIN_FAIL='r1-d16-*' "$iso" sweep toy.yaml --data data --out st --retries 0 --jobs 2 \
    > out 2> log < /dev/null &
scheduler=$!
copies=0
while kill -0 $scheduler 2>/dev/null; do
    sleep 0.1
    cp st/live.html now.html 2>/dev/null || continue
    [ "$(tail -n 1 now.html)" = "</body></html>" ] || fail "half a page"
    copies=$((copies + 1))
    grep -q polyline now.html && grep -q 'left at' now.html && cp now.html mid.html
done
wait $scheduler
[ $? = 1 ] || { cat log; fail "the study with failing runs"; }
[ $copies -ge 5 ] && [ -s mid.html ] || fail "too few copies: $copies"
want '<meta http-equiv="refresh" content="' mid.html "it renews itself"
grep -q 'running' mid.html && grep -q 'left at .* GFLOP/s' mid.html || fail "progress"

# At the end: what status says, and no renewal.
want 'ended with an error' st/live.html "how it ended"
grep -q 'http-equiv="refresh"' st/live.html && fail "a page that is over renews itself"
want "$("$iso" status st | grep '^12 runs')" st/live.html "counts"
want 'no luck with r1-d16' st/live.html "failed runs"
want '&lt;b&gt;toy &amp; co' st/live.html "names are escaped"
grep -q '<b>toy' st/live.html && fail "a name became markup"
STANDIN_SLEEP=0.001 "$iso" sweep --out st > out 2> log || { cat log; fail "the rest"; }
want '100 %<small>finished' st/live.html "finished"
grep -q 'id="phi">phi .*(12 runs' st/live.html || fail "phi"
grep -q 'trust: \(good\|caution\)' st/live.html && fail "trust before all checks were made"
want 'href="report/report.html"' st/live.html "the report"
best=$("$iso" runs st --csv --where 'r=2 and budget=6e10' |
    python3 -c 'import csv, sys; print("%.4f" % min(float(r["loss"]) for r in csv.DictReader(sys.stdin)))')
want "3 of 3<small>$best</small>" st/live.html "the best loss of a cell"

# In a browser.
cat > probe.html <<'END'
<script>
window.problems = [];
window.onerror = m => { window.problems.push(m); };
addEventListener('load', () => {
  const bad = window.problems, width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) bad.push('wider than the window');
  if (/NaN|undefined|inf/.test(document.body.textContent)) bad.push('a number that is none');
  if (document.querySelectorAll('table.cells td').length != 6) bad.push('cells');
  const lines = [...document.querySelectorAll('polyline')];
  if (PROBE_LINES && !lines.some(l => l.getBoundingClientRect().width > 0)) bad.push('curves');
  for (const t of document.querySelectorAll('svg.curves text')) {
    const box = t.getBoundingClientRect(), svg = t.ownerSVGElement.getBoundingClientRect();
    if (box.height < 8) bad.push('small text ' + box.height);
    if (box.left < svg.left - 1 || box.right > svg.right + 1 || box.top < svg.top - 1 ||
        box.bottom > svg.bottom + 1) bad.push('cut text ' + t.textContent);
  }
  document.title = 'probed: ' + (bad.join(', ') || 'good');
});
</script>
END
browse() {
    timeout 120 chromium --headless --no-sandbox --disable-gpu --hide-scrollbars \
        --user-data-dir="$tmp/chromium" "$@" 2>chromium.log ||
        { tail -n 5 chromium.log; fail "chromium failed"; }
}
for file in mid.html st/live.html; do
    sed 's/<meta http-equiv="refresh"[^>]*>//' "$file" > plain.html
    sed -e "s/PROBE_LINES/$(grep -c polyline plain.html)/" probe.html > script.html
    sed -e '/<head>/r script.html' plain.html > probed.html
    printf '<iframe src="probed.html" style="width:420px;height:900px"></iframe><script>
addEventListener("load", () => { document.title = document.querySelector("iframe").contentDocument.title; });
</script>' > narrow.html
    for page in probed narrow; do
        browse --window-size=1280,900 --allow-file-access-from-files --virtual-time-budget=3000 \
            --dump-dom "file://$tmp/$page.html" > dom.html
        want '<title>probed: good</title>' dom.html "$file in a browser, $page: $(grep -o '<title>.*</title>' dom.html)"
    done
done
browse --window-size=600,400 --screenshot=light.png "file://$tmp/plain.html" >/dev/null
browse --window-size=600,400 --force-dark-mode --blink-settings=preferredColorScheme=0 \
    --screenshot=dark.png "file://$tmp/plain.html" >/dev/null
python3 - <<'PY' || fail "light and dark"
import struct, zlib
def brightness(path):
    data, at, packed = open(path, "rb").read(), 8, b""
    while at < len(data):
        n, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IHDR":
            w, h, depth, colour = struct.unpack(">IIBB", data[at + 8:at + 18])
        if kind == b"IDAT":
            packed += data[at + 8:at + 8 + n]
        at += 12 + n
    raw, bpp = zlib.decompress(packed), 4 if colour == 6 else 3
    # The corner: the first pixel of the first row, whatever its filter is.
    return raw[1]
light, dark = brightness("light.png"), brightness("dark.png")
assert light > 240 and dark < 60, (light, dark)
PY
echo ok
