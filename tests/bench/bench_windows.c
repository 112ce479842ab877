/* Phones of recordings by a network that runs in windows, as one that is not causal must if it is to listen: prints a
 * line "ID PHONE..." for each utterance of a Kaldi data folder, which `linnet score` compares with its file `phones`.
 *
 *   bench_windows MODEL DATA [--piece S] [--past S] [--ahead S] [--statistics heard|window|utterance] [--every N]
 *
 * The encoder runs on each piece of audio (default 0.3 s) together with the audio before it (--past, 3 s) and after it
 * (--ahead, 0.3 s); the posteriors of the piece remain. A piece of 0 is the whole utterance. CMVN has the statistics of
 * all audio that was heard at the end of the window (default), of the window alone, or of the utterance, which nobody
 * knows while it is spoken. `max_silence` and `edge_silence` do not apply. */
#include <linnet/cmvn.h>
#include <linnet/encoder.h>
#include <linnet/fbank.h>
#include <linnet/greedy.h>
#include <linnet/kaldi.h>

#include "bench.h"

enum statistics { HEARD, WINDOW, UTTERANCE };

struct task {
  struct linnet_context *context;
  struct linnet_model *model;
  struct linnet_feature_config config;
  struct linnet_fbank *fbank;
  struct linnet_encoder *encoder;
  struct linnet_greedy *greedy;
  const char *path, *data;
  double piece, past, ahead; /* seconds */
  enum statistics statistics;
  size_t every, dim, stride, symbols;
};

/* Features (frames, dim) of an utterance, with memory for a window and its posteriors. */
struct utterance {
  float *features, *window, *log_posteriors;
  size_t frames;
};

/* Frames [start, end); the rows that remain are those of [first, last). */
struct window {
  size_t start, first, last, end;
};

static void check(const struct task *t, enum linnet_status status) {
  REQUIRE(status == LINNET_OK, "%s", linnet_context_error(t->context));
}

static void *allocate(size_t count, size_t size) {
  void *memory = calloc(count + 1, size);
  REQUIRE(memory, "out of memory");
  return memory;
}

/* --- windows ------------------------------------------------------------------------------------------------------ */

/* Whole output frames. */
static size_t frames_of(const struct task *t, double seconds) {
  const double rows = seconds / linnet_model_frame_seconds(t->model);
  return (size_t)(rows + 0.5) * t->stride;
}

static struct window window_at(const struct task *t, size_t frames, size_t first) {
  const size_t piece = t->piece > 0 ? frames_of(t, t->piece) : frames, past = frames_of(t, t->past);
  struct window w = {.first = first, .start = first > past ? first - past : 0};
  w.last = piece < frames - first ? first + piece : frames;
  w.end = w.last + frames_of(t, t->ahead);
  w.end = w.end < frames ? w.end : frames;
  return w;
}

static void normalise(const struct task *t, const struct utterance *u, const struct window *w) {
  static struct linnet_cmvn cmvn;
  const size_t start = t->statistics == WINDOW ? w->start : 0, end = t->statistics == UTTERANCE ? u->frames : w->end;
  check(t, linnet_cmvn_reset(&cmvn, t->dim));
  check(t, linnet_cmvn_accumulate_frames(&cmvn, t->config.cmvn_frames, u->features + start * t->dim, end - start));
  memcpy(u->window, u->features + w->start * t->dim, (w->end - w->start) * t->dim * sizeof *u->window);
  check(t, linnet_cmvn_apply(&cmvn, t->config.cmvn_variance, u->window, w->end - w->start));
}

static void run_window(const struct task *t, const struct utterance *u, const struct window *w) {
  const size_t first = (w->first - w->start) / t->stride,
               rows = linnet_model_num_output_frames(t->model, w->last - w->start);
  normalise(t, u, w);
  check(t, linnet_encoder_compute(t->encoder, u->window, w->end - w->start, u->log_posteriors));
  check(t, linnet_greedy_accept(t->greedy, u->log_posteriors + first * t->symbols, rows - first));
}

/* --- utterances --------------------------------------------------------------------------------------------------- */

static void open_utterance(const struct task *t, const struct linnet_data_folder *folder, size_t index,
                           struct utterance *u) {
  struct linnet_audio_settings settings;
  float *samples = NULL;
  size_t count = 0;
  linnet_audio_settings_default(&settings);
  settings.sample_rate = t->config.fbank.sample_rate;
  check(t, linnet_data_folder_audio(folder, t->context, index, &settings, &samples, &count));
  u->frames = linnet_fbank_num_frames(t->fbank, count);
  u->features = allocate(u->frames * t->dim, sizeof *u->features);
  u->window = allocate(u->frames * t->dim, sizeof *u->window);
  u->log_posteriors =
      allocate(linnet_model_num_output_frames(t->model, u->frames) * t->symbols, sizeof *u->log_posteriors);
  check(t, linnet_fbank_compute(t->fbank, samples, count, u->features));
  linnet_audio_release(t->context, samples);
}

static void close_utterance(const struct utterance *u) {
  free(u->features), free(u->window), free(u->log_posteriors);
}

static void print_phones(const struct task *t, const char *id) {
  size_t count;
  const struct linnet_segment *segments = linnet_greedy_segments(t->greedy, &count);
  printf("%s", id);
  for (size_t i = 0; i < count; i++)
    printf(" %s", linnet_model_symbol(t->model, segments[i].symbol));
  printf("\n");
}

static void run_utterance(const struct task *t, const struct linnet_data_folder *folder, size_t index) {
  struct utterance u;
  struct window w = {.last = 0};
  open_utterance(t, folder, index, &u);
  linnet_greedy_reset(t->greedy);
  while (w.last < u.frames) {
    w = window_at(t, u.frames, w.last);
    run_window(t, &u, &w);
  }
  print_phones(t, linnet_data_folder_id(folder, index));
  close_utterance(&u);
}

/* --- options and main --------------------------------------------------------------------------------------------- */

static bool set_statistics(struct task *t, const char *name) {
  static const char *const names[] = {"heard", "window", "utterance"};
  for (int i = 0; i < 3; i++)
    if (strcmp(name, names[i]) == 0) {
      t->statistics = (enum statistics)i;
      return true;
    }
  return false;
}

static bool set_option(struct task *t, const char *name, const char *value) {
  if (strcmp(name, "--piece") == 0)
    t->piece = atof(value);
  else if (strcmp(name, "--past") == 0)
    t->past = atof(value);
  else if (strcmp(name, "--ahead") == 0)
    t->ahead = atof(value);
  else if (strcmp(name, "--every") == 0)
    t->every = strtoul(value, NULL, 10);
  else
    return strcmp(name, "--statistics") == 0 && set_statistics(t, value);
  return true;
}

static bool parse(struct task *t, int argc, char **argv) {
  if (argc < 3 || argc % 2 == 0)
    return false;
  t->path = argv[1];
  t->data = argv[2];
  for (int i = 3; i < argc; i += 2)
    if (!set_option(t, argv[i], argv[i + 1]))
      return false;
  return t->every > 0 && t->piece >= 0 && t->past >= 0 && t->ahead >= 0;
}

static void load(struct task *t) {
  check(t, linnet_model_load(t->context, t->path, &t->model));
  linnet_feature_config_default(&t->config);
  linnet_model_features(t->model, &t->config);
  t->dim = t->config.fbank.num_mel;
  t->stride = linnet_model_stride(t->model);
  t->symbols = linnet_model_num_symbols(t->model);
  REQUIRE(t->config.cmvn == LINNET_CMVN_UTTERANCE, "%s: its CMVN is not by utterance", t->path);
  check(t, linnet_fbank_create(t->context, &t->config.fbank, &t->fbank));
  check(t, linnet_encoder_create(t->context, t->model, &t->encoder));
  check(t, linnet_greedy_create(t->context, t->symbols, &t->greedy));
}

static void unload(struct task *t) {
  linnet_greedy_destroy(t->greedy);
  linnet_encoder_destroy(t->encoder);
  linnet_fbank_destroy(t->fbank);
  linnet_model_destroy(t->model);
  linnet_context_destroy(t->context);
}

int main(int argc, char **argv) {
  struct task t = {.piece = 0.3, .past = 3, .ahead = 0.3, .every = 1};
  struct linnet_context_settings settings;
  struct linnet_data_folder *folder = NULL;
  if (!parse(&t, argc, argv)) {
    fprintf(stderr, "usage: bench_windows MODEL DATA [--piece S] [--past S] [--ahead S] "
                    "[--statistics heard|window|utterance] [--every N]\n");
    return 2;
  }
  linnet_context_settings_default(&settings);
  settings.num_threads = 1;
  REQUIRE(linnet_context_create(&settings, &t.context) == LINNET_OK, "no context");
  load(&t);
  check(&t, linnet_data_folder_open(t.context, t.data, &folder));
  for (size_t i = 0; i < linnet_data_folder_num_utterances(folder); i += t.every)
    run_utterance(&t, folder, i);
  linnet_data_folder_destroy(folder);
  unload(&t);
  return 0;
}
