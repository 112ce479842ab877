/* Reads hotwords, builds their automaton, and steps through it word by word. */
#include "decoder/words/hotwords.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/c_locale.h"
#include "decoder/base/characters.h"
#include "decoder/base/text_file.h"
#include "decoder/grammar/grammar.h"
#include "decoder/words/label_tree.h"
#include "decoder/words/symbols.h"

enum { MAX_BYTES = 1 << 26, MAX_WORDS = 64 };

static const double default_weight = 10, max_weight = 100;

struct phrase {
  size_t first, count; /* of tokens */
  size_t line;
  double weight;
};

struct linnet_hotwords {
  struct linnet_context *context;
  const struct linnet_lexicon *lexicon; /* while it is read */
  struct linnet_text text;
  struct linnet_guesser *guesser;  /* the same, or NULL */
  struct linnet_word_list missing; /* in the lexicon */
  size_t first_missing;            /* line of the first of them */
  struct phrase *phrases;
  size_t count, capacity;
  int *tokens; /* of all phrases */
  size_t token_count, token_capacity;
  struct linnet_label_tree tree; /* of phrases; its values are their numbers. A node is a state. All (nodes): */
  uint32_t *fail;                /* the longest proper suffix of a state that is a state */
  double *paid;                  /* weights of the phrases that end in the state */
  double *pending;               /* part of the weight of an incomplete phrase that is already in the score */
  double max_gain;
};

static enum linnet_status out_of_memory(const struct linnet_hotwords *h) {
  return linnet_fail(h->context, LINNET_ERROR_MEMORY, "%s:%zu: out of memory for hotwords", h->text.name, h->text.line);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static enum linnet_status judge_missing(const struct linnet_hotwords *h) {
  const size_t count = h->missing.count;
  if (count == 0)
    return LINNET_OK;
  return linnet_fail(h->context, LINNET_ERROR_FORMAT, "%s:%zu: %s %s not in the lexicon %.100s: %s", h->text.name,
                     h->first_missing, h->missing.text, count == 1 ? "is" : "are", linnet_lexicon_name(h->lexicon),
                     linnet_guesser_remedy(h->guesser));
}

static enum linnet_status add_token(struct linnet_hotwords *h, struct phrase *phrase, const char *word) {
  uint32_t token;
  LINNET_TRY(linnet_guesser_find(h->guesser, h->lexicon, word, &token));
  if (token == 0) { /* the list is refused at its end */
    h->first_missing = h->missing.count == 0 ? h->text.line : h->first_missing;
    linnet_word_list_add(&h->missing, word);
  }
  if (phrase->count == MAX_WORDS)
    return linnet_fail(h->context, LINNET_ERROR_LIMIT, "%s:%zu: the phrase has more than %d words", h->text.name,
                       h->text.line, MAX_WORDS);
  int *grown = linnet_grow(h->context, h->tokens, &h->token_capacity, h->token_count + 1, sizeof *grown);
  if (!grown)
    return out_of_memory(h);
  h->tokens = grown;
  h->tokens[h->token_count++] = (int)token;
  phrase->count++;
  return LINNET_OK;
}

/* Whether a token begins with a digit, perhaps after a sign and a point: "inf" and "infinity" are words. */
static bool begins_number(const char *token) {
  token += *token == '-' || *token == '+';
  token += *token == '.';
  return linnet_is_digit(*token);
}

/* The last token is a weight if it is a number, unless it stands alone. */
static bool is_weight(const struct phrase *phrase, const char *token, const char *next, double *weight) {
  return !next && phrase->count > 0 && begins_number(token) && linnet_parse_number(token, weight);
}

static enum linnet_status read_phrase(struct linnet_hotwords *h, const char *token, struct phrase *phrase) {
  while (token) {
    const char *next = linnet_text_token(&h->text);
    if (!is_weight(phrase, token, next, &phrase->weight))
      LINNET_TRY(add_token(h, phrase, token));
    token = next;
  }
  if (fabs(phrase->weight) <= max_weight)
    return LINNET_OK;
  return linnet_fail(h->context, LINNET_ERROR_FORMAT, "%s:%zu: the weight is %g; it must be -%g to %g", h->text.name,
                     h->text.line, phrase->weight, max_weight, max_weight);
}

static enum linnet_status read_lines(struct linnet_hotwords *h) {
  while (linnet_text_next_line(&h->text)) {
    if (linnet_grammar_is_rule(h->text.token))
      return linnet_fail(h->context, LINNET_ERROR_FORMAT,
                         "%s:%zu: looks like a rule of JSGF, but hotwords are one phrase per line: write phrases, or "
                         "give the file as a grammar",
                         h->text.name, h->text.line);
    struct phrase phrase = {.first = h->token_count, .line = h->text.line, .weight = default_weight};
    const char *token = linnet_text_token(&h->text);
    if (*token == '#')
      continue;
    LINNET_TRY(read_phrase(h, token, &phrase));
    struct phrase *grown = linnet_grow(h->context, h->phrases, &h->capacity, h->count + 1, sizeof *grown);
    if (!grown)
      return out_of_memory(h);
    h->phrases = grown;
    h->phrases[h->count++] = phrase;
  }
  return judge_missing(h);
}

/* --- the automaton ------------------------------------------------------------------------------------------------ */

static enum linnet_status make_tree(struct linnet_hotwords *h) {
  struct linnet_label_sequence *sequences = linnet_alloc(h->context, h->count, sizeof *sequences);
  if (!sequences)
    return out_of_memory(h);
  for (size_t i = 0; i < h->count; i++)
    sequences[i] = (struct linnet_label_sequence){h->tokens + h->phrases[i].first, h->phrases[i].count, (uint32_t)i};
  enum linnet_status status = linnet_label_tree_create(&h->tree, h->context, sequences, h->count);
  linnet_free(h->context, sequences);
  return status;
}

static uint32_t next_state(const struct linnet_hotwords *h, uint32_t state, int token) {
  uint32_t child;
  while ((child = linnet_label_tree_child(&h->tree, state, token)) == 0 && state != 0)
    state = h->fail[state];
  return child;
}

static enum linnet_status check_duplicates(const struct linnet_hotwords *h, uint32_t node) {
  const struct linnet_label_node *n = &h->tree.nodes[node];
  if (n[1].first_value - n->first_value < 2)
    return LINNET_OK;
  const uint32_t *phrases = h->tree.values + n->first_value;
  return linnet_fail(h->context, LINNET_ERROR_FORMAT,
                     "%s:%zu: the phrase appears twice, first in line %zu: remove one of the lines", h->text.name,
                     h->phrases[phrases[1]].line, h->phrases[phrases[0]].line);
}

/* Sets `pending` of the states along each phrase. */
static void add_pending(struct linnet_hotwords *h, const struct phrase *phrase) {
  uint32_t node = 0;
  for (size_t i = 0; i + 1 < phrase->count; i++) {
    node = linnet_label_tree_child(&h->tree, node, h->tokens[phrase->first + i]);
    h->pending[node] = fmax(h->pending[node], phrase->weight * (double)(i + 1) / (double)phrase->count);
  }
}

/* Goes through the states by number: parents, and states that `fail` leads to, have fewer words and lower numbers. */
static enum linnet_status link_states(struct linnet_hotwords *h) {
  for (uint32_t node = 1; node < h->tree.count; node++) {
    const struct linnet_label_node *n = &h->tree.nodes[node];
    LINNET_TRY(check_duplicates(h, node));
    h->fail[node] = n->parent == 0 ? 0 : next_state(h, h->fail[n->parent], n->label);
    bool ends = n[1].first_value > n->first_value;
    h->paid[node] = h->paid[h->fail[node]] + (ends ? h->phrases[h->tree.values[n->first_value]].weight : 0);
    h->pending[node] = fmax(h->pending[node], h->pending[h->fail[node]]);
    h->max_gain = fmax(h->max_gain, h->paid[node] + h->pending[node]);
  }
  return LINNET_OK;
}

static enum linnet_status build(struct linnet_hotwords *h) {
  LINNET_TRY(read_lines(h));
  LINNET_TRY(make_tree(h));
  h->fail = linnet_calloc(h->context, h->tree.count, sizeof *h->fail);
  h->paid = linnet_calloc(h->context, h->tree.count, sizeof *h->paid);
  h->pending = linnet_calloc(h->context, h->tree.count, sizeof *h->pending);
  if (!h->fail || !h->paid || !h->pending)
    return out_of_memory(h);
  for (size_t i = 0; i < h->count; i++)
    add_pending(h, &h->phrases[i]);
  return link_states(h);
}

/* `opened` is the status of opening the text. */
static enum linnet_status finish(struct linnet_hotwords *h, enum linnet_status status,
                                 struct linnet_hotwords **hotwords) {
  if (status == LINNET_OK)
    status = build(h);
  linnet_text_close(&h->text);
  if (status == LINNET_OK)
    *hotwords = h;
  else
    linnet_hotwords_destroy(h);
  return status;
}

enum linnet_status linnet_hotwords_open(struct linnet_context *context, const struct linnet_source *source,
                                        const char *name, const struct linnet_lexicon *lexicon,
                                        struct linnet_guesser *guesser, struct linnet_hotwords **hotwords) {
  struct linnet_hotwords *h = linnet_calloc(context, 1, sizeof *h);
  *hotwords = NULL;
  if (!h)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for hotwords");
  h->context = h->text.context = context;
  h->lexicon = lexicon;
  h->guesser = guesser;
  return finish(h, linnet_text_open_source(context, source, name, MAX_BYTES, &h->text), hotwords);
}

enum linnet_status linnet_hotwords_load(struct linnet_context *context, const char *path,
                                        const struct linnet_lexicon *lexicon, struct linnet_hotwords **hotwords) {
  const struct linnet_source source = {.path = path};
  if (hotwords)
    *hotwords = NULL;
  if (!context || !path || !lexicon || !hotwords)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_hotwords_load: an argument is NULL");
  return linnet_hotwords_open(context, &source, path, lexicon, NULL, hotwords);
}

enum linnet_status linnet_hotwords_load_memory(struct linnet_context *context, const void *data, size_t bytes,
                                               const char *name, const struct linnet_lexicon *lexicon,
                                               struct linnet_hotwords **hotwords) {
  const struct linnet_source source = {.data = data, .bytes = bytes};
  if (hotwords)
    *hotwords = NULL;
  if (!context || (!data && bytes > 0) || !name || !lexicon || !hotwords)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_hotwords_load_memory: an argument is NULL");
  return linnet_hotwords_open(context, &source, name, lexicon, NULL, hotwords);
}

void linnet_hotwords_destroy(struct linnet_hotwords *hotwords) {
  if (!hotwords)
    return;
  linnet_label_tree_destroy(&hotwords->tree);
  linnet_free(hotwords->context, hotwords->phrases);
  linnet_free(hotwords->context, hotwords->tokens);
  linnet_free(hotwords->context, hotwords->fail);
  linnet_free(hotwords->context, hotwords->paid);
  linnet_free(hotwords->context, hotwords->pending);
  linnet_free(hotwords->context, hotwords);
}

/* --- asking ------------------------------------------------------------------------------------------------------- */

size_t linnet_hotwords_num_phrases(const struct linnet_hotwords *hotwords) {
  return hotwords->count;
}

uint32_t linnet_hotwords_step(const struct linnet_hotwords *h, double limit, uint32_t state, unsigned token,
                              double *gain) {
  uint32_t next = next_state(h, state, (int)token);
  *gain = h->paid[next] + fmin(h->pending[next], limit) - fmin(h->pending[state], limit);
  return next;
}

/* Words that continue no phrase of the state lose what is pending, or less if they begin another phrase. */
double linnet_hotwords_ahead(const struct linnet_hotwords *h, double limit, uint32_t state, linnet_hotwords_leads leads,
                             const void *user) {
  double best = -fmin(h->pending[state], limit);
  for (uint32_t suffix = state; suffix != 0 && best < 0; suffix = h->fail[suffix]) {
    const struct linnet_label_node *node = &h->tree.nodes[suffix];
    for (uint32_t child = node->first_child; child < node[1].first_child && best < 0; child++) {
      const unsigned token = (unsigned)h->tree.nodes[child].label;
      double gain;
      if (!leads(user, token))
        continue;
      linnet_hotwords_step(h, limit, state, token, &gain);
      best = fmax(best, fmin(gain, 0));
    }
  }
  return best;
}

double linnet_hotwords_finish(const struct linnet_hotwords *hotwords, double limit, uint32_t state) {
  return -fmin(hotwords->pending[state], limit);
}

double linnet_hotwords_max_gain(const struct linnet_hotwords *hotwords) {
  return hotwords->max_gain;
}
