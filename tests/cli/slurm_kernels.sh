#!/usr/bin/env bash
# A mixed cluster: node n1 of a real Slurm has a CPU without the study's kernels (an emulated one).
# Its runs go to n2, no attempt counts as a failure, and the log says which node it was; a study
# that no node can train ends with what helps.
set -u
. "$(dirname "$0")/top.bash"
case $B in *-san) skip "the address sanitizer does not run on emulated CPUs" ;; esac
command -v qemu-x86_64 >/dev/null || skip "no qemu-x86_64: apt-get install qemu-user"
. tests/cli/slurm_lib.bash
"$iso" version -v | grep -qw avx2 || skip "this CPU has no AVX2"
make_data
cd "$tmp" || exit 1
make_grid toy.yaml '[2]'
cat > trainer <<END
#!/usr/bin/env bash
case " \${OLD_NODES-n1} " in *" \$SLURMD_NODENAME "*) exec qemu-x86_64 -cpu Nehalem "$iso" "\$@" ;; esac
exec "$iso" "\$@"
END
chmod +x trainer
export ISO_TRAIN_PROGRAM=$tmp/trainer
grid=(toy.yaml --no-fit --data data --set kernels=avx2 --set widths='[1, 2]' --set budgets='[1e10, 2e10]')
slurm=(--launcher slurm --partition main --poll 0.5)
# on_slurm CODE ARGUMENT...
on_slurm() {
    local want=$1 code
    shift
    timeout 200 "$iso" sweep "${grid[@]}" "${slurm[@]}" "$@" > out 2> log
    code=$?
    [ $code = "$want" ] || { cat out log; tail ./*/slurm/*.log ./*/runs/*/train.log; fail "$*: exit $code"; }
}
# said WORDS: in the log.
said() { grep -q -- "$1" log || { cat log; fail "no word of \"$1\""; }; }
numbers() { for d in "$1"/runs/*/; do echo "$(basename "$d") $(cksum < "$d/model.safetensors")"; done; }

env -u ISO_TRAIN_PROGRAM "$iso" sweep "${grid[@]}" --out local > /dev/null 2>&1 || fail "the local study"
on_slurm 0 --out mixed --retries 0
grep -q '4 runs: 4 done' out || fail "all done: $(cat out)"
said 'is retried: n1 lacks the kernels avx2$'
numbers mixed | diff - <(numbers local) || fail "other numbers"
for job in mixed/slurm/*.job; do
    [ "$job" = mixed/slurm/1.job ] || grep -q "JobId=$(cat "$job")_.*NodeList=n2 " slurmctld.log ||
        fail "the second time not on n2: $(grep NodeList slurmctld.log)"
done
[ -z "$(find mixed/runs -name 'lacks-kernels*')" ] || fail "notes are left"

# Ranks: the node of a rank counts, not that of the task's script.
if "$iso" version --json | grep -q '"mpi": *true' && srun --mpi=list 2>&1 | grep -q pmix; then
    on_slurm 0 --out ranks --retries 0 --ranks 2 --set lanes=4 --set budgets='[1e10]'
    said 'is retried: n1 lacks the kernels avx2$'
    on_slurm 1 --out spread --ranks 2 --nodes 2 --set lanes=4 --set budgets='[1e10]'
    said 'nodes left out for lack of the kernels avx2: n1 (set kernels: .*constraint.*: sbatch failed'
fi

# No node has them.
OLD_NODES="n1 n2" on_slurm 1 --out none
said 'nodes left out for lack of the kernels avx2: n[12],n[12] (set kernels: .*constraint.*: sbatch failed'
[ "$(find none/slurm -name '*.job' | wc -l)" -le 8 ] || fail "too many tries"
echo ok
