/* The four forms of causal linear attention are one function: the output and each gradient of every form and kernel
 * table against those of the reference's state form, and each relative to its own largest value, so that no large
 * tensor hides the error of a small one. No form needs memory that grows with the sequence. */
#include "ops/attention.h"
#include "tables.h"

enum { HEADS = 2, WIDTH = 32, SEED = 5 };

/* Relative to the largest value of the tensor; measured up to 1.8e-6. */
#define BOUND 1e-5

/* The feature map of queries and keys: that of the op, or a separate one with positive or with signed features. */
static const struct scenario {
  const char *name;
  enum linnet_feature_map map;
  size_t key_width;
  float min_normaliser;
} scenarios[] = {
    {"elu", LINNET_MAP_ELU, WIDTH, 0},
    {"positive features", LINNET_MAP_IDENTITY, 2 * WIDTH, 0},
    {"signed features", LINNET_MAP_IDENTITY, 2 * WIDTH, 1},
};

static const struct form {
  const char *name;
  enum linnet_causal_linear_form form;
  size_t chunk;
} forms[] = {
    {"state", LINNET_CAUSAL_LINEAR_STATE, 0},           {"parallel-state", LINNET_CAUSAL_LINEAR_PARALLEL_STATE, 0},
    {"attention", LINNET_CAUSAL_LINEAR_ATTENTION, 0},   {"chunks of 16", LINNET_CAUSAL_LINEAR_CHUNKED, 16},
    {"chunks of 64", LINNET_CAUSAL_LINEAR_CHUNKED, 64}, {"chunks of 200", LINNET_CAUSAL_LINEAR_CHUNKED, 200},
};
enum { FORMS = sizeof forms / sizeof *forms };

/* Parts of a block of 64 rows and of chunks. Not 1: the output of one frame is its value, and dq and dk are 0 except
 * for rounding. */
static const size_t lengths[] = {7, 64, 70, 250, 1000};
enum { LENGTHS = sizeof lengths / sizeof *lengths - (TEST_SHARE > 1), LONGEST = 1000 }; /* 250 in slow builds */

/* Of the running scenario. */
static const struct scenario *scenario;
static size_t columns;                         /* q, k and v of all heads */
static float qkv[LONGEST * HEADS * 5 * WIDTH]; /* (T, columns) */
static float dout[LONGEST * HEADS * WIDTH];

struct result {
  float out[LONGEST * HEADS * WIDTH], dqkv[LONGEST * HEADS * 5 * WIDTH];
};
static struct result expected[LENGTHS], got;

static size_t keys(void) {
  return HEADS * scenario->key_width;
}

static struct linnet_attention attention(const struct form *form) {
  return (struct linnet_attention){.heads = HEADS,
                                   .key_width = scenario->key_width,
                                   .width = WIDTH,
                                   .key_ld = columns,
                                   .value_ld = columns,
                                   .out_ld = HEADS * WIDTH,
                                   .map = scenario->map,
                                   .min_normaliser = scenario->min_normaliser,
                                   .form = form->form,
                                   .chunk = form->chunk};
}

static void draw(void) {
  struct test_random r = {SEED};
  test_fill(&r, qkv, LONGEST * columns);
  test_fill(&r, dout, LONGEST * HEADS * WIDTH);
  for (size_t t = 0; t < LONGEST && scenario->map == LINNET_MAP_IDENTITY; t++)
    for (size_t c = 0; c < 2 * keys(); c++) {
      float *x = &qkv[t * columns + c];
      *x = scenario->min_normaliser > 0 ? *x / 8 : fabsf(*x) + 0.5f;
    }
}

static void run(const struct linnet_ops *ops, const struct form *form, size_t frames, struct result *to) {
  const struct linnet_attention_ops *kind = ops->attention[LINNET_ATTENTION_CAUSAL_LINEAR];
  const struct linnet_attention a = attention(form);
  const size_t offsets[2] = {0, frames}, k = keys(), v = 2 * k;
  const struct linnet_pack pack = {1, offsets};
  void *work = test_alloc(kind->work_bytes(&a, frames), 1);
  kind->forward(&(struct linnet_attention_call){
      .attention = &a, .pack = &pack, .q = qkv, .k = qkv + k, .v = qkv + v, .out = to->out, .work = work});
  kind->backward(&(struct linnet_attention_call){.attention = &a,
                                                 .pack = &pack,
                                                 .q = qkv,
                                                 .k = qkv + k,
                                                 .v = qkv + v,
                                                 .out = to->out,
                                                 .work = work,
                                                 .dout = dout,
                                                 .dq = to->dqkv,
                                                 .dk = to->dqkv + k,
                                                 .dv = to->dqkv + v});
  free(work);
}

/* Of `rows` of n numbers, ld apart. */
static double relative_error(const float *x, const float *y, size_t rows, size_t ld, size_t n) {
  double difference = 0, largest = 0;
  for (size_t t = 0; t < rows; t++)
    for (size_t c = t * ld; c < t * ld + n; c++) {
      double d = fabs((double)x[c] - y[c]);
      difference = test_worst(difference, d);
      largest = fmax(largest, fabs(y[c]));
    }
  return difference / largest;
}

enum { TENSORS = 4 };
static const char *const tensor_names[TENSORS] = {"out", "dq", "dk", "dv"};

static double tensor_error(int tensor, const struct result *e, size_t frames) {
  const size_t k = keys(), values = HEADS * WIDTH, starts[TENSORS] = {0, 0, k, 2 * k};
  if (tensor == 0)
    return relative_error(got.out, e->out, frames, values, values);
  return relative_error(got.dqkv + starts[tensor], e->dqkv + starts[tensor], frames, columns, tensor == 3 ? values : k);
}

static void check_form(const struct linnet_ops *ops, const struct form *form) {
  double worst[TENSORS] = {0};
  for (size_t i = 0; i < LENGTHS; i++) {
    run(ops, form, lengths[i], &got);
    for (int t = 0; t < TENSORS; t++)
      worst[t] = fmax(worst[t], tensor_error(t, &expected[i], lengths[i]));
  }
  for (int t = 0; t < TENSORS; t++) {
    char name[64];
    snprintf(name, sizeof name, "%s, %s, %s", scenario->name, form->name, tensor_names[t]);
    test_bound(ops->name, name, worst[t], BOUND);
  }
}

/* An hour of frames needs no more memory than one frame. */
static void check_memory(const struct linnet_ops *ops, enum linnet_attention_kind kind,
                         const struct linnet_attention *a, const char *form) {
  const struct linnet_attention_ops *attention_ops = ops->attention[kind];
  const size_t one = attention_ops->work_bytes(a, 1), many = attention_ops->work_bytes(a, 1000000);
  CHECK(one == many, "%s, %s: %zu bytes of work for 1 frame, %zu for 1 000 000", ops->name, form, one, many);
  const size_t saved = attention_ops->saved_bytes(a, 1, 1), saved_many = attention_ops->saved_bytes(a, 1000000, 1);
  CHECK(saved == saved_many, "%s, %s: forward saves %zu bytes of 1 frame, %zu of 1 000 000", ops->name, form, saved,
        saved_many);
  CHECK(saved == 0 || kind != LINNET_ATTENTION_CAUSAL_LINEAR, "%s, %s: forward saves %zu bytes", ops->name, form,
        saved);
}

static void check_table(const struct linnet_ops *ops) {
  for (size_t i = 0; i < FORMS; i++) {
    const struct linnet_attention a = attention(&forms[i]);
    check_form(ops, &forms[i]);
    check_memory(ops, LINNET_ATTENTION_CAUSAL_LINEAR, &a, forms[i].name);
  }
  const struct linnet_attention a = attention(&forms[0]);
  check_memory(ops, LINNET_ATTENTION_LINEAR, &a, "linear");
}

int main(void) {
  printf("seed %d\n", SEED);
  for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
    scenario = &scenarios[i];
    columns = 2 * keys() + HEADS * WIDTH;
    draw();
    for (size_t l = 0; l < LENGTHS; l++)
      run(linnet_cpu_ops("reference"), &forms[0], lengths[l], &expected[l]);
    test_each_table(check_table);
  }
  return test_result();
}
