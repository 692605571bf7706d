/* The list of subcommands, in the order of the help page; rows of one group are together. */
#include "cmd/cmd.h"

const struct iso_cmd *const iso_commands[] = {
    /* Analysis */
    &iso_cmd_plan,
    &iso_cmd_fit,
    &iso_cmd_compare,
    &iso_cmd_predict,
    &iso_cmd_power,
    &iso_cmd_rates,
    &iso_cmd_report,
    /* Data */
    &iso_cmd_corpus,
    &iso_cmd_tokenizer_train,
    &iso_cmd_tokenizer_encode,
    &iso_cmd_tokenizer_decode,
    &iso_cmd_tokenizer_info,
    &iso_cmd_pack,
    &iso_cmd_data,
    /* Train */
    &iso_cmd_train,
    &iso_cmd_loss,
    &iso_cmd_generate,
    &iso_cmd_init,
    &iso_cmd_inspect,
    /* Study */
    &iso_cmd_design,
    &iso_cmd_sweep,
    &iso_cmd_status,
    &iso_cmd_runs,
    /* Evaluate */
    &iso_cmd_eval,
    &iso_cmd_probes,
    /* About */
    &iso_cmd_help,
    &iso_cmd_version,
    &iso_cmd_man,
    &iso_cmd_completion,
    NULL,
};
