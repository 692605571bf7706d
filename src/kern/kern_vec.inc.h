/* The vector kernels, written once.  A file kern_<isa>.c defines ISO_VEC_TABLE and ISO_VEC_NAME
 * and includes this; its -m flags choose the width (see vec.h).  It may bring its own gemm and
 * packing by defining ISO_VEC_GEMM, ISO_VEC_PACK and ISO_VEC_PACK_BYTES. */
#include "kern/tables.h"
#include "kern/vec.h"

#include <math.h>
#include <string.h>

#include "kern/panel_vec.inc.h"
#include "kern/rows_vec.inc.h"

#include "kern/attn_vec.inc.h"

#if !defined(ISO_VEC_GEMM)
#include "kern/gemm_vec.inc.h"
#define ISO_VEC_PACK_BYTES pack_bytes_vec
#define ISO_VEC_PACK       pack_vec
#define ISO_VEC_GEMM       gemm_vec
#endif

#ifndef ISO_VEC_BF16
#define ISO_VEC_BF16 false
#endif

const struct iso_kern ISO_VEC_TABLE = {
    .name = ISO_VEC_NAME,
    .bf16 = ISO_VEC_BF16,
    .copy = copy_vec,
    .fill = fill_vec,
    .add = add_vec,
    .axpy = axpy_vec,
    .scale = scale_vec,
    .dot = dot_vec,
    .mul_rows = mul_rows_vec,
    .mul_rows_bwd = mul_rows_bwd_vec,
    .pack_bytes = ISO_VEC_PACK_BYTES,
    .pack = ISO_VEC_PACK,
    .gemm = ISO_VEC_GEMM,
    .rmsnorm = rmsnorm_vec,
    .rmsnorm_bwd = rmsnorm_bwd_vec,
    .qk_rope_norm = qk_rope_norm_vec,
    .qk_rope_norm_bwd = qk_rope_norm_bwd_vec,
    .attention = attention_vec,
    .attention_bwd = attention_bwd_vec,
    .relu2 = relu2_vec,
    .relu2_bwd = relu2_bwd_vec,
    .gather = gather_vec,
    .scatter_add = scatter_add_vec,
    .softcap_xent = softcap_xent_vec,
    .adamw = adamw_vec,
    .nesterov = nesterov_vec,
};
