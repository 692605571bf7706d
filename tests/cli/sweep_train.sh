#!/usr/bin/env bash
# Twelve runs end to end with the trainer itself: from text to phi and its report, and once more
# with nothing left to do; fit and report take the study as it is.
set -u
. "$(dirname "$0")/top.bash"
. tests/cli/sweep_lib.bash
make_data
cd "$tmp" || exit 1
make_grid toy.yaml
sweep() { "$iso" sweep toy.yaml --set 'budgets=[4e9, 1.2e10]' --data data "$@"; }

sweep --out st > out 2> log || { cat log; fail "the study"; }
grep -q '12 runs: 12 done' out || fail "all done"
grep -q '^phi .*   trust: undetermined   (12 runs' out || { cat out; fail "phi with how far to trust it"; }
grep -q '^These runs do not determine φ (' out || { cat out; fail "the verdict"; }
grep -q "^report: st/report/report.html$" out || fail "the report's path"
[ -s st/report/report.html ] && [ -s st/report/fit.json ] || fail "the report"
grep -q 'isodepth report st --out st/report' st/report/report.html || fail "the report's command"

# Again: the same words, at once, without a new fit.
touch -d '1 hour ago' st/report/fit.json
before=$(stat -c %Y st/report/fit.json)
sweep --out st > again 2> log || fail "the study again"
grep -q 'nothing is left to do' again || fail "nothing left"
[ "$(grep -v 'nothing is left' again)" = "$(cat out)" ] || { diff out again; fail "other words"; }
[ "$(stat -c %Y st/report/fit.json)" = "$before" ] || fail "it was fitted again"

# The study keeps the kernels of its first machine, and one that lacks them leaves it alone.
kernels=$(sed -n 's/^kernels: //p' st/grid.yaml)
[ -n "$kernels" ] || fail "the study's kernels: $(cat st/grid.yaml)"
ISO_CPU=ref sweep --out st > again 2> log || fail "the study with another ISO_CPU"
[ "$(sed -n 's/^kernels: //p' st/grid.yaml)" = "$kernels" ] || fail "the kernels changed"
if sweep --out elsewhere --set kernels=z80 > again 2> log; then fail "kernels of nobody"; fi
grep -q 'elsewhere is left to other machines: .*no kernels "z80"' log || { cat log; fail "kernels"; }

# The results are the trainer's: one run by hand gives the same.
run=$(ls st/runs | head -n 1)
"$iso" train st/grid.yaml --run "$run" --data data --out byhand --threads 1 >/dev/null 2>&1 ||
    fail "a run by hand"
cmp -s "byhand/model.safetensors" "st/runs/$run/model.safetensors" || fail "another model by hand"

# Others take the study.
phi=$(sed -n 's/.*The fit ended at \([-0-9.]*\),.*/\1/p' out)
"$iso" fit st --resamples 0 | grep -q "The fit ended at $phi," || fail "fit STUDY"
"$iso" status st | grep -q "so far phi is not determined   (12 runs" ||
    fail "status: the fit so far"

# Too few runs for a fit are no error.
sweep --out few --set 'r=[1]' --set 'widths=[2]' > out 2> log || { cat log; fail "few runs"; }
grep -q '^no fit: ' out || { cat out; fail "few runs: message"; }

# Width rules of budgets and r that --set takes away: the trainers read the study's grid all the same.
sed 's/^widths: .*/widths: {4e9: {1: [1, 2], 2: [1]}, 2e10: [2], 6e10: [3]}/; s/^budgets: .*/budgets: [4e9, 2e10, 6e10]/' \
    toy.yaml > rules.yaml
less=(--set 'budgets=[4e9]' --set 'r=[1]')
"$iso" sweep rules.yaml --data data --out less "${less[@]}" > out 2> log || { cat log; fail "fewer budgets"; }
grep -q '2 runs: 2 done' out || { cat out; fail "fewer budgets: runs"; }
[ "$("$iso" plan less/grid.yaml --csv)" = "$("$iso" plan rules.yaml "${less[@]}" --csv)" ] ||
    fail "the study's grid plans other runs"

# A setting of the trainer reaches it; a setting of nobody is refused.
sweep --out few --set 'r=[1]' --set 'widths=[2]' --set save_evry=3 2> log && fail "unknown setting"
grep -q 'Did you mean save_every?' log || { cat log; fail "unknown setting: message"; }
echo ok
