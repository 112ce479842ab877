/* Transcripts of a training, and the labels that they become. */
#include "train_corpus.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- transcripts -------------------------------------------------------------------------------------------------- */

bool transcripts_open(struct linnet_context *context, const char *folder, const char *name,
                      struct transcripts *transcripts) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  *transcripts = (struct transcripts){0};
  if (access(path, F_OK) == 0 && strcmp(name, "phones") == 0)
    transcripts->line = linnet_data_folder_phones;
  else if (access(path, F_OK) == 0 && strcmp(name, "text") == 0)
    transcripts->line = linnet_data_folder_text;
  else
    return linnet_transcripts_load(context, path, &transcripts->file) == LINNET_OK ||
           tool_fail_context(context) == TOOL_OK;
  return true;
}

void transcripts_close(struct transcripts *transcripts) {
  linnet_transcripts_destroy(transcripts->file);
  free(transcripts->copy);
  free((void *)transcripts->tokens);
}

static bool reserve_line(struct transcripts *t, size_t bytes) {
  if (bytes <= t->capacity)
    return true;
  free(t->copy);
  free((void *)t->tokens);
  t->copy = malloc(2 * bytes);
  t->tokens = malloc((bytes + 1) * sizeof *t->tokens);
  t->capacity = t->copy && t->tokens ? 2 * bytes : 0;
  if (t->capacity == 0)
    tool_fail("out of memory for a transcript of %zu bytes", bytes);
  return t->capacity > 0;
}

bool transcripts_find(struct transcripts *t, const struct linnet_data_folder *folder, size_t index,
                      const char *const **tokens, size_t *count) {
  static const char separators[] = " \t\r\v\f";
  static const char *const nothing[1] = {NULL};
  *count = 0;
  *tokens = NULL;
  if (!t->line) {
    size_t at = linnet_transcripts_find(t->file, linnet_data_folder_id(folder, index));
    if (at != LINNET_NOT_FOUND && !(*tokens = linnet_transcripts_tokens(t->file, at, count)))
      *tokens = nothing;
    return true;
  }
  const char *line = t->line(folder, index);
  if (!line)
    return true;
  if (!reserve_line(t, strlen(line) + 1))
    return false;
  strcpy(t->copy, line);
  char *rest = NULL;
  for (char *token = strtok_r(t->copy, separators, &rest); token; token = strtok_r(NULL, separators, &rest))
    t->tokens[(*count)++] = token;
  *tokens = t->tokens;
  return true;
}

/* --- labels ------------------------------------------------------------------------------------------------------- */

enum { NAMED_WORDS = 5 };

void words_free(struct word_counts *words) {
  linnet_symbols_destroy(words->names);
  free(words->times);
}

/* For linnet_missing_words; without memory, the count is too small. */
static void count_word(void *user, const char *word) {
  struct word_counts *words = user;
  int index = 0;
  if (linnet_symbols_add(words->names, word, &index) != LINNET_OK)
    return;
  if ((size_t)index >= words->capacity) {
    const size_t capacity = 2 * (size_t)index + 64;
    size_t *grown = realloc(words->times, capacity * sizeof *grown);
    if (!grown)
      return;
    memset(grown + words->capacity, 0, (capacity - words->capacity) * sizeof *grown);
    words->times = grown;
    words->capacity = capacity;
  }
  words->times[index]++;
}

/* The most frequent word after those of the list (count), of equal ones the first; 0: there is no other. */
static size_t next_frequent(const struct word_counts *words, const size_t *list, size_t count) {
  const size_t last = count > 0 ? list[count - 1] : 0, most = count > 0 ? words->times[last] : SIZE_MAX;
  size_t best = 0;
  for (size_t i = 1; i < words->capacity; i++) {
    const bool later = words->times[i] < most || (words->times[i] == most && i > last);
    if (later && words->times[i] > (best > 0 ? words->times[best] : 0))
      best = i;
  }
  return best;
}

void words_report(const struct word_counts *words, const struct train_labels *labels, const char *name,
                  const char *folder) {
  const size_t different = linnet_symbols_num_symbols(words->names) - 1;
  size_t frequent[NAMED_WORDS], count = 0, used = 0;
  char list[NAMED_WORDS * 80] = "";
  for (; count < NAMED_WORDS && (frequent[count] = next_frequent(words, frequent, count)) > 0; count++)
    used += (size_t)snprintf(list + used, sizeof list - used, "%s'%.40s' (%zu)", count > 0 ? ", " : "",
                             linnet_symbols_name(words->names, (int)frequent[count]), words->times[frequent[count]]);
  if (different > 0)
    tool_warn(
        "%s: %zu word%s not in %s: %s%s; to add %s: linnet g2p --model G2P --complete %s --text %s/%s --output FILE",
        name, different, different == 1 ? " is" : "s are", labels->lexicon_file, list, different > count ? " ..." : "",
        different == 1 ? "it" : "them", labels->lexicon_file, folder, labels->file);
}

static bool out_of_memory(const struct utterance *u) {
  tool_fail("out of memory for the labels of utterance %s", u->id);
  return false;
}

static bool refuse_new(const struct utterance *u, const struct train_labels *labels, const char *folder,
                       enum linnet_status status) {
  if (status == LINNET_ERROR_MEMORY)
    return out_of_memory(u);
  tool_fail("%s/%s: utterance %s: too many different labels: if they are words, name their pronunciations with "
            "--lexicon FILE",
            folder, labels->file, u->id);
  return false;
}

/* Says that a token of an utterance is not a symbol. */
static bool refuse_token(const struct utterance *u, const struct train_labels *labels, const char *folder,
                         const char *token) {
  if (labels->symbols_file)
    tool_fail("%s/%s: utterance %s: \"%s\" is not among the symbols: add it to %s, or correct it", folder, labels->file,
              u->id, token, labels->symbols_file);
  else
    tool_fail(
        "%s/%s: utterance %s: \"%s\" is not among the symbols, which are the labels of the training data: correct "
        "it, or name a file of all symbols with --symbols FILE",
        folder, labels->file, u->id, token);
  return false;
}

/* Finds the symbol of a token, or adds it. */
static bool find_label(const struct utterance *u, struct train_labels *labels, const char *folder, const char *token,
                       int *index) {
  const size_t found = linnet_symbols_find(labels->symbols, token);
  *index = found == LINNET_NOT_FOUND ? 0 : (int)found;
  if (found == LINNET_NOT_FOUND && labels->open) {
    const enum linnet_status status = linnet_symbols_add(labels->symbols, token, index);
    return status == LINNET_OK || refuse_new(u, labels, folder, status);
  }
  return *index > 0 || refuse_token(u, labels, folder, token);
}

/* Memory for the labels. */
static bool reserve_labels(struct utterance *u, size_t count) {
  u->labels = malloc((count + 1) * sizeof *u->labels);
  u->num_labels = count;
  return u->labels || out_of_memory(u);
}

/* Each token is a symbol. */
static bool direct_labels(struct utterance *u, struct train_labels *labels, const char *folder,
                          const char *const *tokens, size_t count) {
  if (!reserve_labels(u, count))
    return false;
  for (size_t i = 0; i < count; i++)
    if (!find_label(u, labels, folder, tokens[i], &u->labels[i]))
      return false;
  return true;
}

/* Looks words up in the lexicon; sets *unknown if it lacks one. */
static bool lexicon_labels(struct utterance *u, struct train_labels *labels, const char *folder,
                           const char *const *words, size_t count, struct word_counts *counts, bool *unknown) {
  const struct linnet_symbols *phones = linnet_lexicon_phones(labels->lexicon);
  size_t length = 0;
  for (size_t i = 0; i < count; i++)
    *unknown |= linnet_lexicon_find(labels->lexicon, words[i]) == LINNET_NOT_FOUND;
  const struct linnet_missing_words missing = {sizeof missing, -1, count_word, counts};
  linnet_lexicon_pronounce(labels->lexicon, words, count, &missing, NULL, 0, &length);
  if (*unknown)
    return true;
  if (!reserve_labels(u, length))
    return false;
  linnet_lexicon_pronounce(labels->lexicon, words, count, NULL, u->labels, length, &length);
  for (size_t i = 0; i < length; i++)
    if (!find_label(u, labels, folder, linnet_symbols_name(phones, u->labels[i]), &u->labels[i]))
      return false;
  return true;
}

bool labels_make(struct utterance *u, struct train_labels *labels, const char *folder, const char *const *tokens,
                 size_t count, struct word_counts *words, bool *unknown) {
  *unknown = false;
  return labels->lexicon ? lexicon_labels(u, labels, folder, tokens, count, words, unknown)
                         : direct_labels(u, labels, folder, tokens, count);
}
