/* Kinds of networks for live recognition with random weights: algorithmic latency, state of a stream, and CPU time per
 * second of audio after 10 seconds, 10 minutes and an hour without an endpoint. --network NAME measures one of them.
 *
 * Causal kinds run as recurrences, in blocks of 4 output frames (0.12 s); the latency is that of the look-ahead and of
 * a stack, without the block. The state at a position is allocated and zero, so that it costs the same time and memory
 * as one that was computed. Windows run a network of the size of models/english, which is not causal, as an encoder
 * on each new piece of audio, the 3 s before it, and the audio up to `ahead` after it. The latency is the length of the
 * piece and of what comes after it; the state is the features. bench_windows recognises phones in such windows. */
#include <linnet/encoder.h>

#include "bench_network.h"
#include "model/inference/recurrence.h"

enum { BLOCK = 4, FRAMES_PER_SECOND = 100, PIECE = 30, PAST = 300, NUM_POSITIONS = 3 };

#define NETWORK                                                                                                        \
  "\"norm\": \"pre\", \"stack\": 3, \"width\": 192, \"heads\": 6, \"feed_forward\": 768, "                             \
  "\"position\": \"none\", \"convolution\": 15"
#define CAUSAL "{" NETWORK ", \"layers\": 6, \"convolution_lookahead\": [2, 1, 1, 1, 1, 1], \"attention\": "
#define SHIPPED                                                                                                        \
  "{" NETWORK ", \"layers\": 12, \"convolution_lookahead\": [2, 1, 1, 0, 1, 1, 1, 0, 0, 0, 0, 0], \"attention\": "

static const struct bench_network causal[] = {
    {"models/english-live", SHIPPED "\"causal-linear\"}"},
    {"causal linear (elu)", CAUSAL "\"causal-linear\"}"},
    {"causal linear (positive, 64)", CAUSAL "\"causal-linear\", \"feature_map\": \"positive\", \"features\": 64}"},
    {"causal linear, 1 layer of softmax",
     CAUSAL "[\"causal-linear\", \"causal-linear\", \"causal-softmax\", \"causal-linear\", "
            "\"causal-linear\", \"causal-linear\"]}"},
    {"causal softmax", CAUSAL "\"causal-softmax\"}"},
};
#define WINDOW "{" NETWORK ", \"layers\": 9, \"attention\": "

static const struct {
  struct bench_network network;
  size_t ahead; /* frames */
} windows[] = {
    {{"window, linear", WINDOW "\"linear\"}"}, 30},
    {{"window, linear, 1 s ahead", WINDOW "\"linear\"}"}, 100},
    {{"window, softmax", WINDOW "\"softmax\"}"}, 30},
};
static const double positions[NUM_POSITIONS] = {10, 600, 3600}; /* seconds */

struct row {
  const char *name;
  double latency; /* ms */
  double bytes[NUM_POSITIONS], milliseconds[NUM_POSITIONS];
};

static void print_row(const struct row *row) {
  printf("| %s | %.0f |", row->name, row->latency);
  for (size_t i = 0; i < NUM_POSITIONS; i++)
    printf(" %.3g MB |", row->bytes[i] * 1e-6);
  for (size_t i = 0; i < NUM_POSITIONS; i++)
    printf(" %.3g |", row->milliseconds[i]);
  printf("\n");
  fflush(stdout);
}

/* --- recurrences -------------------------------------------------------------------------------------------------- */

struct step {
  struct linnet_context *context;
  struct linnet_recurrence *recurrence;
  const float *features;
  float *log_posteriors;
};

static void run_step(void *user) {
  struct step *s = user;
  size_t rows;
  const size_t frames = BLOCK * config_of(s->recurrence->batch)->stack;
  bench_check(s->context, linnet_recurrence_accept(s->recurrence, s->features, frames, s->log_posteriors, &rows));
}

/* Moves the stream to a later frame, with a state of zeros. */
static void move(struct step *s, double seconds) {
  struct linnet_recurrence *r = s->recurrence;
  const size_t entered = (size_t)(seconds * FRAMES_PER_SECOND) / config_of(r->batch)->stack;
  linnet_recurrence_reset(r);
  bench_check(s->context, linnet_recurrence_reserve(r, entered));
  r->entered = entered;
  linnet_recurrence_count_frames(r);
}

static void measure_causal(const struct bench_options *o, const struct bench_network *network) {
  struct step step = {.context = bench_context(o, 1)};
  struct linnet_model *model = bench_model(step.context, network);
  const size_t stride = linnet_model_stride(model), frames = BLOCK * stride;
  struct test_random random = {1};
  float *features = bench_floats(&random, frames * model->config.input_dim);
  struct row row = {.name = network->name};
  row.latency = (double)(linnet_model_lookahead(model) * stride + stride - 1) * 1000 / FRAMES_PER_SECOND;
  step.features = features;
  step.log_posteriors = bench_alloc(BLOCK * BENCH_OUTPUTS * sizeof(float));
  bench_check(step.context, linnet_recurrence_create(step.context, model, &step.recurrence));
  for (size_t i = 0; i < NUM_POSITIONS; i++) {
    move(&step, positions[i]);
    row.bytes[i] = (double)linnet_recurrence_state_bytes(step.recurrence);
    row.milliseconds[i] = bench_time(run_step, &step, 0.3) * 1000 * FRAMES_PER_SECOND / (double)frames;
  }
  print_row(&row);
  linnet_recurrence_destroy(step.recurrence);
  linnet_model_destroy(model);
  linnet_context_destroy(step.context);
  free(features), free(step.log_posteriors);
}

/* --- windows ------------------------------------------------------------------------------------------------------ */

struct window {
  struct linnet_context *context;
  struct linnet_encoder *encoder;
  const float *features;
  size_t frames;
  float *log_posteriors;
};

static void run_window(void *user) {
  struct window *w = user;
  bench_check(w->context, linnet_encoder_compute(w->encoder, w->features, w->frames, w->log_posteriors));
}

static void measure_window(const struct bench_options *o, const struct bench_network *network, size_t ahead) {
  struct window w = {.context = bench_context(o, 1)};
  struct linnet_model *model = bench_model(w.context, network);
  struct test_random random = {1};
  const size_t frames = PAST + PIECE + ahead, dim = model->config.input_dim;
  float *features = bench_floats(&random, frames * dim);
  struct row row = {.name = network->name, .latency = (double)(PIECE + ahead) * 1000 / FRAMES_PER_SECOND};
  w.features = features;
  w.frames = frames;
  w.log_posteriors = bench_alloc(frames * BENCH_OUTPUTS * sizeof(float));
  bench_check(w.context, linnet_encoder_create(w.context, model, &w.encoder));
  const double seconds = bench_time(run_window, &w, 0.5) / PIECE * FRAMES_PER_SECOND;
  for (size_t i = 0; i < NUM_POSITIONS; i++) {
    row.bytes[i] = (double)(frames * dim * sizeof(float));
    row.milliseconds[i] = seconds * 1000;
  }
  print_row(&row);
  linnet_encoder_destroy(w.encoder);
  linnet_model_destroy(model);
  linnet_context_destroy(w.context);
  free(features), free(w.log_posteriors);
}

static bool is_wanted(const struct bench_options *o, const struct bench_network *network) {
  return !o->network || strcmp(o->network, network->name) == 0;
}

int main(int argc, char **argv) {
  const struct bench_options o = bench_parse(argc, argv);
  printf("| kind | latency, ms | state: 10 s | 10 min | 1 h | CPU ms a second: 10 s | 10 min | 1 h |\n");
  printf("|---|---|---|---|---|---|---|---|\n");
  for (size_t i = 0; i < sizeof causal / sizeof *causal; i++)
    if (is_wanted(&o, &causal[i]))
      measure_causal(&o, &causal[i]);
  for (size_t i = 0; i < sizeof windows / sizeof *windows; i++)
    if (is_wanted(&o, &windows[i].network))
      measure_window(&o, &windows[i].network, windows[i].ahead);
  return 0;
}
