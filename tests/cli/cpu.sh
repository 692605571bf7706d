#!/usr/bin/env bash
# ISO_CPU: plain C trains to the same losses as this machine's best table, the choice is on
# record, an instruction set that is not there is refused, and CPUs that lack one do without it.
set -eu
. "$(dirname "$0")/top.bash"
. tests/cli/train_lib.bash

awk 'BEGIN { srand(3); for (i = 0; i < 400; i++) { s = ""
    for (k = 0; k < 30; k++) s = s substr("the cat sees a dog ", 1 + int(rand() * 15), 4)
    print s "\n" } }' >text.txt
small_run 192 6 48
unset ISO_CPU
"$I" -q train run.yaml --out best || fail "best table"
ISO_CPU=ref "$I" -q train run.yaml --out ref || fail "reference table"
python3 - <<'PY' || fail "losses differ"
import json
best, ref = (json.load(open(d + "/result.json")) for d in ("best", "ref"))
assert ref["kernels"] == "ref", ref["kernels"]
# Rounding of fp32, or of the bf16 operands on AMX, over six steps.
limit = 1e-2 if best["kernels"] in ("avx512bf16", "amx") else 1e-4
assert abs(best["loss"] - ref["loss"]) < limit, (best["loss"], ref["loss"])
assert best["flops"] == ref["flops"], (best["flops"], ref["flops"])
PY
code=0
ISO_CPU=z80 "$I" -q train run.yaml --out none 2>log || code=$?
[ $code = 1 ] || fail "an unknown ISO_CPU gave exit code $code"
grep -q 'ISO_CPU' log || fail "the refusal says: $(cat log)"

# Emulated CPUs: an instruction of a wider set than the CPU has would end the program.  Those with
# AVX2 train to the bits of a real one.
case $B in *-san) echo "the address sanitizer does not run on emulated CPUs: skipped"; exit 0 ;; esac
seq 60 | sed 's/.*/Cat & sees dog & and bird & in the garden of house &.\n/' >text.txt
rm -r data
small_run 96 1 48
one_step() { "$@" "$I" -q train run.yaml --threads 1 --out "$out" >log 2>&1; }
for cpu in Nehalem:ref max:avx2; do
    table=${cpu#*:}
    out=emulated_$table
    one_step qemu-x86_64 -cpu "${cpu%:*}" || fail "$cpu: $(tail -n 3 log)"
    grep -q "\"kernels\": *\"$table\"" "$out/result.json" || fail "$cpu uses other kernels"
    [ "$table" = ref ] || grep -q " $table" <<<"$("$I" version -v)" || continue
    out=real_$table
    one_step env "ISO_CPU=$table" || fail "$table: $(tail -n 3 log)"
    same "real_$table" "emulated_$table" "$cpu, emulated"
done
