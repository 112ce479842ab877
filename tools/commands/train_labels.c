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

static void warn_word(void *user, const char *word) {
  tool_warn("utterance %s: word \"%s\" is unknown", ((const struct utterance *)user)->id, word);
}

static bool label_index(struct train_labels *labels, const char *token, int *index) {
  size_t found = linnet_symbols_find(labels->symbols, token);
  *index = found == LINNET_NOT_FOUND ? -1 : (int)found;
  if (*index < 0 && labels->open)
    return linnet_symbols_add(labels->symbols, token, index) == LINNET_OK;
  return *index > 0;
}

/* Each token is a symbol. */
static bool direct_labels(struct utterance *u, struct train_labels *labels, const char *const *tokens, size_t count) {
  u->labels = malloc((count + 1) * sizeof *u->labels);
  u->num_labels = count;
  for (size_t i = 0; i < count; i++)
    if (!label_index(labels, tokens[i], &u->labels[i])) {
      tool_fail("utterance %s: token \"%s\" is not among the symbols", u->id, tokens[i]);
      return false;
    }
  return true;
}

/* Looks words up in the lexicon; sets *unknown if it lacks one. */
static bool lexicon_labels(struct utterance *u, struct train_labels *labels, const char *const *words, size_t count,
                           bool *unknown) {
  const struct linnet_symbols *phones = linnet_lexicon_phones(labels->lexicon);
  size_t length = 0;
  for (size_t i = 0; i < count; i++)
    *unknown |= linnet_lexicon_find(labels->lexicon, words[i]) == LINNET_NOT_FOUND;
  const struct linnet_missing_words missing = {sizeof missing, -1, warn_word, u};
  linnet_lexicon_pronounce(labels->lexicon, words, count, &missing, NULL, 0, &length);
  if (*unknown)
    return true;
  u->labels = malloc((length + 1) * sizeof *u->labels);
  u->num_labels = length;
  linnet_lexicon_pronounce(labels->lexicon, words, count, NULL, u->labels, length, &length);
  for (size_t i = 0; i < length; i++) {
    const char *phone = linnet_symbols_name(phones, u->labels[i]);
    if (!label_index(labels, phone, &u->labels[i])) {
      tool_fail("utterance %s: phone \"%s\" is not among the symbols", u->id, phone);
      return false;
    }
  }
  return true;
}

bool labels_make(struct utterance *u, struct train_labels *labels, const char *const *tokens, size_t count,
                 bool *unknown) {
  *unknown = false;
  return labels->lexicon ? lexicon_labels(u, labels, tokens, count, unknown) : direct_labels(u, labels, tokens, count);
}
