/* Training and recognition on a CUDA device, emulated or real, against the CPU: small networks of every kind, from
 * features to saved models. */
#include "backend/cuda/memory.h"
#include "cancelling.h"
#include "fake_cudnn.h"
#include "mirror.h"
#include "model/format/model.h"
#include "small_training.h"

#include <linnet/encoder.h>

enum { FRAMES = 45 };

static enum linnet_status open_tf32(struct linnet_context *own, int index, enum linnet_precision precision,
                                    struct linnet_device **device) {
  (void)precision;
  return linnet_cuda_open(own, index, LINNET_TF32, device);
}

static enum linnet_status open_bfloat16(struct linnet_context *own, int index, enum linnet_precision precision,
                                        struct linnet_device **device) {
  (void)precision;
  return linnet_cuda_open(own, index, LINNET_BFLOAT16, device);
}

/* Bounds of weights and loss after ten steps, and of posteriors. */
static const struct precision {
  test_open_device *open;
  const char *name;
  double training, posteriors;
} float32 = {linnet_cuda_open, "float32", 1e-4, 1e-5}, tf32 = {open_tf32, "tf32", 1e-2, 1e-3},
  bfloat16 = {open_bfloat16, "bfloat16", 2e-2, 2e-2};

static struct run device_run(const char *config, unsigned epochs, const struct precision *precision) {
  struct run run = make_run(config, 2, epochs);
  run.on_device = precision->open;
  run.train.masking = MASKED;
  return run;
}

/* The largest difference of two vectors, relative to the largest value or 1. */
static double largest_difference(const float *a, const float *b, size_t n) {
  double difference = 0, largest = 1;
  for (size_t i = 0; i < n; i++) {
    double d = fabs((double)a[i] - (double)b[i]);
    difference = d > difference || isnan(d) ? d : difference;
    largest = fmax(largest, fabs((double)b[i]));
  }
  return difference / largest;
}

/* A model's posteriors where the context runs networks. */
static void recognise(struct linnet_context *context, const struct linnet_model *model, float *log_p) {
  struct test_random random = {5};
  struct linnet_encoder *encoder = NULL;
  float input[FRAMES * DIM];
  test_fill(&random, input, FRAMES * DIM);
  REQUIRE(linnet_encoder_create(context, model, &encoder) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_encoder_compute(encoder, input, FRAMES, log_p) == LINNET_OK, "%s", linnet_context_error(context));
  linnet_encoder_destroy(encoder);
}

static enum linnet_status encode(void *encoder, void *log_p) {
  struct test_random random = {5};
  float input[FRAMES * DIM];
  test_fill(&random, input, FRAMES * DIM);
  return linnet_encoder_compute(encoder, input, FRAMES, log_p);
}

/* Recognition that is cancelled before each layer. */
static void test_cancel(const char *folder, const char *config) {
  struct cancelling c;
  struct linnet_context *context = cancelling_context(&c, 1);
  struct linnet_encoder *encoder = NULL;
  REQUIRE(linnet_context_use_device(context, linnet_cuda_open) == LINNET_OK, "%s", linnet_context_error(context));
  struct linnet_model *model = load_trained_by(linnet_model_load, context, folder);
  REQUIRE(linnet_encoder_create(context, model, &encoder) == LINNET_OK, "%s", linnet_context_error(context));
  check_cancelling(config, &c, context, encode, encoder,
                   linnet_model_num_output_frames(model, FRAMES) * SYMBOLS * sizeof(float));
  linnet_encoder_destroy(encoder);
  linnet_model_destroy(model);
  linnet_context_destroy(context);
  CHECK(c.allocator.live == 0, "%zu blocks are left", c.allocator.live);
}

static double compare_recognition(const char *folder, const struct precision *precision) {
  struct linnet_context *cpu = test_context(), *device = test_context();
  REQUIRE(linnet_context_use_device(device, precision->open) == LINNET_OK, "%s", linnet_context_error(device));
  struct linnet_model *model = load_trained_by(linnet_model_load, cpu, folder),
                      *same = load_trained_by(linnet_model_load, device, folder);
  struct linnet_encoder *encoder = NULL;
  float expected[FRAMES * SYMBOLS], log_p[FRAMES * SYMBOLS];
  recognise(cpu, model, expected);
  recognise(device, same, log_p);
  CHECK(linnet_encoder_create(device, model, &encoder) == LINNET_ERROR_ARGUMENT && !encoder,
        "a model without the weights that a device needs");
  double error = largest_difference(log_p, expected, linnet_model_num_output_frames(model, FRAMES) * SYMBOLS);
  linnet_model_destroy(model);
  linnet_model_destroy(same);
  linnet_context_destroy(cpu);
  linnet_context_destroy(device);
  return error;
}

/* Two epochs of some ten steps in all, with masks: weights, validation loss and posteriors. */
static void test_against_cpu(const char *config, const struct precision *precision, double consistency) {
  char folders[2][64];
  struct run cpu = make_run(config, 1, 2), device = device_run(config, 2, precision);
  cpu.train.masking = MASKED;
  cpu.consistency = device.consistency = consistency;
  train(&cpu, make_folder(folders[0]));
  train(&device, make_folder(folders[1]));
  CHECK(cpu.status == LINNET_OK && device.status == LINNET_OK, "%s%s", cpu.error, device.error);
  struct linnet_context *context = test_context();
  struct linnet_model *a = load_trained(context, folders[0]), *b = load_trained(context, folders[1]);
  double weights = largest_difference(b->weights, a->weights, a->parameters->size),
         posteriors = compare_recognition(folders[1], precision);
  double loss = fabs(device.last_loss - cpu.last_loss) / cpu.last_loss;
  if (consistency > 0)
    loss = fmax(loss, fabs(device.last_consistency - cpu.last_consistency) / cpu.last_consistency);
  printf("%-8s %llu steps: weights %.1e  loss %.1e  posteriors %.1e  %.40s...\n", precision->name,
         (unsigned long long)device.steps, weights, loss, posteriors, config);
  CHECK(weights <= precision->training && loss <= precision->training && posteriors <= precision->posteriors, "%s, %s",
        precision->name, config);
  if (precision == &float32 && !getenv("LINNET_TEST_CASES"))
    test_cancel(folders[1], config);
  linnet_model_destroy(a);
  linnet_model_destroy(b);
  linnet_context_destroy(context);
  remove_folder(folders[0]);
  remove_folder(folders[1]);
}

/* A second run, which stops within an epoch and continues, gives the same bytes. */
static void test_again(const char *config, const struct precision *precision) {
  char whole[64], parts[64];
  struct run a = device_run(config, 2, precision), b = device_run(config, 2, precision);
  train(&a, make_folder(whole));
  b.stop_after = 3;
  train(&b, make_folder(parts));
  CHECK(b.status == LINNET_ERROR_CANCELLED, "status %d", b.status);
  b.stop_after = 0;
  train(&b, parts);
  CHECK(a.status == LINNET_OK && b.status == LINNET_OK && same_model(whole, parts), "%s: a second run differs", config);
  remove_folder(whole);
  remove_folder(parts);
}

static void test_not_finite(void) {
  char folder[64];
  struct run a = device_run(transformer, 3, &float32);
  a.train.poisoned = 5;
  train(&a, make_folder(folder));
  CHECK(a.status == LINNET_ERROR_NUMERIC, "status %d with infinite features", a.status);
  CHECK(strstr(a.error, "utt-05") != NULL, "the message does not name the utterance: %s", a.error);
  remove_folder(folder);
}

/* Too little memory: the message names a batch that fits, and training works with such batches. */
static void test_out_of_memory(void) {
  char folder[64];
  struct run a = device_run(transformer, 1, &float32);
  test_cuda_limit(300 << 10);
  train(&a, make_folder(folder));
  test_cuda_limit(SIZE_MAX);
  const char *fitting = strstr(a.error, "about ");
  if (a.status != LINNET_OK) { /* a real device has enough */
    CHECK(a.status == LINNET_ERROR_MEMORY && fitting, "status %d: %s", a.status, a.error);
    CHECK(fitting && atoi(fitting + 6) > 20 && atoi(fitting + 6) < 150, "%s", a.error);
  }
  train(&a, folder);
  CHECK(a.status == LINNET_OK, "%s", a.error);
  remove_folder(folder);
}

/* The Bi-LSTM on an emulated device with the replacement of cuDNN. */
static void test_with_cudnn(void) {
  struct fake_cudnn *fake = fake_cudnn_find();
  if (!fake) {
    printf("without what stands in for cuDNN\n");
    return;
  }
  test_cuda_cudnn(true);
  test_against_cpu(blstm, &float32, 0);
  test_against_cpu(blstm, &bfloat16, 0);
  test_again(blstm, &bfloat16);
  test_cuda_cudnn(false);
  CHECK(fake->backward_weights > 0 && fake->refused == 0, "%u layers, %u calls refused", fake->backward_weights,
        fake->refused);
}

/* In tf32 only products differ from float32, and `mapped` and `post_norm` have those of `transformer`; in no precision
 * does `mixed` have others than `transformer` and `softmax`. */
static bool differs(const char *config, const struct precision *precision) {
  return config != mixed && (precision == &bfloat16 || (config != mapped && config != post_norm));
}

int main(void) {
  struct linnet_context *context = test_context();
  enum linnet_status status = linnet_context_use_device(context, linnet_cuda_open);
  if (status != LINNET_OK)
    printf("%s\n", linnet_context_error(context));
  else
    printf("%s\n", linnet_context_device(context));
  linnet_context_destroy(context);
  if (status == LINNET_ERROR_DEVICE)
    return test_skip("no CUDA device");
  REQUIRE(status == LINNET_OK, "no device");
  const char *few = getenv("LINNET_TEST_CASES"); /* networks in another precision; float32 has three more */
  for (size_t i = 0; i < NETWORKS && (!few || i < strtoull(few, NULL, 10) + 3); i++) {
    test_against_cpu(networks[i].config, &float32, 0);
    if (differs(networks[i].config, &bfloat16) && (!few || i < strtoull(few, NULL, 10)))
      test_against_cpu(networks[i].config, &bfloat16, 0);
    if (differs(networks[i].config, &tf32) && !few)
      test_against_cpu(networks[i].config, &tf32, 0);
  }
  test_against_cpu(transformer, &float32, 0.2);
  test_again(transformer, &bfloat16); /* checkpoints have float32 in every precision */
  test_again(blstm, &float32);
  test_with_cudnn();
  test_not_finite();
  test_out_of_memory();
  return test_result();
}
