/* The ops that touch each element a few times: nanoseconds an element, bytes moved (inputs and outputs once) a second,
 * and their share of the bandwidth that a plain read of as much memory reaches. Once with arrays that fit into L2, once
 * with those of a training batch. */
#include "bench.h"

enum { WIDTH = 192, KERNEL = 15 };

struct run {
  const struct linnet_ops *ops;
  size_t rows, n;
  struct linnet_pack pack;
  size_t offsets[2];
  float *x, *y, *z, *wide, *wide2, *gain, *bias, *mean, *rstd, *taps;
};

static struct linnet_layernorm layernorm(const struct run *r) {
  return (struct linnet_layernorm){.rows = r->rows,
                                   .width = WIDTH,
                                   .x = r->x,
                                   .gain = r->gain,
                                   .bias = r->bias,
                                   .y = r->y,
                                   .mean = r->mean,
                                   .rstd = r->rstd,
                                   .dy = r->z,
                                   .dx = r->y,
                                   .dgain_add = r->taps,
                                   .dbias_add = r->taps + WIDTH};
}

static void layernorm_forward(void *user) {
  const struct run *r = user;
  const struct linnet_layernorm n = layernorm(r);
  r->ops->layernorm_forward(&n);
}

static void layernorm_backward(void *user) {
  const struct run *r = user;
  const struct linnet_layernorm n = layernorm(r);
  r->ops->layernorm_backward(&n);
}

static void dropout(void *user) {
  struct run *r = user;
  r->ops->dropout(&(struct linnet_dropout){.rate = 0.1, .seed = 1}, r->rows, WIDTH, r->x, NULL, r->y);
}

static void relu(void *user) {
  struct run *r = user;
  r->ops->activation_forward(LINNET_RELU, r->n, r->x, r->y);
}

static void gelu(void *user) {
  struct run *r = user;
  r->ops->activation_forward(LINNET_GELU, r->n, r->x, r->y);
}

static void gelu_backward(void *user) {
  struct run *r = user;
  r->ops->activation_backward(LINNET_GELU, r->n, 1, r->x, r->z, r->y);
}

static void silu(void *user) {
  struct run *r = user;
  r->ops->activation_forward(LINNET_SILU, r->n, r->x, r->y);
}

static void silu_backward(void *user) {
  struct run *r = user;
  r->ops->activation_backward(LINNET_SILU, r->n, 1, r->x, r->z, r->y);
}

static void glu_forward(void *user) {
  struct run *r = user;
  r->ops->glu_forward(r->rows, WIDTH, r->wide, r->y);
}

static void glu_backward(void *user) {
  struct run *r = user;
  r->ops->glu_backward(r->rows, WIDTH, r->wide, r->z, r->wide2);
}

static void conv_forward(void *user) {
  struct run *r = user;
  r->ops->conv_forward(&(struct linnet_conv){WIDTH, KERNEL, KERNEL / 2}, &r->pack, r->x, r->taps, r->bias, r->y);
}

static void conv_backward(void *user) {
  struct run *r = user;
  const struct linnet_conv_gradients g = {
      .x = r->x, .dy = r->z, .w = r->taps, .dx = r->y, .dw_add = r->wide, .dbias_add = r->gain};
  r->ops->conv_backward(&(struct linnet_conv){WIDTH, KERNEL, KERNEL / 2}, &r->pack, &g);
}

static void log_softmax(void *user) {
  struct run *r = user;
  r->ops->log_softmax(r->n / 42, 42, r->x, r->y);
}

static void update(void *user) {
  struct run *r = user;
  const struct linnet_update u = {1, 0.9, 0.999, 1e-9, 1, 1e-8, true};
  r->ops->update(&u, r->n, r->wide, r->x, r->wide2, r->z);
}

static void sum_of_squares(void *user) {
  struct run *r = user;
  bench_sink = (float)r->ops->sum_of_squares(r->n, r->x);
}

static void add(void *user) {
  struct run *r = user;
  r->ops->add(r->n, r->x, r->y);
}

static void column_sum(void *user) {
  struct run *r = user;
  r->ops->column_sum(r->rows, WIDTH, r->x, r->taps);
}

static const struct {
  const char *name;
  bench_fn *body;
  unsigned arrays; /* of n floats, read or written */
} slots[] = {
    {"layernorm forward", layernorm_forward, 2},
    {"layernorm backward", layernorm_backward, 3},
    {"dropout", dropout, 2},
    {"relu", relu, 2},
    {"gelu", gelu, 2},
    {"gelu backward", gelu_backward, 3},
    {"silu", silu, 2},
    {"silu backward", silu_backward, 3},
    {"glu forward", glu_forward, 3},
    {"glu backward", glu_backward, 5},
    {"conv forward", conv_forward, 2},
    {"conv backward", conv_backward, 3},
    {"log_softmax of 42", log_softmax, 2},
    {"update", update, 7},
    {"sum_of_squares", sum_of_squares, 1},
    {"add", add, 3},
    {"column_sum", column_sum, 1},
};

static void measure(const struct linnet_ops *ops, size_t rows) {
  struct test_random random = {1};
  struct run r = {.ops = ops, .rows = rows, .n = rows * WIDTH, .offsets = {0, rows}};
  r.pack = (struct linnet_pack){1, r.offsets};
  r.x = bench_floats(&random, r.n), r.y = bench_floats(&random, r.n), r.z = bench_floats(&random, r.n);
  r.wide = bench_floats(&random, 2 * r.n + KERNEL * WIDTH), r.wide2 = bench_floats(&random, 2 * r.n);
  r.gain = bench_floats(&random, WIDTH), r.bias = bench_floats(&random, WIDTH);
  r.mean = bench_floats(&random, rows), r.rstd = bench_floats(&random, rows);
  r.taps = bench_floats(&random, KERNEL * WIDTH);
  for (size_t i = 0; i < r.n; i++)
    r.z[i] *= r.z[i]; /* a second moment is positive */
  for (size_t i = 0; i < sizeof slots / sizeof *slots; i++) {
    double bytes = (double)slots[i].arrays * (double)r.n * sizeof(float), seconds = bench_time(slots[i].body, &r, 0.03);
    double bandwidth = bench_bandwidth((size_t)bytes, 0.03);
    printf("%-9s %5zu x %d  %-18s %8.1f us  %6.3f ns an element  %6.1f GB/s  %5.1f %% of reading\n", ops->name, rows,
           WIDTH, slots[i].name, seconds * 1e6, seconds * 1e9 / (double)r.n, bytes / seconds * 1e-9,
           100 * bytes / seconds / bandwidth);
  }
  free(r.x), free(r.y), free(r.z), free(r.wide), free(r.wide2);
  free(r.gain), free(r.bias), free(r.mean), free(r.rstd), free(r.taps);
}

int main(int argc, char **argv) {
  const struct linnet_ops *ops;
  size_t i = 0;
  for (; (ops = bench_table(argc, argv, i)); i++) {
    measure(ops, 128);
    measure(ops, 8192);
  }
  return i == 0;
}
