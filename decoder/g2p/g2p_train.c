/* Training of joint-sequence models: alignment, units, an n-gram model of them. */
#include "decoder/g2p/g2p.h"

#include <math.h>
#include <string.h>

#include "base/settings.h"
#include "decoder/base/radix_sort.h"

struct linnet_g2p_trainer {
  struct linnet_g2p_settings settings;
  struct g2p_data data;
  size_t left_out;
  bool finished;
};

void(linnet_g2p_settings_default)(struct linnet_g2p_settings *settings, size_t size) {
  const struct linnet_g2p_settings defaults = {
      .size = sizeof(struct linnet_g2p_settings), .order = 8, .num_iterations = 10, .prune = 3e-8};
  linnet_settings_fill(settings, size, &defaults, sizeof defaults);
}

static enum linnet_status check_settings(struct linnet_context *context, const struct linnet_g2p_settings *s) {
  if (s->order < 1 || s->order > NGRAM_MAX_ORDER)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "the order of a model of pronunciations must be 1 to %d",
                       NGRAM_MAX_ORDER);
  if (s->num_iterations < 1 || s->num_iterations > 100)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "the number of iterations must be 1 to 100");
  if (!(s->prune >= 0 && s->prune < 1))
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "the threshold of pruning must be 0 to 1");
  return LINNET_OK;
}

enum linnet_status linnet_g2p_trainer_create(struct linnet_context *context, const struct linnet_g2p_settings *settings,
                                             struct linnet_g2p_trainer **trainer) {
  if (trainer)
    *trainer = NULL;
  if (!context || !trainer)
    return LINNET_ERROR_ARGUMENT;
  struct linnet_g2p_settings own;
  LINNET_TRY(LINNET_READ_SETTINGS(context, g2p, settings, &own));
  LINNET_TRY(check_settings(context, &own));
  struct linnet_g2p_trainer *t = linnet_calloc(context, 1, sizeof *t);
  if (!t)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a trainer of pronunciations");
  t->settings = own;
  t->data.context = t->data.letters.context = t->data.phones.context = context;
  *trainer = t;
  return LINNET_OK;
}

void linnet_g2p_trainer_destroy(struct linnet_g2p_trainer *t) {
  if (!t)
    return;
  struct linnet_context *context = t->data.context;
  linnet_names_clear(&t->data.letters);
  linnet_names_clear(&t->data.phones);
  linnet_free(context, t->data.entries);
  linnet_free(context, t->data.pool);
  linnet_free(context, t);
}

size_t linnet_g2p_trainer_num_pronunciations(const struct linnet_g2p_trainer *t) {
  return t->data.count;
}

size_t linnet_g2p_trainer_num_omitted(const struct linnet_g2p_trainer *t) {
  return t->left_out;
}

/* --- pronunciations ---------------------------------------------------------------------------------------------- */

static enum linnet_status out_of_memory(const struct g2p_data *data) {
  return linnet_fail(data->context, LINNET_ERROR_MEMORY, "out of memory for a model of %zu pronunciations",
                     data->count);
}

/* Appends a letter's or phone's number to the pool. */
static enum linnet_status add_symbol(struct g2p_data *data, struct linnet_names *names, const char *text) {
  size_t index;
  LINNET_TRY(linnet_names_add(names, text, strlen(text), &index, NULL));
  if (index + 1 > G2P_MAX_SYMBOLS)
    return linnet_fail(data->context, LINNET_ERROR_LIMIT, "there are more than %d different letters or phones",
                       G2P_MAX_SYMBOLS);
  uint16_t *grown = linnet_grow(data->context, data->pool, &data->pool_capacity, data->pool_count + 1, sizeof *grown);
  if (!grown)
    return out_of_memory(data);
  data->pool = grown;
  data->pool[data->pool_count++] = (uint16_t)(index + 1);
  return LINNET_OK;
}

static size_t count_letters(const char *word) {
  char letter[5];
  size_t letters = 0;
  while (linnet_g2p_next_letter(&word, letter))
    letters++;
  return letters;
}

static bool is_phone(const char *phone) {
  return phone && *phone != '\0' && phone[strcspn(phone, " \t\r\n\v\f")] == '\0';
}

static enum linnet_status add_entry(struct g2p_data *data, const char *word, size_t letters, const char *const *phones,
                                    size_t count) {
  struct g2p_entry entry = {.first = data->pool_count, .letters = (uint16_t)letters, .phones = (uint16_t)count};
  char letter[5];
  while (linnet_g2p_next_letter(&word, letter))
    LINNET_TRY(add_symbol(data, &data->letters, letter));
  for (size_t i = 0; i < count; i++)
    LINNET_TRY(add_symbol(data, &data->phones, phones[i]));
  struct g2p_entry *grown = linnet_grow(data->context, data->entries, &data->capacity, data->count + 1, sizeof *grown);
  if (!grown)
    return out_of_memory(data);
  data->entries = grown;
  data->entries[data->count++] = entry;
  return LINNET_OK;
}

enum linnet_status linnet_g2p_trainer_add(struct linnet_g2p_trainer *t, const char *word, const char *const *phones,
                                          size_t count) {
  if (!t || !word || (!phones && count > 0))
    return LINNET_ERROR_ARGUMENT;
  if (t->finished)
    return linnet_fail(t->data.context, LINNET_ERROR_STATE,
                       "the model of pronunciations was made before: create another trainer");
  for (size_t i = 0; i < count; i++)
    if (!is_phone(phones[i]))
      return linnet_fail(t->data.context, LINNET_ERROR_FORMAT, "'%s': a phone must not be empty or hold white space",
                         word);
  size_t letters = count_letters(word);
  if (letters == 0 || letters > G2P_MAX_LETTERS || count == 0 || count > letters * G2P_UNIT_PHONES) {
    t->left_out++;
    return LINNET_OK;
  }
  return add_entry(&t->data, word, letters, phones, count);
}

/* --- units of the alignments ------------------------------------------------------------------------------------- */

/* Stores the units that occur, sorted, in g2p, and the units of the alignments, as indices, in `sequence`. */
static enum linnet_status number_units(const struct g2p_alignments *alignments, size_t count, struct linnet_g2p *g2p,
                                       uint32_t *sequence, struct linnet_keyed *keyed, struct linnet_keyed *scratch) {
  for (size_t i = 0; i < count; i++)
    keyed[i] = (struct linnet_keyed){alignments->units[i], (uint32_t)i};
  linnet_radix_sort(keyed, scratch, count);
  size_t units = 0;
  for (size_t i = 0; i < count; i++) {
    units += i == 0 || keyed[i].key != keyed[i - 1].key;
    sequence[keyed[i].value] = (uint32_t)(units - 1);
  }
  if (units > G2P_MAX_UNITS)
    return linnet_fail(g2p->context, LINNET_ERROR_LIMIT, "there are more than %d different units of letters and phones",
                       G2P_MAX_UNITS);
  g2p->units = linnet_alloc(g2p->context, units, sizeof *g2p->units);
  if (!g2p->units)
    return linnet_fail(g2p->context, LINNET_ERROR_MEMORY, "out of memory for %zu units", units);
  g2p->unit_count = (uint32_t)units;
  for (size_t i = 0; i < count; i++)
    g2p->units[sequence[i]] = alignments->units[i];
  return linnet_g2p_index(g2p);
}

static enum linnet_status make_units(const struct g2p_alignments *alignments, size_t count, struct linnet_g2p *g2p,
                                     uint32_t *sequence) {
  struct linnet_context *context = g2p->context;
  struct linnet_keyed *keyed = linnet_alloc(context, count, sizeof *keyed);
  struct linnet_keyed *scratch = linnet_alloc(context, count, sizeof *scratch);
  enum linnet_status status = LINNET_ERROR_MEMORY;
  if (keyed && scratch)
    status = number_units(alignments, count, g2p, sequence, keyed, scratch);
  else
    linnet_fail(context, status, "out of memory for %zu units", count);
  linnet_free(context, keyed);
  linnet_free(context, scratch);
  return status;
}

/* --- the n-gram model -------------------------------------------------------------------------------------------- */

/* Sequences of units, one for each entry. */
struct sequences {
  const uint32_t *units;
  const size_t *begin; /* (count + 1) */
  size_t count;
};

static enum linnet_status add_sequences(struct linnet_ngram_estimator *estimator, const struct sequences *s) {
  char names[G2P_MAX_LETTERS][G2P_NAME_BYTES];
  const char *words[G2P_MAX_LETTERS];
  for (size_t n = 0; n < s->count; n++) {
    size_t count = s->begin[n + 1] - s->begin[n];
    for (size_t i = 0; i < count; i++) {
      linnet_g2p_unit_name(s->units[s->begin[n] + i], names[i]);
      words[i] = names[i];
    }
    LINNET_TRY(linnet_ngram_estimator_add(estimator, words, count));
  }
  return LINNET_OK;
}

static enum linnet_status estimate(struct linnet_context *context, const struct linnet_g2p_settings *g2p,
                                   const struct sequences *s, struct linnet_ngram **ngram) {
  struct linnet_ngram_estimator_settings settings;
  linnet_ngram_estimator_settings_default(&settings);
  settings.order = g2p->order;
  settings.discount_fallback = 1;
  settings.prune = g2p->prune;
  struct linnet_ngram_estimator *estimator;
  LINNET_TRY(linnet_ngram_estimator_create(context, &settings, &estimator));
  enum linnet_status status = add_sequences(estimator, s);
  if (status == LINNET_OK)
    status = linnet_ngram_estimator_finish(estimator, ngram);
  linnet_ngram_estimator_destroy(estimator);
  return status;
}

static enum linnet_status make_ngram(const struct linnet_g2p_settings *settings, const struct sequences *s,
                                     struct linnet_g2p *g2p) {
  struct linnet_ngram *exact = NULL;
  enum linnet_status status = estimate(g2p->context, settings, s, &exact);
  if (status == LINNET_OK)
    status = linnet_ngram_quantize(g2p->context, exact, &g2p->ngram);
  linnet_ngram_destroy(exact);
  return status;
}

/* --- the model --------------------------------------------------------------------------------------------------- */

static enum linnet_status make_model(struct linnet_g2p_trainer *t, const struct g2p_alignments *alignments,
                                     struct linnet_g2p *g2p) {
  struct linnet_context *context = t->data.context;
  size_t count = alignments->begin[t->data.count];
  uint32_t *sequence = linnet_alloc(context, count, sizeof *sequence);
  if (!sequence)
    return out_of_memory(&t->data);
  enum linnet_status status = make_units(alignments, count, g2p, sequence);
  struct sequences sequences = {sequence, alignments->begin, t->data.count};
  if (status == LINNET_OK)
    status = make_ngram(&t->settings, &sequences, g2p);
  linnet_free(context, sequence);
  return status;
}

/* Moves the names of letters and phones to the model. */
static void move_names(struct g2p_data *data, struct linnet_g2p *g2p) {
  g2p->letters = data->letters;
  g2p->phones = data->phones;
  data->letters = data->phones = (struct linnet_names){.context = data->context};
}

enum linnet_status linnet_g2p_trainer_finish(struct linnet_g2p_trainer *t, struct linnet_g2p **g2p) {
  if (g2p)
    *g2p = NULL;
  if (!t || !g2p)
    return LINNET_ERROR_ARGUMENT;
  struct linnet_context *context = t->data.context;
  if (t->finished)
    return linnet_fail(context, LINNET_ERROR_STATE,
                       "the model of pronunciations was made before: create another trainer");
  t->finished = true;
  if (t->data.count == 0)
    return linnet_fail(context, LINNET_ERROR_FORMAT, "there are no pronunciations to learn from");
  struct g2p_alignments alignments = {NULL, NULL};
  struct linnet_g2p *made = NULL;
  enum linnet_status status = linnet_g2p_align(&t->data, t->settings.num_iterations, &alignments);
  if (status == LINNET_OK)
    status = linnet_g2p_create(context, &made);
  if (status == LINNET_OK) {
    move_names(&t->data, made);
    status = make_model(t, &alignments, made);
  }
  linnet_g2p_alignments_clear(context, &alignments);
  if (status == LINNET_OK)
    *g2p = made;
  else
    linnet_g2p_destroy(made);
  return status;
}
