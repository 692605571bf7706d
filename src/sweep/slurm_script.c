/* The script of a Slurm array's tasks: see slurm_script.h.
 *
 * 1. Each run has its own process, log and folder; whoever trains a run holds the lock on its
 *    `.running`, which the trainer inherits.
 * 2. Two minutes before its time limit a task gets SIGUSR1: its runs save, and the task asks to be
 *    requeued; they resume from their checkpoints.  SIGTERM, which scancel and preemption send,
 *    saves and asks for nothing: with it for both, a cancelled array would come back, and a
 *    preempted task is requeued by Slurm itself.
 * 3. A run of several ranks is started by srun where it speaks PMIx, which finds the nodes and
 *    their network by itself, else by mpirun.  Both pass SIGUSR1 on to the ranks, and answer
 *    SIGTERM in ways of their own.  A rank that dies must end the others, which srun does not do
 *    unasked. */
#include "sweep/slurm_script.h"

/* The trainer's command line for the run "$1" in the folder "$out". */
static void put_trainer(struct iso_str *out, const struct iso_launch_options *o)
{
    struct iso_arena arena = {0};
    const char **argv = iso_launch_argv(&arena, o, "RUN");
    for (size_t i = 0; argv[i]; i++) {
        iso_str_putc(out, ' ');
        if (iso_str_eq(argv[i], "RUN"))
            iso_str_puts(out, "\"$1\"");
        else if (i > 0 && iso_str_eq(argv[i - 1], "--out"))
            iso_str_puts(out, "\"$out\"");
        else
            iso_str_put_word(out, argv[i]);
    }
    iso_arena_release(&arena);
}

/* What starts the trainer: nothing for one rank. */
static void put_launcher(struct iso_str *out, const struct iso_launch_options *o, int ranks)
{
    if (ranks == 1)
        return;
    iso_str_printf(out,
                   "    if srun --mpi=list 2>&1 | grep -q pmix; then\n"
                   "        launch=(srun --mpi=pmix --kill-on-bad-exit=1 --ntasks=%d "
                   "--cpus-per-task=%d)\n"
                   "    else\n"
                   "        launch=(mpirun -n %d --bind-to none)\n"
                   "        export " ISO_MPIRUN_GRACE "=\"${" ISO_MPIRUN_GRACE
                   ":-" ISO_MPIRUN_GRACE_SECONDS "}\"\n"
                   "    fi\n",
                   ranks, o->threads, ranks);
}

void iso_slurm_script(struct iso_str *out, const struct iso_launch_options *o, int ranks,
                      const char *base)
{
    iso_str_puts(out, "#!/bin/bash\n"
                      "# Task i trains the runs on line i of this list, side by side.\n"
                      "list=");
    iso_str_put_word(out, base);
    iso_str_puts(out, ".runs\nstudy=");
    iso_str_put_word(out, o->study);
    iso_str_putc(out, '\n');
    if (o->prologue)
        iso_str_printf(out, "%s\n", o->prologue);
    iso_str_puts(out,
                 "\n"
                 "# train RUN: becomes the trainer, which keeps the folder's lock; a requeued\n"
                 "# task waits for its predecessor to be gone.\n"
                 "train() {\n"
                 "    local out=\"$study/runs/$1\"\n"
                 "    exec >> \"$out/train.log\" 2>&1\n"
                 "    [ -e \"$out/result.json\" ] && exit 0\n"
                 "    exec 9> \"$out/.running\"\n"
                 "    flock -w 300 9 || { echo \"isodepth: $1 is in use\"; exit 1; }\n");
    put_launcher(out, o, ranks);
    iso_str_puts(out, ranks == 1 ? "    exec" : "    exec \"${launch[@]}\"");
    put_trainer(out, o);
    iso_str_printf(out,
                   "\n}\n\n"
                   "again=0 code=0 pids=()\n"
                   "stop() { [ ${#pids[@]} = 0 ] || kill -%s \"${pids[@]}\" 2>/dev/null; }\n",
                   ranks == 1 ? "TERM" : "USR1");
    iso_str_puts(out, "trap stop TERM\n"
                      "trap 'again=1; stop' USR1\n"
                      "for run in $(sed -n \"${SLURM_ARRAY_TASK_ID}p\" \"$list\"); do\n"
                      "    train \"$run\" &\n"
                      "    pids+=($!)\n"
                      "done\n"
                      "for pid in \"${pids[@]}\"; do\n"
                      "    # A signal ends wait early; the trainer's own end is what counts.\n"
                      "    wait \"$pid\"; one=$?\n"
                      "    while kill -0 \"$pid\" 2>/dev/null; do wait \"$pid\"; one=$?; done\n"
                      "    if [ $one = 3 ] || [ $code = 0 ]; then code=$one; fi\n"
                      "done\n"
                      "# The time is up, not the work: back into the queue.\n"
                      "if [ $code = 3 ] && [ $again = 1 ]; then\n"
                      "    scontrol requeue \"$SLURM_JOB_ID\" && sleep 60\n"
                      "fi\n"
                      "exit $code\n");
}
