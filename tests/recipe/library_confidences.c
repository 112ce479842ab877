/* The confidences of one recording as a program gets them from the library, a line each, with four digits as in the
 * command's JSON.
 *
 *   library_confidences MODEL AUDIO greedy|beam|words|phones [LEXICON]
 *
 * words and phones are of the best hypothesis of one search. Only public headers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linnet/linnet.h>

struct job {
  struct linnet_context *context;
  struct linnet_model *model;
  struct linnet_stream *stream;
  struct linnet_beam *beam;
  struct linnet_lexicon *lexicon;
  struct linnet_word_search *search;
};

static void require(const struct job *job, enum linnet_status status) {
  if (status == LINNET_OK)
    return;
  fprintf(stderr, "%s\n", job->context ? linnet_context_error(job->context) : linnet_status_string(status));
  exit(1);
}

static int accept_beam(void *user, const float *log_posteriors, size_t first, size_t frames) {
  (void)first;
  return linnet_beam_accept(user, log_posteriors, frames) != LINNET_OK;
}

static int accept_words(void *user, const float *log_posteriors, size_t first, size_t frames) {
  (void)first;
  return linnet_word_search_accept(user, log_posteriors, frames) != LINNET_OK;
}

static void open_beam(struct job *job) {
  struct linnet_beam_settings settings;
  linnet_beam_settings_default(&settings);
  settings.calibrations = linnet_model_calibrations(job->model);
  require(job, linnet_beam_create(job->context, linnet_model_num_symbols(job->model), &settings, &job->beam));
  linnet_stream_set_sink(job->stream, accept_beam, job->beam);
}

static void open_words(struct job *job, const char *lexicon) {
  struct linnet_word_search_settings settings;
  struct linnet_symbols *symbols = NULL;
  const char *names[1000];
  int count = linnet_model_num_symbols(job->model);
  for (int i = 1; i < count; i++)
    names[i - 1] = linnet_model_symbol(job->model, i);
  require(job, linnet_symbols_create(job->context, names, (size_t)count - 1, &symbols));
  require(job, linnet_lexicon_load(job->context, lexicon, NULL, symbols, &job->lexicon));
  linnet_symbols_destroy(symbols);
  linnet_word_search_settings_default(&settings);
  settings.unknown_penalty = 1;
  settings.calibrations = linnet_model_calibrations(job->model);
  require(job, linnet_word_search_create(job->context, job->lexicon, count, &settings, &job->search));
  linnet_stream_set_sink(job->stream, accept_words, job->search);
}

static void recognise(struct job *job, const char *path) {
  struct linnet_audio *audio = NULL;
  float *samples = NULL;
  size_t count = 0;
  require(job, linnet_audio_open(job->context, path, NULL, &audio));
  require(job, linnet_audio_read_all(audio, &samples, &count));
  require(job, linnet_stream_accept(job->stream, samples, count));
  require(job, linnet_stream_finish(job->stream));
  linnet_audio_release(job->context, samples);
  linnet_audio_destroy(audio);
}

static void print_segments(const struct linnet_segment *segments, size_t count) {
  for (size_t i = 0; i < count; i++)
    printf("%.4f\n", (double)segments[i].confidence);
}

static void print_words(const struct job *job, int words) {
  struct linnet_word_hypothesis best;
  require(job, linnet_word_search_finish(job->search));
  require(job, linnet_word_search_hypothesis(job->search, 0, &best));
  if (!words)
    print_segments(best.segments, best.num_segments);
  for (size_t i = 0; words && i < best.num_words; i++)
    printf("%.4f\n", (double)best.words[i].confidence);
}

static void print(const struct job *job, int words) {
  struct linnet_hypothesis best;
  size_t count;
  const struct linnet_segment *segments = linnet_stream_segments(job->stream, &count);
  if (job->search) {
    print_words(job, words);
  } else if (job->beam) {
    require(job, linnet_beam_finish(job->beam));
    require(job, linnet_beam_hypothesis(job->beam, 0, &best));
    print_segments(best.segments, best.num_segments);
  } else {
    print_segments(segments, count);
  }
}

int main(int argc, char **argv) {
  struct job job = {.context = NULL};
  if (argc < 4)
    return 2;
  require(&job, linnet_context_create(NULL, &job.context));
  require(&job, linnet_model_load(job.context, argv[1], &job.model));
  require(&job, linnet_stream_create(job.context, job.model, &job.stream));
  if (strcmp(argv[3], "beam") == 0)
    open_beam(&job);
  else if (argc > 4)
    open_words(&job, argv[4]);
  recognise(&job, argv[2]);
  print(&job, strcmp(argv[3], "words") == 0);
  linnet_word_search_destroy(job.search);
  linnet_lexicon_destroy(job.lexicon);
  linnet_beam_destroy(job.beam);
  linnet_stream_destroy(job.stream);
  linnet_model_destroy(job.model);
  linnet_context_destroy(job.context);
  return 0;
}
