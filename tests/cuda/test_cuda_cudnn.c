/* Compares the Bi-LSTM through cudnn.c on the emulated device, with fake_cudnn.c in place of cuDNN, with the CPU:
 * logits and gradients of ragged batches. Also makes every call fail in turn; then the kernels for one direction
 * replace cuDNN. */
#include "backend/cuda/cudnn_api.h"
#include "fake_cudnn.h"
#include "mirror.h"
#include "model/training/network.h"
#include "random_model.h"

enum { MAX_SEQUENCES = 9, MAX_FRAMES = 24, BATCHES = 8, LAYERS = 3 };
#define BOUND 1e-5

/* A network, and its input. */
struct problem {
  struct linnet_context *context;
  struct linnet_config config;
  struct linnet_parameters *parameters;
  size_t offsets[MAX_SEQUENCES + 1], frames;
  struct linnet_pack pack;
  struct buffer features, weights, dlogits;
  struct buffer gradients; /* before they are added to */
};

struct result {
  struct buffer logits, gradients;
};

/* Some sequences have one frame, some, but not the first, none. */
static void make_pack(struct problem *p, struct test_random *r) {
  p->pack = (struct linnet_pack){1 + test_below(r, MAX_SEQUENCES), p->offsets};
  for (size_t s = 0; s < p->pack.sequences; s++)
    p->offsets[s + 1] = p->offsets[s] + test_below(r, test_below(r, 3) ? MAX_FRAMES : 3) + (s == 0);
  p->frames = p->offsets[p->pack.sequences];
}

static void make_problem(struct problem *p, uint64_t seed) {
  struct test_random r = {seed};
  *p = (struct problem){.context = test_context()};
  char text[160];
  snprintf(text, sizeof text,
           "{\"encoder\": \"blstm\", \"input_dim\": %zu, \"width\": %zu, \"layers\": %d, \"outputs\": 5}",
           1 + test_below(&r, 9), 1 + test_below(&r, 14), LAYERS);
  p->config = small_config(p->context, text);
  REQUIRE(linnet_parameters_create(p->context, &p->config, &p->parameters) == LINNET_OK, "no memory");
  make_pack(p, &r);
  p->features = buffer_random(&r, p->frames * p->config.input_dim);
  p->weights = buffer_random(&r, p->parameters->size);
  p->dlogits = buffer_random(&r, p->frames * p->config.outputs);
  p->gradients = buffer_random(&r, p->parameters->size);
}

static void release_problem(struct problem *p) {
  RELEASE(p->features, p->weights, p->dlogits, p->gradients);
  linnet_parameters_destroy(p->parameters);
  linnet_context_destroy(p->context);
}

static void release_result(struct result *r) {
  RELEASE(r->logits, r->gradients);
}

static float *upload(struct linnet_device *d, const struct buffer *b) {
  float *x = d->ops->alloc(d, b->n * sizeof *x);
  REQUIRE(x, "no memory");
  d->ops->upload(d, x, b->x, b->n * sizeof *x);
  return x;
}

static void download(struct linnet_device *d, const struct buffer *b, float *x) {
  d->ops->download(d, b->x, x, b->n * sizeof *x);
  REQUIRE(d->ops->wait(d, NULL) == LINNET_OK, "wait");
  d->ops->free(d, x);
}

/* Forward and, unless it is left out, backward. */
static struct result run(struct linnet_device *d, const struct problem *p, bool forward_only) {
  struct test_random r = {3};
  struct linnet_network network = {d, &p->config, p->parameters};
  struct linnet_host_batch batch = {.pack = p->pack, .features = p->features.x, .columns = p->config.input_dim};
  struct linnet_shard shard = {.pack = p->pack, .forward_only = forward_only, .dropout = 0.2, .seed = 7};
  struct result result = {buffer_poisoned(&r, p->dlogits.n), buffer_copy(&r, &p->gradients)};
  struct linnet_pass *pass = NULL;
  REQUIRE(linnet_pass_create(p->context, &network, &pass) == LINNET_OK, "no memory");
  REQUIRE(d->ops->upload_batch(d, p->context, &batch, &shard.features) == LINNET_OK, "no memory");
  size_t bytes = linnet_pass_bytes(pass, &shard.pack, forward_only);
  struct buffer memory = buffer_poisoned(&r, bytes / sizeof(float));
  float *workspace = upload(d, &memory), *weights = upload(d, &p->weights), *logits = upload(d, &result.logits);
  float *dlogits = upload(d, &p->dlogits), *gradients = upload(d, &result.gradients);
  linnet_pass_forward(pass, weights, &shard, workspace, bytes, logits);
  if (!forward_only)
    linnet_pass_backward(pass, dlogits, gradients);
  download(d, &result.logits, logits);
  download(d, &result.gradients, gradients);
  download(d, &p->dlogits, dlogits);
  download(d, &p->weights, weights);
  d->ops->free(d, workspace);
  linnet_pass_destroy(pass);
  RELEASE(memory);
  return result;
}

static struct result run_cpu(const struct problem *p, bool forward_only) {
  struct linnet_cpu_device cpu = linnet_cpu_device(p->context, linnet_cpu_ops("reference"));
  return run(&cpu.base, p, forward_only);
}

/* On a new device, which looks for cuDNN or does not. */
static struct result run_device(const struct problem *p, enum linnet_precision precision, bool sought,
                                bool forward_only) {
  struct linnet_device *device = NULL;
  test_cuda_cudnn(sought);
  REQUIRE(linnet_cuda_open(p->context, 0, precision, &device) == LINNET_OK, "no device");
  test_cuda_cudnn(false);
  struct result result = run(device, p, forward_only);
  linnet_cuda_close(device);
  return result;
}

static double result_error(const struct result *tested, const struct result *expected) {
  return fmax(buffer_error(&tested->logits, &expected->logits), buffer_error(&tested->gradients, &expected->gradients));
}

static bool same_result(const struct result *a, const struct result *b) {
  return memcmp(a->logits.x, b->logits.x, a->logits.n * sizeof(float)) == 0 &&
         memcmp(a->gradients.x, b->gradients.x, a->gradients.n * sizeof(float)) == 0;
}

/* --- cuDNN at work ------------------------------------------------------------------------------------------------ */

/* cuDNN computes all layers, and gets no call that it would refuse. */
static void check_calls(const struct fake_cudnn *fake, const struct fake_cudnn *before, bool forward_only) {
  unsigned back = forward_only ? 0 : LAYERS;
  CHECK(fake->forward - before->forward == LAYERS && fake->backward_data - before->backward_data == back &&
            fake->backward_weights - before->backward_weights == back,
        "%u layers forward, %u and %u back", fake->forward - before->forward,
        fake->backward_data - before->backward_data, fake->backward_weights - before->backward_weights);
  CHECK(fake->refused == before->refused, "%u calls were refused", fake->refused - before->refused);
  CHECK(fake->handles == before->handles, "%u handles are left", fake->handles - before->handles);
}

static double test_batch(struct fake_cudnn *fake, uint64_t seed, bool forward_only) {
  struct problem p;
  make_problem(&p, seed);
  const struct fake_cudnn before = *fake;
  struct result expected = run_cpu(&p, forward_only);
  struct result tested = run_device(&p, LINNET_FLOAT32, true, forward_only);
  check_calls(fake, &before, forward_only);
  struct result again = run_device(&p, LINNET_FLOAT32, true, forward_only);
  double error = result_error(&tested, &expected);
  CHECK(error <= BOUND, "seed %llu: error %g", (unsigned long long)seed, error);
  CHECK(same_result(&tested, &again), "seed %llu: a second run differs", (unsigned long long)seed);
  release_result(&expected);
  release_result(&tested);
  release_result(&again);
  release_problem(&p);
  return error;
}

static void test_batches(struct fake_cudnn *fake) {
  double error = 0;
  for (uint64_t seed = 1; seed <= BATCHES; seed++) {
    error = fmax(error, test_batch(fake, seed, false));
    error = fmax(error, test_batch(fake, seed, true));
  }
  printf("%d batches: error %.1e, bound %.0e\n", 2 * BATCHES, error, BOUND);
}

static void test_precision(const struct fake_cudnn *fake) {
  const struct {
    enum linnet_precision precision;
    cudnnMathType_t math;
  } cases[] = {
      {LINNET_FLOAT32, CUDNN_FMA_MATH}, {LINNET_TF32, CUDNN_DEFAULT_MATH}, {LINNET_BFLOAT16, CUDNN_DEFAULT_MATH}};
  struct problem p;
  make_problem(&p, 1);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct result result = run_device(&p, cases[i].precision, true, true);
    CHECK(fake->math == cases[i].math, "precision %d: math %u", cases[i].precision, fake->math);
    release_result(&result);
  }
  release_problem(&p);
}

/* --- cuDNN failing ------------------------------------------------------------------------------------------------ */

/* With cuDNN switched off, the device gives the same bytes as without the library. */
static void test_missing(struct fake_cudnn *fake) {
  struct problem p;
  make_problem(&p, 2);
  const struct fake_cudnn before = *fake;
  struct result expected = run_device(&p, LINNET_FLOAT32, false, false);
  CHECK(fake->calls == before.calls, "cuDNN was called");
  fake->failing = "cudnnCreate";
  struct result tested = run_device(&p, LINNET_FLOAT32, true, false);
  fake->failing = NULL;
  CHECK(fake->calls == before.calls + 2 && fake->handles == before.handles, "%u calls", fake->calls - before.calls);
  CHECK(same_result(&tested, &expected), "the results are others than without cuDNN");
  release_result(&expected);
  release_result(&tested);
  release_problem(&p);
}

/* The calls of `failing` after the first `passing` of them fail; *reached: there were more. */
static double run_failing(struct fake_cudnn *fake, const struct problem *p, const struct result *expected,
                          const char *failing, unsigned passing, bool *reached) {
  const struct fake_cudnn before = *fake;
  fake->failing = failing, fake->passing = passing;
  struct result tested = run_device(p, LINNET_FLOAT32, true, false);
  *reached = fake->passing == 0;
  fake->failing = NULL, fake->passing = 0;
  CHECK(fake->refused == before.refused && fake->handles == before.handles, "%s: refused or left", failing);
  double error = result_error(&tested, expected);
  release_result(&tested);
  return error;
}

static void test_failing_calls(struct fake_cudnn *fake) {
  static const char *const names[] = {"cudnnCreate",
                                      "cudnnSetStream",
                                      "cudnnCreateTensorDescriptor",
                                      "cudnnSetTensorNdDescriptor",
                                      "cudnnGetTensorNdDescriptor",
                                      "cudnnCreateDropoutDescriptor",
                                      "cudnnSetDropoutDescriptor",
                                      "cudnnCreateRNNDescriptor",
                                      "cudnnSetRNNDescriptor_v8",
                                      "cudnnCreateRNNDataDescriptor",
                                      "cudnnSetRNNDataDescriptor",
                                      "cudnnGetRNNTempSpaceSizes",
                                      "cudnnGetRNNWeightSpaceSize",
                                      "cudnnGetRNNWeightParams",
                                      "cudnnRNNForward",
                                      "cudnnRNNBackwardData_v8",
                                      "cudnnRNNBackwardWeights_v8"};
  struct problem p;
  make_problem(&p, 5);
  struct result expected = run_cpu(&p, false);
  double error = 0;
  unsigned failures = 0;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    bool reached = true;
    for (unsigned passing = 0; reached; passing += passing < 4 ? 1 : 17) {
      double e = run_failing(fake, &p, &expected, names[i], passing, &reached);
      CHECK(e <= BOUND, "%s fails after %u calls: error %g", names[i], passing, e);
      error = fmax(error, e);
      failures += reached;
    }
    CHECK(failures > i, "%s is not called", names[i]);
  }
  printf("%u failures: error %.1e, bound %.0e\n", failures, error, BOUND);
  release_result(&expected);
  release_problem(&p);
}

int main(void) {
  struct fake_cudnn *fake = fake_cudnn_find();
  if (!fake)
    return test_skip("the library in the place of cuDNN is not found");
  test_batches(fake);
  test_precision(fake);
  test_missing(fake);
  test_failing_calls(fake);
  return test_result();
}
