/* Feeds a stream by the clock and prints its events. */
#include "live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "default_model.h"
#include "inputs.h"

/* Maximum of audio that is recognised at a time. A file by the clock has short pieces, because each waits for its last
 * sample. A pipe gives what has arrived, and a longer piece only if more of it is there. */
static const double clocked_piece = 0.02, piece = 0.05; /* seconds */
static const double partial_interval = 0.06;            /* default, in seconds */

/* --- events ----------------------------------------------------------------------------------------------------- */

struct tier {
  const char *list, *item;
  const struct linnet_span *spans;
  size_t count;
};

static struct tier tier_of(const struct linnet_result *result) {
  const struct linnet_alternative *best = result->alternatives;
  return best->words ? (struct tier){"words", "word", best->words, best->num_words}
                     : (struct tier){"phones", "symbol", best->phones, best->num_phones};
}

static void print_texts(FILE *stream, const struct tier *tier) {
  for (size_t i = 0; i < tier->count; i++)
    fprintf(stream, "%s%s", i > 0 ? " " : "", tier->spans[i].text);
}

static void print_spans(const struct tier *tier) {
  printf(",\"%s\":[", tier->list);
  for (size_t i = 0; i < tier->count; i++) {
    const struct linnet_span *span = &tier->spans[i];
    printf("%s{\"%s\":", i > 0 ? "," : "", tier->item);
    tool_write_json_string(stdout, span->text);
    printf(",\"start\":%.3f,\"end\":%.3f,\"confidence\":%.4f}", span->start, span->end, (double)span->confidence);
  }
  putchar(']');
}

/* An object per line. `clock`: seconds from the start of the audio to now, if the audio comes by the clock. */
static void print_json(const struct live *live, const struct linnet_result *result) {
  const struct tier tier = tier_of(result);
  printf("{\"type\":\"%s\",\"segment\":%zu,\"start\":%.3f,\"end\":%.3f", result->is_final ? "final" : "partial",
         result->segment, result->start, result->seconds);
  if (live->speed > 0)
    printf(",\"clock\":%.3f", tool_clock() - live->started);
  printf(",\"stable\":%zu", result->num_stable);
  print_spans(&tier);
  puts(result->is_final && result->alternatives[0].incomplete ? ",\"incomplete\":true}" : "}");
}

static void print_line(const struct linnet_result *result) {
  const struct tier tier = tier_of(result);
  print_texts(stdout, &tier);
  putchar('\n');
}

static void redraw(const struct linnet_result *result) {
  const struct tier tier = tier_of(result);
  char *text = NULL;
  size_t bytes = 0;
  FILE *stream = open_memstream(&text, &bytes);
  if (stream)
    print_texts(stream, &tier);
  if (stream && fclose(stream) == 0)
    tool_show_line(text);
  free(text);
}

/* A final result in which nothing was recognised says only that the audio has ended. */
static int put_event(void *user, const struct linnet_result *result) {
  const struct live *live = user;
  const struct tier tier = tier_of(result);
  if (!live->json && !result->is_final) {
    redraw(result);
    return 0;
  }
  tool_show_line(NULL);
  if (live->json)
    print_json(live, result);
  else if (tier.count > 0)
    print_line(result);
  return fflush(stdout) != 0;
}

/* --- creation and destruction ------------------------------------------------------------------------------------- */

static bool check_causal(const struct live *live, const char *path) {
  const struct linnet_recognizer *recognizer = live->recognizer;
  if (linnet_recognizer_is_incremental(recognizer))
    return true;
  const bool causal = linnet_model_is_causal(linnet_recognizer_model(recognizer)) != 0;
  tool_fail("%s: the model %s, so it recognises nothing before the end of the audio: name a causal model with --model",
            path, causal ? "normalises features by statistics of the whole utterance" : "is not causal");
  return false;
}

static int create_recognizer(struct live *live, const char *path) {
  struct linnet_endpoint_settings endpoint;
  struct linnet_recognizer_settings *settings = &live->options.settings;
  const int code = recognizer_options_read(&live->options, live->context, path);
  if (code != TOOL_OK)
    return code;
  linnet_endpoint_settings_default(&endpoint);
  if (!settings->endpoint)
    settings->endpoint = &endpoint;
  if (settings->partial_interval == 0)
    settings->partial_interval = partial_interval;
  char *second_pass = recognizer_options_default() && !settings->second_pass ? tool_find_second_pass(path) : NULL;
  if (second_pass)
    settings->second_pass = second_pass;
  live->two_passes = settings->second_pass != NULL;
  live->recognizer = recognizer_options_create(&live->options, live->context, path);
  settings->endpoint = NULL;
  free(second_pass);
  return live->recognizer && check_causal(live, path) ? TOOL_OK : TOOL_FAILURE;
}

int live_open(struct live *live, const char *path) {
  live->reading = tool_context();
  live->context = live->reading ? tool_context_uncancelled() : NULL;
  const int code = live->context ? create_recognizer(live, path) : TOOL_FAILURE;
  if (code != TOOL_OK)
    return code;
  if (linnet_recognizer_stream_create(live->context, live->recognizer, &live->stream) == LINNET_OK &&
      linnet_recognizer_stream_set_hook(live->stream, put_event, live) == LINNET_OK)
    return TOOL_OK;
  return tool_fail_context(live->context);
}

void live_close(struct live *live) {
  linnet_recognizer_stream_destroy(live->stream);
  linnet_recognizer_destroy(live->recognizer);
  recognizer_options_release(&live->options);
  linnet_context_destroy(live->context);
  linnet_context_destroy(live->reading);
}

double live_rate(const struct live *live) {
  return tool_sample_rate(linnet_recognizer_model(live->recognizer));
}

/* --- audio ------------------------------------------------------------------------------------------------------ */

static const double longest_wait = 0.05; /* seconds, without a look at interrupts */

/* Waits until the audio so far has been spoken. An interrupt ends the wait. */
static void wait_for_audio(const struct live *live) {
  for (double left; !tool_interrupted() && (left = live->started + live->taken / live->speed - tool_clock()) > 0;) {
    const double part = left < longest_wait ? left : longest_wait;
    nanosleep(&(struct timespec){.tv_nsec = (long)(part * 1e9)}, NULL);
  }
}

static int report(const struct linnet_context *context, enum linnet_status status) {
  if (status == LINNET_OK)
    return TOOL_OK;
  return ferror(stdout) ? TOOL_FAILURE : tool_fail("%s", linnet_context_error(context));
}

/* Seconds of speech that wait to be recognised: from the larger on, segments end without their second pass, down to the
 * smaller. */
static const double late = 1, in_time = 0.3;

/* A pipe may give audio faster than it is spoken; nothing waits there. */
static double waiting(const struct live *live, bool paced) {
  if (live->microphone)
    return microphone_waiting(live->microphone);
  return paced ? (tool_clock() - live->started) * live->speed - live->taken : 0;
}

static void keep_up(struct live *live, bool paced) {
  if (!live->two_passes)
    return;
  const double seconds = waiting(live, paced);
  if (live->is_late ? seconds > in_time : seconds < late)
    return;
  live->is_late = !live->is_late;
  linnet_recognizer_stream_set_second_pass(live->stream, !live->is_late);
  if (live->is_late && !live->warned)
    tool_warn("recognition is slower than speech: while it is late, segments have no second pass (--second-pass none "
              "always does without)");
  live->warned = true;
}

static int feed(struct live *live, struct linnet_audio *audio, bool paced, float *samples, size_t capacity) {
  enum linnet_status status = LINNET_OK;
  while (status == LINNET_OK && !tool_interrupted()) {
    size_t count = 0;
    const enum linnet_status read = linnet_audio_read(audio, samples, capacity, &count);
    if (read != LINNET_OK)
      return read == LINNET_END || tool_interrupted() ? TOOL_OK
                                                      : report(live->reading, audio_options_name(live->reading, read));
    live->taken += (double)count / live_rate(live);
    if (paced && live->speed > 0)
      wait_for_audio(live);
    keep_up(live, paced && live->speed > 0);
    status = linnet_recognizer_stream_accept(live->stream, samples, count);
  }
  return report(live->context, status);
}

int live_run(struct live *live, struct linnet_audio *audio, const char *name, bool paced) {
  const double seconds = paced && live->speed > 0 ? clocked_piece : piece;
  const size_t capacity = (size_t)(live_rate(live) * seconds) + 1;
  float *samples = malloc(capacity * sizeof *samples);
  if (!samples)
    return tool_fail("out of memory");
  tool_catch_interrupt();
  live->started = tool_clock();
  int code = feed(live, audio, paced, samples, capacity);
  if (code == TOOL_OK)
    code = report(live->context, linnet_recognizer_stream_finish(live->stream));
  tool_show_line(NULL);
  if (code == TOOL_OK && !(live->taken > 0) && !tool_interrupted())
    tool_warn("%s: has no samples", name);
  free(samples);
  return code == TOOL_OK && tool_interrupted() ? TOOL_INTERRUPTED : code;
}
