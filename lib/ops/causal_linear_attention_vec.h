/* The kernels of causal linear attention (interface: causal_linear_attention.h). The rows of operands have a multiple
 * of GEMM_COLUMNS floats, with zeros beyond the width.
 *
 *   scan      A tile of S, SCAN_ROWS x 2 vectors, stays in registers for all rows of the block. No state is written
 *             between rows, and the number of multiplications is that of the state form.
 *   apply, attend, accumulate
 *             Products as in gemm_vec.h. Masked attention runs in bands of rows, each with the keys up to its end.
 */
#ifndef LINNET_CAUSAL_LINEAR_ATTENTION_VEC_H
#define LINNET_CAUSAL_LINEAR_ATTENTION_VEC_H

#include "ops/causal_linear_attention.h"
#include "ops/linear_attention_vec.h"
#include "ops/vec.h"

#if VW == 16
enum { SCAN_ROWS = 8 };
#else
enum { SCAN_ROWS = 4 };
#endif
enum { CAUSAL_LINEAR_BAND = 2 * GEMM_ROWS };

/* --- Products */

/* What a scan does with S from row to row, as a compile-time argument: see linnet_causal_linear_kernels. */
enum causal_linear_scan_kind { SCAN_SUM, SCAN_DECAY, SCAN_DECAY_EARLIER };

/* One row of a tile of S, for one row of the operands: S, then y += x S, or without this row. */
VEC_INLINE void causal_linear_scan_row(const enum causal_linear_scan_kind kind, vf decay, vf s[2], float a,
                                       const vf b[2], float x, vf y[2]) {
  VEC_UNROLL
  for (size_t j = 0; j < 2; j++) {
    const vf before = kind == SCAN_SUM ? s[j] : decay * s[j];
    s[j] = before + b[j] * a;
    y[j] += (kind == SCAN_DECAY_EARLIER ? before : s[j]) * x;
  }
}

/* y_t += x_t^T S_t for `rows` rows of the scan from row `first` on, over one tile of S: rows [c, c + SCAN_ROWS),
 * columns [m, m + 2 VW). */
VEC_INLINE void causal_linear_scan_tile(const enum causal_linear_scan_kind kind,
                                        const struct linnet_causal_linear_product *p, size_t first, size_t rows,
                                        size_t c, size_t m) {
  const vf decay = vf_set(p->decay);
  float *state = p->state + c * p->width_ld + m;
  vf s[SCAN_ROWS][2];
  VEC_UNROLL
  for (size_t i = 0; i < SCAN_ROWS; i++) {
    s[i][0] = vf_load(state + i * p->width_ld);
    s[i][1] = vf_load(state + i * p->width_ld + VW);
  }
  for (size_t i = first; i < first + rows; i++) {
    const size_t t = kind != SCAN_SUM && p->reversed ? p->rows - 1 - i : i;
    const float *x = p->x + t * p->depth_ld + c, *a = p->a + t * p->depth_ld + c, *row = p->b + t * p->width_ld + m;
    float *y = p->y + t * p->width_ld + m;
    const vf b[2] = {vf_load(row), vf_load(row + VW)};
    vf odd[2] = {vf_load(y), vf_load(y + VW)}, even[2] = {vf_set(0), vf_set(0)};
    VEC_UNROLL
    for (size_t r = 0; r < SCAN_ROWS; r += 2) { /* two chains of sums, which are the only dependence between rows */
      causal_linear_scan_row(kind, decay, s[r], a[r], b, x[r], even);
      causal_linear_scan_row(kind, decay, s[r + 1], a[r + 1], b, x[r + 1], odd);
    }
    vf_store(y, odd[0] + even[0]);
    vf_store(y + VW, odd[1] + even[1]);
  }
  VEC_UNROLL
  for (size_t i = 0; i < SCAN_ROWS; i++) {
    vf_store(state + i * p->width_ld, s[i][0]);
    vf_store(state + i * p->width_ld + VW, s[i][1]);
  }
}

/* Rows in blocks, so that the operands of a block stay in the cache for all tiles. */
VEC_INLINE void causal_linear_scan_blocks(const enum causal_linear_scan_kind kind,
                                          const struct linnet_causal_linear_product *p) {
  for (size_t first = 0, rows; first < p->rows; first += rows) {
    rows = linnet_min_size(LINNET_CAUSAL_LINEAR_ROWS, p->rows - first);
    for (size_t m = 0; m < p->width; m += GEMM_COLUMNS)
      for (size_t c = 0; c < p->depth; c += SCAN_ROWS)
        causal_linear_scan_tile(kind, p, first, rows, c, m);
  }
}

static void causal_linear_scan(const struct linnet_causal_linear_product *p) {
  causal_linear_scan_blocks(SCAN_SUM, p);
}

static void causal_linear_decaying_scan(const struct linnet_causal_linear_product *p) {
  if (p->earlier)
    causal_linear_scan_blocks(SCAN_DECAY_EARLIER, p);
  else
    causal_linear_scan_blocks(SCAN_DECAY, p);
}

/* A (depth, width_ld) matrix as panels. Returns `from` if it is a panel already, else fills `panels`. */
static const float *causal_linear_panels(size_t depth, size_t ld, const float *from, float *panels) {
  if (ld == GEMM_COLUMNS)
    return from;
  gemm_pack_straight(depth, ld, GEMM_COLUMNS, from, ld, panels);
  return panels;
}

static void causal_linear_apply(const struct linnet_causal_linear_product *p) {
  attention_product(p->rows, p->width_ld, p->depth, gemm_left(p->x, p->depth_ld, 1),
                    causal_linear_panels(p->depth, p->width_ld, p->state, p->workspace), p->y, p->width_ld, true);
}

static void causal_linear_accumulate(const struct linnet_causal_linear_product *p) {
  attention_product(p->depth, p->width_ld, p->keys, gemm_left(p->a, 1, p->depth_ld),
                    causal_linear_panels(p->keys, p->width_ld, p->b, p->workspace), p->state, p->width_ld, true);
}

/* Sets weights above the diagonal to zero. The diagonal crosses row 0 at column `first`. */
static void causal_linear_mask(size_t rows, size_t first, size_t columns, float *weights, size_t ld) {
  for (size_t t = 0; t < rows; t++)
    for (size_t s = first + t + 1; s < columns; s++)
      weights[t * ld + s] = 0;
}

/* In bands of rows: weights = x A^T, y += weights b. */
static void causal_linear_attend(const struct linnet_causal_linear_product *p, bool masked) {
  enum { LD = LINNET_ROUND_UP(LINNET_CAUSAL_LINEAR_ROWS, GEMM_COLUMNS) };
  float weights[CAUSAL_LINEAR_BAND * LD] __attribute__((aligned(64)));
  float *keys = p->workspace, *panels = keys + LD * p->depth_ld;
  gemm_pack_panels(true, p->depth, p->keys, p->a, p->depth_ld, keys);
  for (size_t t = 0; t < p->rows; t += CAUSAL_LINEAR_BAND) {
    size_t rows = linnet_min_size(CAUSAL_LINEAR_BAND, p->rows - t), end = masked ? t + rows : p->keys;
    attention_product(rows, end, p->depth, gemm_left(p->x + t * p->depth_ld, p->depth_ld, 1), keys, weights, LD, false);
    if (masked)
      causal_linear_mask(rows, t, end, weights, LD);
    attention_product(rows, p->width_ld, end, gemm_left(weights, LD, 1),
                      causal_linear_panels(end, p->width_ld, p->b, panels), p->y + t * p->width_ld, p->width_ld, true);
  }
}

/* Scratch in floats: panels of the keys and of the taller of S and b, or the reference's prefix sums if they are
 * larger. */
static size_t causal_linear_workspace_size(size_t depth_ld, size_t width_ld) {
  size_t rows = LINNET_CAUSAL_LINEAR_ROWS + GEMM_COLUMNS, taller = depth_ld > rows ? depth_ld : rows;
  size_t panels = rows * depth_ld + taller * width_ld;
  size_t states = linnet_causal_linear_kernels_reference.workspace_size(depth_ld, width_ld);
  return panels > states ? panels : states;
}

static void causal_linear_prefix_states(const struct linnet_causal_linear_product *p) {
  linnet_causal_linear_kernels_reference.prefix_states(p);
}

/* --- Rows of operands */

VEC_INLINE void causal_linear_phi_rows(const bool mapped, size_t rows, const size_t width, const float *x,
                                       ptrdiff_t ldx, float *y, ptrdiff_t ldy) {
  for (size_t t = 0; t < rows; t++, x += ldx, y += ldy)
    for (size_t c = 0; c < width; c += VW) {
      vf slope, f = vf_load_part(x + c, width - c);
      vf_store_part(y + c, mapped ? attention_phi(f, &slope) : f, width - c);
    }
}

static void causal_linear_phi(enum linnet_feature_map map, size_t rows, size_t width, const float *x, ptrdiff_t ldx,
                              float *y, ptrdiff_t ldy) {
  if (map == LINNET_MAP_IDENTITY)
    causal_linear_phi_rows(false, rows, width, x, ldx, y, ldy);
  else if (width == 32)
    causal_linear_phi_rows(true, rows, 32, x, ldx, y, ldy);
  else
    causal_linear_phi_rows(true, rows, width, x, ldx, y, ldy);
}

static void causal_linear_slope(enum linnet_feature_map map, size_t rows, size_t width, const float *phi,
                                const float *dy, size_t ld, float *dx, ptrdiff_t ldx) {
  const vf one = vf_set(1);
  for (size_t t = 0; t < rows; t++, phi += ld, dy += ld)
    for (size_t c = 0; c < width; c += VW) {
      vf slope = map == LINNET_MAP_IDENTITY ? one : vf_min(one, vf_load(phi + c));
      vf_store_part(dx + (ptrdiff_t)t * ldx + c, vf_load(dy + c) * slope, width - c);
    }
}

static void causal_linear_normalise(size_t rows, size_t ld, const float *fq, const float *z, float min_normaliser,
                                    float *scale) {
  for (size_t t = 0; t < rows; t++, fq += ld, z += ld) {
    vf dot = vf_set(0);
    for (size_t c = 0; c < ld; c += VW)
      dot += vf_load(fq + c) * vf_load(z + c);
    scale[t] = linnet_causal_linear_scale(vf_sum(dot), min_normaliser);
  }
}

static void causal_linear_scale(size_t rows, size_t width, const float *x, ptrdiff_t ldx, const float *scale, float *y,
                                ptrdiff_t ldy) {
  for (size_t t = 0; t < rows; t++)
    for (size_t m = 0; m < width; m += VW)
      vf_store_part(y + (ptrdiff_t)t * ldy + m, vf_load_part(x + (ptrdiff_t)t * ldx + m, width - m) * scale[t],
                    width - m);
}

static void causal_linear_project(size_t rows, size_t width, const float *n, size_t ld, const float *out,
                                  ptrdiff_t ld_out, float *e) {
  for (size_t t = 0; t < rows; t++) {
    vf dot = vf_set(0);
    for (size_t m = 0; m < width; m += VW)
      dot += vf_load(n + t * ld + m) * vf_load_part(out + (ptrdiff_t)t * ld_out + m, width - m);
    e[t] = -vf_sum(dot);
  }
}

static void causal_linear_prefix(size_t rows, size_t ld, const float *f, const float *in, const float *by, float *z,
                                 float *y) {
  for (size_t c = 0; c < ld; c += VW) {
    vf before = vf_load(z + c), sum = vf_set(0); /* the block has a sum of its own: z may be large */
    for (size_t t = 0; t < rows; t++) {
      sum += vf_load(f + t * ld + c) * (in ? in[t] : 1);
      vf_store(y + t * ld + c, (before + sum) * (by ? by[t] : 1));
    }
    vf_store(z + c, before + sum);
  }
}

static const struct linnet_causal_linear_kernels causal_linear_kernels = {
    .lanes = GEMM_COLUMNS,
    .workspace_size = causal_linear_workspace_size,
    .scan = causal_linear_scan,
    .prefix_states = causal_linear_prefix_states,
    .decaying_scan = causal_linear_decaying_scan,
    .apply = causal_linear_apply,
    .attend = causal_linear_attend,
    .accumulate = causal_linear_accumulate,
    .phi = causal_linear_phi,
    .slope = causal_linear_slope,
    .normalise = causal_linear_normalise,
    .scale = causal_linear_scale,
    .project = causal_linear_project,
    .prefix = causal_linear_prefix,
};

/* --- The row of the op table */

static size_t causal_linear_work_bytes(const struct linnet_attention *a, size_t longest) {
  (void)longest;
  return linnet_causal_linear_work_bytes(&causal_linear_kernels, a);
}

static void causal_linear_forward_vec(const struct linnet_attention_call *c) {
  linnet_causal_linear_forward(&causal_linear_kernels, c);
}

static void causal_linear_backward_vec(const struct linnet_attention_call *c) {
  linnet_causal_linear_backward(&causal_linear_kernels, c);
}

static void causal_linear_step_vec(const struct linnet_attention *a, size_t steps, const float *q, const float *k,
                                   const float *v, float *state, float *out) {
  (void)steps;
  linear_step_vec(a, q, k, v, state, out);
}

static const struct linnet_attention_ops causal_linear_attention_vec = {
    .saved_bytes = linnet_causal_linear_saved_bytes,
    .work_bytes = causal_linear_work_bytes,
    .forward = causal_linear_forward_vec,
    .backward = causal_linear_backward_vec,
    .state_size = linnet_causal_linear_state_size,
    .step = causal_linear_step_vec,
};

#endif
