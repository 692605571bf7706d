# Shared by the tests of a real Slurm: munged, slurmctld and two slurmd on the loopback, as root.
# Sourced after top.bash; starts the cluster, and ends it when the test ends.
[ "$(id -u)" = 0 ] || skip "needs root to start Slurm's daemons"
for program in munged slurmctld slurmd sbatch squeue scontrol flock; do
    command -v $program >/dev/null || skip "no $program: apt-get install slurm-wlm munge"
done
daemons=() scheduler=
cleanup() {
    kill "$scheduler" 2>/dev/null # a failed test's: it would wait for a queue that is gone
    if [ -e "$tmp/slurm.conf" ]; then # the tasks end before the daemons that look after them
        timeout 10 scancel -u root >/dev/null 2>&1
        for _ in $(seq 40); do [ -z "$(timeout 5 squeue -h 2>/dev/null)" ] && break; sleep 0.2; done
    fi
    for pid in "${daemons[@]}"; do kill "$pid" 2>/dev/null; done
    sleep 0.5
    for pid in "${daemons[@]}"; do kill -9 "$pid" 2>/dev/null; done
    wait 2>/dev/null
    rm -rf "$tmp"
}
. tests/cli/sweep_lib.bash
trap cleanup EXIT
export SLURM_CONF=$tmp/slurm.conf

mkdir "$tmp/munge" "$tmp/state"
chmod 755 "$tmp"
head -c 1024 /dev/urandom > "$tmp/munge/key"
chmod 400 "$tmp/munge/key"
munged --foreground --force --key-file="$tmp/munge/key" --socket="$tmp/munge/socket" \
    --pid-file="$tmp/munge/pid" --log-file="$tmp/munge/log" --seed-file="$tmp/munge/seed" \
    >/dev/null 2>&1 &
daemons+=($!)
port=$((20000 + $$ % 20000))
cat > "$tmp/slurm.conf" <<END
ClusterName=loopback
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=$port
AuthType=auth/munge
AuthInfo=socket=$tmp/munge/socket,cred_expire=5
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$tmp/state
SlurmdSpoolDir=$tmp/spool.%n
TmpFS=$tmp/tmp.%n
SlurmctldPidFile=$tmp/slurmctld.pid
SlurmdPidFile=$tmp/slurmd.%n.pid
SlurmctldLogFile=$tmp/slurmctld.log
SlurmdLogFile=$tmp/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1,batch_sched_delay=0,sched_min_interval=100000
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
MaxArraySize=9
ReturnToService=2
KillWait=5
NodeName=n[1-2] NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=[$((port + 1))-$((port + 2))] CPUs=2 RealMemory=4000 State=UNKNOWN
PartitionName=main Nodes=n[1-2] Default=YES MaxTime=60 PriorityTier=1 State=UP
PartitionName=urgent Nodes=n[1-2] MaxTime=60 PriorityTier=10 PreemptMode=OFF State=UP
END
for _ in $(seq 50); do [ -S "$tmp/munge/socket" ] && break; sleep 0.1; done
slurmctld -D -f "$SLURM_CONF" >/dev/null 2>&1 &
daemons+=($!)
for node in n1 n2; do
    mkdir "$tmp/spool.$node" "$tmp/tmp.$node"
    slurmd -D -N $node -f "$SLURM_CONF" >/dev/null 2>&1 &
    daemons+=($!)
done
ready=0
for _ in $(seq 100); do
    [ "$(sinfo -h -o '%T %D' 2>/dev/null)" = "idle 2" ] && ready=1 && break
    sleep 0.2
done
[ $ready = 1 ] || {
    tail -n 5 "$tmp"/*.log
    skip "Slurm does not come up here: $(sinfo -h 2>&1 | head -n 1)"
}
