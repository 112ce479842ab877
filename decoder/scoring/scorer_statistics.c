/* Statistics over all utterances of a scorer: the table of confusions, and the bootstrap. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "decoder/scoring/scorer.h"

/* --- confusions ------------------------------------------------------------------------------------------------- */

/* The errors of one utterance, each a confusion seen once; returns how many. */
static size_t list_errors(const struct linnet_scorer *scorer, const struct linnet_scored *u,
                          struct linnet_confusion *list) {
  size_t i = u->token, j = u->token + u->num_reference, count = 0;
  for (size_t k = 0; k < u->edit_count; k++) {
    uint8_t edit = scorer->edits[u->edit + k];
    struct linnet_score_pair pair = linnet_scorer_step(scorer, edit, &i, &j);
    if (edit != LINNET_EDIT_MATCH)
      list[count++] = (struct linnet_confusion){pair, 1};
  }
  return count;
}

/* NULL before all. */
static int compare_tokens(const char *a, const char *b) {
  return !a || !b ? (a != NULL) - (b != NULL) : strcmp(a, b);
}

static int by_tokens(const void *a, const void *b) {
  const struct linnet_confusion *x = a, *y = b;
  int order = compare_tokens(x->pair.reference, y->pair.reference);
  return order != 0 ? order : compare_tokens(x->pair.hypothesis, y->pair.hypothesis);
}

static int by_count(const void *a, const void *b) {
  const struct linnet_confusion *x = a, *y = b;
  if (x->num_occurrences != y->num_occurrences)
    return x->num_occurrences > y->num_occurrences ? -1 : 1;
  return by_tokens(a, b);
}

/* Joins equal neighbours; returns how many are left. */
static size_t merge(struct linnet_confusion *list, size_t count) {
  size_t kept = 0;
  for (size_t i = 0; i < count; i++) {
    if (kept > 0 && by_tokens(&list[kept - 1], &list[i]) == 0)
      list[kept - 1].num_occurrences++;
    else
      list[kept++] = list[i];
  }
  return kept;
}

enum linnet_status linnet_scorer_confusions(struct linnet_scorer *scorer, const struct linnet_confusion **confusions,
                                            size_t *count) {
  if (confusions)
    *confusions = NULL;
  if (!scorer || !confusions || !count)
    return LINNET_ERROR_ARGUMENT;
  const struct linnet_score *total = &scorer->total.score;
  size_t errors = total->num_substitutions + total->num_insertions + total->num_deletions, listed = 0;
  struct linnet_confusion *list = linnet_alloc(scorer->context, errors, sizeof *list);
  if (!list)
    return linnet_fail(scorer->context, LINNET_ERROR_MEMORY, "out of memory for %zu confusions", errors);
  for (size_t i = 0; i < scorer->ids.count; i++)
    listed += list_errors(scorer, &scorer->utterances[i], list + listed);
  qsort(list, listed, sizeof *list, by_tokens);
  listed = merge(list, listed);
  qsort(list, listed, sizeof *list, by_count);
  linnet_free(scorer->context, scorer->confusions);
  scorer->confusions = list;
  *confusions = list;
  *count = listed;
  return LINNET_OK;
}

/* --- bootstrap -------------------------------------------------------------------------------------------------- */

/* Errors and reference tokens of a unit of the bootstrap, an utterance or a speaker. */
struct unit {
  uint64_t errors, reference;
};

static struct unit unit_of(const struct linnet_score *score) {
  return (struct unit){score->num_substitutions + score->num_insertions + score->num_deletions, score->num_reference};
}

/* The error rate, in percent, of resample `number`: units drawn with replacement; false if they have no reference
 * tokens. Philox gives four draws at a time. */
static bool resample(const struct unit *units, size_t count, uint64_t seed, size_t number, double *rate) {
  struct linnet_score sum = {0};
  struct linnet_philox random = {{0}};
  for (size_t i = 0; i < count; i++) {
    if (i % 4 == 0)
      random = linnet_philox(seed, number, i / 4);
    const struct unit *unit = &units[(uint64_t)random.word[i % 4] * count >> 32];
    sum.num_substitutions += unit->errors;
    sum.num_reference += unit->reference;
  }
  *rate = linnet_score_percent(&sum);
  return sum.num_reference > 0;
}

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Interpolates linearly between the two sorted values nearest to a rank. */
static double quantile(const double *sorted, size_t count, double fraction) {
  double rank = fraction * (double)(count - 1);
  size_t below = (size_t)rank, above = below + 1 < count ? below + 1 : below;
  double part = rank - (double)below;
  return part > 0 ? sorted[below] * (1 - part) + sorted[above] * part : sorted[below];
}

static double standard_deviation(const double *values, size_t count) {
  double sum = 0, square = 0;
  for (size_t i = 0; i < count; i++)
    sum += values[i];
  double mean = sum / (double)count;
  for (size_t i = 0; i < count; i++)
    square += (values[i] - mean) * (values[i] - mean);
  return count > 1 ? sqrt(square / (double)(count - 1)) : 0;
}

/* Sorts the values; NaN if there is none. */
static struct linnet_interval interval_of(double *values, size_t count) {
  if (count == 0)
    return (struct linnet_interval){NAN, NAN, NAN};
  qsort(values, count, sizeof *values, compare_doubles);
  return (struct linnet_interval){quantile(values, count, 0.025), quantile(values, count, 0.975),
                                  standard_deviation(values, count)};
}

static size_t list_units(const struct linnet_scorer *scorer, enum linnet_bootstrap_unit unit, struct unit *units) {
  bool speakers = unit == LINNET_BOOTSTRAP_SPEAKER;
  size_t count = speakers ? scorer->speakers.count : scorer->ids.count;
  for (size_t i = 0; i < count; i++)
    units[i] = unit_of(speakers ? &scorer->sums[i].score : &scorer->utterances[i].score);
  return count;
}

static enum linnet_status check_bootstrap(const struct linnet_scorer *scorer, enum linnet_bootstrap_unit unit,
                                          size_t resamples) {
  if (unit != LINNET_BOOTSTRAP_UTTERANCE && unit != LINNET_BOOTSTRAP_SPEAKER)
    return linnet_fail(scorer->context, LINNET_ERROR_ARGUMENT, "linnet_scorer_bootstrap: the unit is unknown");
  if (resamples < 1 || resamples > 1000000)
    return linnet_fail(scorer->context, LINNET_ERROR_ARGUMENT, "%zu bootstrap resamples; there must be 1 to 1000000",
                       resamples);
  if (scorer->ids.count == 0)
    return linnet_fail(scorer->context, LINNET_ERROR_STATE, "linnet_scorer_bootstrap: there are no utterances");
  if (scorer->total.score.num_reference == 0)
    return linnet_fail(scorer->context, LINNET_ERROR_STATE, "a bootstrap needs references that are not all empty");
  for (size_t i = 0; unit == LINNET_BOOTSTRAP_SPEAKER && i < scorer->ids.count; i++)
    if (scorer->utterances[i].speaker == LINNET_NOT_FOUND)
      return linnet_fail(scorer->context, LINNET_ERROR_STATE,
                         "a bootstrap over speakers needs a speaker for each utterance, but '%.100s' has none",
                         linnet_names_text(&scorer->ids, i));
  return LINNET_OK;
}

/* The memory of a bootstrap: the units of one or two scorers, and a value for each resample. */
struct bootstrap {
  struct linnet_context *context;
  struct unit *units, *others;
  size_t count;
  double *values;
};

static enum linnet_status open_bootstrap(const struct linnet_scorer *scorer, size_t resamples, struct bootstrap *b) {
  const size_t most = scorer->ids.count;
  *b = (struct bootstrap){.context = scorer->context};
  b->units = linnet_alloc(b->context, 2 * most, sizeof *b->units);
  b->others = b->units ? b->units + most : NULL;
  b->values = linnet_alloc(b->context, resamples, sizeof *b->values);
  return b->units && b->values
             ? LINNET_OK
             : linnet_fail(b->context, LINNET_ERROR_MEMORY, "out of memory for %zu resamples", resamples);
}

static void close_bootstrap(struct bootstrap *b) {
  linnet_free(b->context, b->units);
  linnet_free(b->context, b->values);
}

enum linnet_status linnet_scorer_bootstrap(struct linnet_scorer *scorer, enum linnet_bootstrap_unit unit,
                                           size_t resamples, uint64_t seed, struct linnet_interval *interval) {
  if (!scorer || !interval)
    return LINNET_ERROR_ARGUMENT;
  LINNET_TRY(check_bootstrap(scorer, unit, resamples));
  struct bootstrap b;
  enum linnet_status status = open_bootstrap(scorer, resamples, &b);
  if (status == LINNET_OK) {
    b.count = list_units(scorer, unit, b.units);
    size_t kept = 0;
    for (size_t i = 0; i < resamples; i++)
      kept += resample(b.units, b.count, seed, i, &b.values[kept]);
    *interval = interval_of(b.values, kept);
  }
  close_bootstrap(&b);
  return status;
}

/* --- comparison ------------------------------------------------------------------------------------------------- */

/* The speaker of utterance i; NULL: none. */
static const char *speaker_of(const struct linnet_scorer *scorer, size_t i) {
  const size_t speaker = scorer->utterances[i].speaker;
  return speaker == LINNET_NOT_FOUND ? NULL : linnet_names_text(&scorer->speakers, speaker);
}

/* The index of a name of `names` among `others`. */
static size_t find_same(const struct linnet_names *names, size_t index, const struct linnet_names *others) {
  const char *name = linnet_names_text(names, index);
  return linnet_names_find(others, name, strlen(name));
}

static bool same_utterance(const struct linnet_scorer *x, const struct linnet_scorer *y, size_t i, bool speakers) {
  const size_t k = find_same(&x->ids, i, &y->ids);
  return k != LINNET_NOT_FOUND && x->utterances[i].score.num_reference == y->utterances[k].score.num_reference &&
         (!speakers || compare_tokens(speaker_of(x, i), speaker_of(y, k)) == 0);
}

static enum linnet_status check_same(const struct linnet_scorer *x, const struct linnet_scorer *y, bool speakers) {
  if (x->ids.count != y->ids.count)
    return linnet_fail(x->context, LINNET_ERROR_ARGUMENT,
                       "a comparison of %zu and %zu utterances: they must be the same", x->ids.count, y->ids.count);
  for (size_t i = 0; i < x->ids.count; i++)
    if (!same_utterance(x, y, i, speakers))
      return linnet_fail(x->context, LINNET_ERROR_ARGUMENT,
                         "a comparison: utterance '%.100s' is missing in the second scorer, or has another reference "
                         "or speaker there",
                         linnet_names_text(&x->ids, i));
  return LINNET_OK;
}

/* The units of `other` in the order of those of `scorer`. */
static void list_others(const struct linnet_scorer *scorer, const struct linnet_scorer *other,
                        enum linnet_bootstrap_unit unit, struct unit *units) {
  const bool speakers = unit == LINNET_BOOTSTRAP_SPEAKER;
  const struct linnet_names *names = speakers ? &scorer->speakers : &scorer->ids;
  const struct linnet_names *others = speakers ? &other->speakers : &other->ids;
  for (size_t i = 0; i < names->count; i++) {
    const size_t k = find_same(names, i, others);
    units[i] = unit_of(speakers ? &other->sums[k].score : &other->utterances[k].score);
  }
}

/* Both rates of a resample come from the same draws: these depend on the seed, the resample and the number of units. */
static void compare_resamples(const struct bootstrap *b, size_t resamples, uint64_t seed,
                              struct linnet_comparison *comparison) {
  size_t better = 0, kept = 0;
  for (size_t i = 0; i < resamples; i++) {
    double rate, other;
    if (!resample(b->units, b->count, seed, i, &rate) || !resample(b->others, b->count, seed, i, &other))
      continue;
    b->values[kept++] = other - rate;
    better += other < rate;
  }
  comparison->probability = kept > 0 ? (double)better / (double)kept : NAN;
  comparison->interval = interval_of(b->values, kept);
}

enum linnet_status linnet_scorer_compare(struct linnet_scorer *scorer, const struct linnet_scorer *other,
                                         enum linnet_bootstrap_unit unit, size_t resamples, uint64_t seed,
                                         struct linnet_comparison *comparison) {
  if (!scorer || !other || !comparison)
    return LINNET_ERROR_ARGUMENT;
  LINNET_TRY(check_bootstrap(scorer, unit, resamples));
  LINNET_TRY(check_same(scorer, other, unit == LINNET_BOOTSTRAP_SPEAKER));
  struct bootstrap b;
  enum linnet_status status = open_bootstrap(scorer, resamples, &b);
  if (status == LINNET_OK) {
    b.count = list_units(scorer, unit, b.units);
    list_others(scorer, other, unit, b.others);
    comparison->difference = linnet_score_percent(&other->total.score) - linnet_score_percent(&scorer->total.score);
    compare_resamples(&b, resamples, seed, comparison);
  }
  close_bootstrap(&b);
  return status;
}
