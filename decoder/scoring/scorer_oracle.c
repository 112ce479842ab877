/* Oracles: scores the path of each lattice, or the hypothesis of each n-best list, that is nearest to the reference. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linnet/lattice.h>

#include "decoder/scoring/scorer.h"

enum { NAMED_BYTES = 128 /* of an id for a message */ };

/* Scratch for all utterances. */
struct oracle {
  struct linnet_scorer *scorer;
  const struct linnet_transcripts *reference, *speakers;
  const struct linnet_symbols *symbols; /* of the lattices */
  struct linnet_lattice *lattice;
  struct linnet_segment *segments; /* of one hypothesis of an n-best list */
  int *labels;                     /* (symbols): index in the vocabulary + 1, 0: dropped; those up to `labelled` */
  int *reference_labels;           /* of one reference */
  const char **hypothesis_tokens;  /* of one path */
  size_t labelled, label_capacity, reference_capacity, hypothesis_capacity, segment_capacity;
};

static enum linnet_status out_of_memory(const struct oracle *o) {
  return linnet_fail(o->scorer->context, LINNET_ERROR_MEMORY, "out of memory for an oracle");
}

static enum linnet_status open_oracle(struct oracle *o, struct linnet_scorer *scorer,
                                      const struct linnet_transcripts *reference, const struct linnet_symbols *symbols,
                                      const struct linnet_transcripts *speakers) {
  *o = (struct oracle){.scorer = scorer, .reference = reference, .speakers = speakers, .symbols = symbols};
  return linnet_lattice_create(scorer->context, &o->lattice);
}

static void close_oracle(struct oracle *o) {
  struct linnet_context *context = o->scorer->context;
  linnet_lattice_destroy(o->lattice);
  linnet_free(context, o->segments);
  linnet_free(context, o->labels);
  linnet_free(context, o->reference_labels);
  linnet_free(context, o->hypothesis_tokens);
}

/* --- tokens as they are compared ---------------------------------------------------------------------------------- */

static enum linnet_status label_of(struct linnet_scorer *scorer, const char *token, int *label) {
  size_t index = LINNET_NOT_FOUND;
  LINNET_TRY(linnet_scorer_normalise(scorer, token, &index));
  *label = index == LINNET_NOT_FOUND ? 0 : (int)index + 1;
  return LINNET_OK;
}

/* Sets the labels of symbols that are new since the last call. */
static enum linnet_status label_symbols(struct oracle *o) {
  size_t count = linnet_symbols_num_symbols(o->symbols);
  int *grown = linnet_grow(o->scorer->context, o->labels, &o->label_capacity, count, sizeof *grown);
  if (!grown)
    return out_of_memory(o);
  o->labels = grown;
  grown[0] = 0;
  for (size_t i = o->labelled > 0 ? o->labelled : 1; i < count; i++)
    LINNET_TRY(label_of(o->scorer, linnet_symbols_name(o->symbols, (int)i), &grown[i]));
  o->labelled = count;
  return LINNET_OK;
}

/* The reference as labels, without dropped tokens. */
static enum linnet_status label_reference(struct oracle *o, const char *const *tokens, size_t count, size_t *kept) {
  int *grown = linnet_grow(o->scorer->context, o->reference_labels, &o->reference_capacity, count + 1, sizeof *grown);
  if (!grown)
    return out_of_memory(o);
  o->reference_labels = grown;
  *kept = 0;
  for (size_t i = 0; i < count; i++) {
    int label = 0;
    LINNET_TRY(label_of(o->scorer, tokens[i], &label));
    if (label > 0)
      grown[(*kept)++] = label;
  }
  return LINNET_OK;
}

static enum linnet_status check_symbols(const struct oracle *o, const char *id) {
  size_t arcs;
  const struct linnet_lattice_arc *arc = linnet_lattice_arcs(o->lattice, &arcs);
  for (size_t i = 0; i < arcs; i++)
    if ((size_t)arc[i].symbol >= linnet_symbols_num_symbols(o->symbols))
      return linnet_fail(
          o->scorer->context, LINNET_ERROR_FORMAT,
          "utterance '%.100s': the lattice holds symbol %d, but there are %zu symbols: is this the right table?", id,
          arc[i].symbol, linnet_symbols_num_symbols(o->symbols));
  return LINNET_OK;
}

/* --- one utterance ------------------------------------------------------------------------------------------------ */

static enum linnet_status name_path(struct oracle *o, const struct linnet_lattice_nearest *nearest) {
  const char **grown = linnet_grow(o->scorer->context, (void *)o->hypothesis_tokens, &o->hypothesis_capacity,
                                   nearest->num_symbols + 1, sizeof *grown);
  if (!grown)
    return out_of_memory(o);
  o->hypothesis_tokens = grown;
  for (size_t i = 0; i < nearest->num_symbols; i++)
    grown[i] = linnet_symbols_name(o->symbols, nearest->symbols[i]);
  return LINNET_OK;
}

/* Puts the id of the utterance before the context's error message. */
static enum linnet_status name_utterance(const struct oracle *o, const char *id, enum linnet_status status) {
  char sentence[400];
  snprintf(sentence, sizeof sentence, "%s", linnet_context_error(o->scorer->context));
  return linnet_fail(o->scorer->context, status, "utterance '%.100s': %s", id, sentence);
}

/* Finishes the lattice and finds the path nearest to the reference (count); without paths *states is 0 and nothing is
 * found. */
static enum linnet_status find_nearest(struct oracle *o, const char *const *tokens, size_t count, size_t *states,
                                       struct linnet_lattice_nearest *nearest) {
  size_t kept = 0;
  LINNET_TRY(linnet_lattice_finish(o->lattice, NULL));
  linnet_lattice_states(o->lattice, states);
  if (*states == 0)
    return LINNET_OK;
  LINNET_TRY(label_symbols(o));
  LINNET_TRY(label_reference(o, tokens, count, &kept));
  return linnet_lattice_oracle(o->lattice, o->labels, o->reference_labels, kept, nearest);
}

/* Scores the lattice as it was filled, for an utterance of the reference. */
static enum linnet_status score_lattice(struct oracle *o, size_t index) {
  const char *id = linnet_transcripts_id(o->reference, index), *speaker;
  size_t count, states;
  const char *const *tokens = linnet_transcripts_tokens(o->reference, index, &count);
  struct linnet_lattice_nearest nearest;
  LINNET_TRY(linnet_scorer_find_speaker(o->scorer, o->speakers, id, &speaker));
  LINNET_TRY(check_symbols(o, id));
  enum linnet_status status = find_nearest(o, tokens, count, &states, &nearest);
  if (status != LINNET_OK)
    return name_utterance(o, id, status);
  if (states == 0)
    return linnet_scorer_add_missing(o->scorer, id, speaker, tokens, count);
  LINNET_TRY(name_path(o, &nearest));
  return linnet_scorer_add(o->scorer, id, speaker, tokens, count, o->hypothesis_tokens, nearest.num_symbols);
}

static enum linnet_status add_rest(const struct oracle *o) {
  for (size_t i = 0; i < linnet_transcripts_num_utterances(o->reference); i++) {
    const char *id = linnet_transcripts_id(o->reference, i), *speaker;
    size_t count;
    const char *const *tokens = linnet_transcripts_tokens(o->reference, i, &count);
    if (linnet_names_find(&o->scorer->ids, id, strlen(id)) != LINNET_NOT_FOUND)
      continue;
    LINNET_TRY(linnet_scorer_find_speaker(o->scorer, o->speakers, id, &speaker));
    LINNET_TRY(linnet_scorer_add_missing(o->scorer, id, speaker, tokens, count));
  }
  return LINNET_OK;
}

/* --- lattices ----------------------------------------------------------------------------------------------------- */

static enum linnet_status score_lattices(struct oracle *o, struct linnet_lattice_reader *reader) {
  char first[NAMED_BYTES] = ""; /* the first lattice without a reference */
  size_t extra = 0, count = 0;
  enum linnet_status status;
  const char *id;
  for (; (status = linnet_lattice_reader_next(reader, &id, o->lattice)) == LINNET_OK; count++) {
    size_t index = linnet_transcripts_find(o->reference, id);
    if (index != LINNET_NOT_FOUND)
      LINNET_TRY(score_lattice(o, index));
    else if (extra++ == 0)
      snprintf(first, sizeof first, "%s", id);
  }
  if (status != LINNET_END)
    return status;
  LINNET_TRY(linnet_scorer_judge_extra(o->scorer, extra, count, first));
  return add_rest(o);
}

enum linnet_status linnet_scorer_add_lattices(struct linnet_scorer *scorer, const struct linnet_transcripts *reference,
                                              struct linnet_lattice_reader *reader,
                                              const struct linnet_symbols *symbols,
                                              const struct linnet_transcripts *speakers) {
  struct oracle o;
  if (!scorer)
    return LINNET_ERROR_ARGUMENT;
  if (!reference || !reader || !symbols)
    return linnet_fail(scorer->context, LINNET_ERROR_ARGUMENT, "linnet_scorer_add_lattices: an argument is NULL");
  enum linnet_status status = open_oracle(&o, scorer, reference, symbols, speakers);
  if (status == LINNET_OK)
    status = score_lattices(&o, reader);
  close_oracle(&o);
  return status;
}

/* --- n-best lists ------------------------------------------------------------------------------------------------- */

static enum linnet_status add_hypothesis(struct oracle *o, struct linnet_symbols *symbols, const char *const *tokens,
                                         size_t count) {
  struct linnet_segment *grown =
      linnet_grow(o->scorer->context, o->segments, &o->segment_capacity, count + 1, sizeof *grown);
  if (!grown)
    return out_of_memory(o);
  o->segments = grown;
  for (size_t i = 0; i < count; i++) {
    grown[i] = (struct linnet_segment){.symbol = 0};
    LINNET_TRY(linnet_symbols_add(symbols, tokens[i], &grown[i].symbol));
  }
  return linnet_lattice_add_path(o->lattice, grown, count, 0, 0);
}

/* The list of an utterance; *used counts its hypotheses. */
static enum linnet_status fill_list(struct oracle *o, struct linnet_symbols *symbols, const char *id,
                                    const struct linnet_transcripts *hypotheses, size_t *used) {
  size_t size = strlen(id) + 32, count;
  char *name = linnet_alloc(o->scorer->context, size, 1);
  enum linnet_status status = name ? LINNET_OK : out_of_memory(o);
  linnet_lattice_reset(o->lattice);
  for (size_t rank = 1; status == LINNET_OK; rank++) {
    snprintf(name, size, "%s-%zu", id, rank);
    size_t found = linnet_transcripts_find(hypotheses, name);
    if (found == LINNET_NOT_FOUND)
      break;
    const char *const *tokens = linnet_transcripts_tokens(hypotheses, found, &count);
    status = add_hypothesis(o, symbols, tokens, count);
    (*used)++;
  }
  linnet_free(o->scorer->context, name);
  return status;
}

/* Whether a hypothesis has the name ID-RANK of a reference's ID, and the one before it in the list is there. */
static bool is_listed(const struct oracle *o, const struct linnet_transcripts *hypotheses, const char *name) {
  const char *dash = strrchr(name, '-');
  char other[1024];
  const size_t digits = dash ? strspn(dash + 1, "0123456789") : 0;
  const unsigned long rank = digits > 0 && !dash[1 + digits] ? strtoul(dash + 1, NULL, 10) : 0;
  if (rank == 0 || dash[1] == '0' || (size_t)(dash - name) >= sizeof other - digits - 2)
    return false;
  snprintf(other, sizeof other, "%.*s", (int)(dash - name), name);
  if (linnet_transcripts_find(o->reference, other) == LINNET_NOT_FOUND)
    return false;
  snprintf(other, sizeof other, "%.*s-%lu", (int)(dash - name), name, rank - 1);
  return rank == 1 || linnet_transcripts_find(hypotheses, other) != LINNET_NOT_FOUND;
}

/* Hypotheses in no list of a reference. */
static enum linnet_status judge_unlisted(const struct oracle *o, const struct linnet_transcripts *hypotheses,
                                         size_t extra, size_t count) {
  size_t first = 0;
  while (first + 1 < count && is_listed(o, hypotheses, linnet_transcripts_id(hypotheses, first)))
    first++;
  const char *name = linnet_transcripts_id(hypotheses, first);
  if (o->scorer->settings.allow_extra)
    return linnet_scorer_judge_extra(o->scorer, extra, count, name);
  return linnet_fail(
      o->scorer->context, LINNET_ERROR_FORMAT,
      "%zu of %zu hypotheses are in no list of a reference, the first is '%.100s': those of an utterance "
      "ID have the names ID-1, ID-2 ...",
      extra, count, name);
}

static enum linnet_status score_lists(struct oracle *o, struct linnet_symbols *symbols,
                                      const struct linnet_transcripts *hypotheses) {
  size_t used = 0, count = linnet_transcripts_num_utterances(hypotheses);
  for (size_t i = 0; i < linnet_transcripts_num_utterances(o->reference); i++) {
    LINNET_TRY(fill_list(o, symbols, linnet_transcripts_id(o->reference, i), hypotheses, &used));
    LINNET_TRY(score_lattice(o, i));
  }
  if (used == count)
    return LINNET_OK;
  return judge_unlisted(o, hypotheses, count - used, count);
}

enum linnet_status linnet_scorer_add_nbest(struct linnet_scorer *scorer, const struct linnet_transcripts *reference,
                                           const struct linnet_transcripts *hypotheses,
                                           const struct linnet_transcripts *speakers) {
  struct oracle o;
  struct linnet_symbols *symbols = NULL;
  if (!scorer)
    return LINNET_ERROR_ARGUMENT;
  if (!reference || !hypotheses)
    return linnet_fail(scorer->context, LINNET_ERROR_ARGUMENT, "linnet_scorer_add_nbest: an argument is NULL");
  LINNET_TRY(linnet_symbols_create(scorer->context, NULL, 0, &symbols));
  enum linnet_status status = open_oracle(&o, scorer, reference, symbols, speakers);
  if (status == LINNET_OK)
    status = score_lists(&o, symbols, hypotheses);
  close_oracle(&o);
  linnet_symbols_destroy(symbols);
  return status;
}
