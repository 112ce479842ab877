/* Finds words in a lexicon, and adds guessed ones to it. */
#include "decoder/words/guesser.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/settings.h"
#include "decoder/g2p/g2p.h"
#include "decoder/words/symbols.h"

void linnet_word_list_add(struct linnet_word_list *list, const char *word) {
  const size_t length = strlen(list->text);
  char quoted[LINNET_WORD_LIST_BYTES];
  snprintf(quoted, sizeof quoted, "'%.100s'", word);
  if (strstr(list->text, quoted))
    return;
  list->count++;
  if (length > 0 && list->text[length - 1] == '.')
    return;
  if (length + strlen(", ") + strlen(quoted) + sizeof "..." <= LINNET_WORD_LIST_BYTES)
    snprintf(list->text + length, LINNET_WORD_LIST_BYTES - length, "%s%s", length > 0 ? ", " : "", quoted);
  else if (length > 0)
    memcpy(list->text + length, "...", sizeof "...");
}

/* A word whose guesses are being added. */
struct guess {
  struct linnet_lexicon *lexicon;
  const char *word;
  size_t index;
  double best; /* probability of the first guess */
};

/* Probabilities are relative to that of the best guess, as those of Kaldi's lexicons are. */
static enum linnet_status add_guess(void *user, const int *labels, size_t count, double probability) {
  struct guess *guess = user;
  if (guess->index == LINNET_NOT_FOUND)
    guess->best = probability;
  const float relative = fmaxf((float)(probability / guess->best), FLT_MIN);
  return linnet_lexicon_add(guess->lexicon, guess->word, labels, count, relative, &guess->index);
}

/* The token of a word of the lexicon that is `added` to. */
static uint32_t token_of(const struct linnet_guesser *guesser, size_t index) {
  const size_t before = guesser->added == guesser->lexicon ? 0 : linnet_lexicon_num_words(guesser->lexicon) + 1;
  return (uint32_t)(before + index + 1);
}

static enum linnet_status add_guesses(struct linnet_guesser *guesser, const char *word, size_t *index) {
  const struct linnet_g2p *g2p = NULL;
  struct guess guess = {guesser->added, word, LINNET_NOT_FOUND, 1};
  enum linnet_status status = linnet_g2p_demand_model(guesser->g2p, guesser->context, &g2p);
  if (status == LINNET_OK)
    status = linnet_g2p_guess(g2p, guesser->context, word, linnet_lexicon_phones(guesser->lexicon), add_guess, &guess);
  *index = guess.index;
  guesser->failed = status != LINNET_OK;
  return guesser->failed ? linnet_fail_setting(guesser->context, "g2p", status) : LINNET_OK;
}

enum linnet_status linnet_guesser_find(struct linnet_guesser *guesser, const struct linnet_lexicon *lexicon,
                                       const char *word, uint32_t *token) {
  size_t index = linnet_lexicon_find(lexicon, word);
  *token = index == LINNET_NOT_FOUND ? 0 : (uint32_t)index + 1;
  if (*token > 0 || !guesser || !guesser->g2p)
    return LINNET_OK;
  index = linnet_lexicon_find(guesser->added, word);
  if (index == LINNET_NOT_FOUND) {
    LINNET_TRY(add_guesses(guesser, word, &index));
    if (index == LINNET_NOT_FOUND)
      return LINNET_OK;
    linnet_word_list_add(&guesser->guessed, word);
  }
  *token = token_of(guesser, index);
  return LINNET_OK;
}

const char *linnet_guesser_remedy(const struct linnet_guesser *guesser) {
  if (!guesser)
    return LINNET_LEXICON_REMEDY;
  if (!guesser->g2p)
    return "name a model of pronunciations (g2p), which guesses them, or add the word: " LINNET_LEXICON_REMEDY;
  return "the model of pronunciations lacks some of the letters: write it as it is spoken, such as GEE PEE, or add it "
         "to the lexicon by hand";
}

void linnet_guesser_close(const struct linnet_guesser *guesser, enum linnet_log_level level) {
  if (guesser->guessed.count > 0)
    linnet_log(guesser->context, level, "guessed the pronunciations of words that are not in %s: %s",
               linnet_lexicon_name(guesser->lexicon), guesser->guessed.text);
}
