/* Recognises features that another program computed; needs only linnet::core: features MODEL < ROWS
 * ROWS are numbers as text; each frame has as many as the model has inputs. If the model expects features normalised
 * per speaker or utterance, or with running statistics, the other program has to normalise them; this one applies
 * global statistics, which are in the model.
 * Prints the phones that a beam search finds, with their times. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <linnet/encoder.h>
#include <linnet/search.h>

/* The encoder calls this with the posteriors as it computes them; they go to the search at once. */
static int take(void *search, const float *log_posteriors, size_t first, size_t frames) {
  (void)first;
  return linnet_search_stream_accept(search, log_posteriors, frames) != LINNET_OK;
}

/* Reads a number from standard input: 1, 0 at the end, -1 after a message about a word that is none. */
static int read_number(float *number) {
  char word[64], *end;
  if (scanf("%63s", word) != 1)
    return 0;
  *number = strtof(word, &end);
  if (*end == '\0')
    return 1;
  fprintf(stderr, "features: not a number: %s\n", word);
  return -1;
}

/* Reads all numbers from standard input; NULL after a message. */
static float *read_numbers(size_t *count) {
  size_t capacity = 1 << 16;
  float *numbers = malloc(capacity * sizeof *numbers);
  int more = 1;
  for (*count = 0; numbers && (more = read_number(&numbers[*count])) > 0;) {
    if (++*count < capacity)
      continue;
    float *grown = realloc(numbers, (capacity *= 2) * sizeof *numbers);
    if (!grown)
      free(numbers);
    numbers = grown;
  }
  if (!numbers)
    fputs("features: out of memory\n", stderr);
  if (more == 0)
    return numbers;
  free(numbers);
  return NULL;
}

/* Applies global mean and variance if the model has them. */
static void normalise(const struct linnet_feature_config *config, const struct linnet_cmvn *cmvn, float *features,
                      size_t count) {
  const int global = config->cmvn == LINNET_CMVN_GLOBAL;
  for (size_t i = 0; global && i < count; i++) {
    const size_t d = i % (size_t)cmvn->dim;
    const double mean = cmvn->sum[d] / cmvn->count, variance = cmvn->square[d] / cmvn->count - mean * mean;
    const int scaled = config->cmvn_variance && variance > 0;
    features[i] = (float)((features[i] - mean) / (scaled ? sqrt(variance) : 1));
  }
}

static enum linnet_status make_search(struct linnet_context *context, const struct linnet_model *model,
                                      struct linnet_search **search) {
  struct linnet_search_settings settings;
  linnet_search_settings_default(&settings);
  settings.kind = LINNET_SEARCH_SYMBOLS;
  settings.calibrations = linnet_model_calibrations(model);
  return linnet_search_create(context, linnet_model_symbols(model), linnet_model_num_symbols(model), &settings, search);
}

static void print(const struct linnet_alternative *best) {
  for (size_t i = 0; i < best->num_phones; i++)
    printf("%.2f %.2f %s\n", best->phones[i].start, best->phones[i].end, best->phones[i].text);
}

int main(int argc, char **argv) {
  struct linnet_context *context = NULL;
  struct linnet_model *model = NULL;
  struct linnet_encoder *encoder = NULL;
  struct linnet_search *search = NULL;
  struct linnet_search_stream *stream = NULL;
  const struct linnet_result *result;
  size_t count = 0;
  if (argc != 2)
    return 2;
  float *features = read_numbers(&count);
  if (!features)
    return 1;
  enum linnet_status status = linnet_context_create(NULL, &context);
  if (status == LINNET_OK && (status = linnet_model_load(context, argv[1], &model)) == LINNET_OK &&
      (status = linnet_encoder_create(context, model, &encoder)) == LINNET_OK &&
      (status = make_search(context, model, &search)) == LINNET_OK)
    status = linnet_search_stream_create(context, search, &stream);
  if (status == LINNET_OK) {
    struct linnet_feature_config config;
    linnet_model_features(model, &config);
    size_t frames = count / config.fbank.num_mel;
    normalise(&config, linnet_model_cmvn(model), features, count);
    status = linnet_encoder_run(encoder, features, frames, take, stream);
  }
  if (status == LINNET_OK && (status = linnet_search_stream_finish(stream)) == LINNET_OK &&
      (status = linnet_search_stream_result(stream, linnet_model_frame_seconds(model), &result)) == LINNET_OK)
    print(&result->alternatives[0]);
  else
    fprintf(stderr, "features: %s\n", linnet_context_error(context));
  linnet_search_stream_destroy(stream);
  linnet_search_destroy(search);
  linnet_encoder_destroy(encoder);
  linnet_model_destroy(model);
  free(features);
  linnet_context_destroy(context);
  return status != LINNET_OK;
}
