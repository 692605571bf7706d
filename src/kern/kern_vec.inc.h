/* The vector kernels, written once.  A file kern_<isa>.c defines ISO_VEC_FILL, the name of the
 * function that puts them into a table, and includes this; its -m flags choose the width (see
 * vec.h).  It may bring its own gemm and packing by defining ISO_VEC_GEMM, ISO_VEC_WEIGHT_GRAD,
 * ISO_VEC_PACK and ISO_VEC_PACK_BYTES. */
#include "base/fmath.h"
#include "kern/tables.h"
#include "kern/vec.h"

#include <math.h>
#include <string.h>

#include "kern/panel_vec.inc.h"
#include "kern/rows_vec.inc.h"

#include "kern/attn_vec.inc.h"

#if !defined(ISO_VEC_GEMM)
#include "kern/gemm_vec.inc.h"
#define ISO_VEC_PACK_BYTES  pack_bytes_vec
#define ISO_VEC_PACK        pack_vec
#define ISO_VEC_GEMM        gemm_vec
#define ISO_VEC_WEIGHT_GRAD weight_grad_vec
#endif

void ISO_VEC_FILL(struct iso_kern *k)
{
    k->copy = copy_vec;
    k->fill = fill_vec;
    k->add = add_vec;
    k->axpy = axpy_vec;
    k->scale = scale_vec;
    k->dot = dot_vec;
    k->mul_rows = mul_rows_vec;
    k->mul_rows_bwd = mul_rows_bwd_vec;
    k->pack_bytes = ISO_VEC_PACK_BYTES;
    k->pack = ISO_VEC_PACK;
    k->gemm = ISO_VEC_GEMM;
    k->weight_grad = ISO_VEC_WEIGHT_GRAD;
    k->rmsnorm = rmsnorm_vec;
    k->rmsnorm_bwd = rmsnorm_bwd_vec;
    k->qk_rope_norm = qk_rope_norm_vec;
    k->qk_rope_norm_bwd = qk_rope_norm_bwd_vec;
    k->attention = attention_vec;
    k->attention_bwd = attention_bwd_vec;
    k->relu2 = relu2_vec;
    k->relu2_bwd = relu2_bwd_vec;
    k->gather = gather_vec;
    k->scatter_add = scatter_add_vec;
    k->softcap_xent = softcap_xent_vec;
    k->adamw = adamw_vec;
    k->nesterov = nesterov_vec;
#if defined(ISO_VEC_BF16)
    k->bf16 = true;
#endif
}
