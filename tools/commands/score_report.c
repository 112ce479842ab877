/* Writes the alignments, tables, confusions, trn files and JSON of `linnet score`. */
#include "score_report.h"

#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "base/utf8.h"
#include "common/tool.h"

enum { MAX_LISTED = 20 };

/* --- tables ----------------------------------------------------------------------------------------------------- */

static size_t errors_of(const struct linnet_score *score) {
  return score->num_substitutions + score->num_insertions + score->num_deletions;
}

static const char *step_name(const struct linnet_score_pair *pair) {
  if (!pair->reference)
    return "I";
  if (!pair->hypothesis)
    return "D";
  return strcmp(pair->reference, pair->hypothesis) == 0 ? "C" : "S";
}

static size_t longer(size_t a, size_t b) {
  return a > b ? a : b;
}

/* Prints one row of an alignment; each column is as wide as its longest token. `row`: 0 reference, 1 hypothesis,
 * 2 step. */
static void write_row(FILE *stream, const char *id, const struct linnet_score_pair *pairs, size_t count, int row) {
  static const char *const names[] = {"ref", "hyp", "op"};
  fprintf(stream, "%s %-3s", id, names[row]);
  for (size_t k = 0; k < count; k++) {
    const char *reference = pairs[k].reference ? pairs[k].reference : "***";
    const char *hypothesis = pairs[k].hypothesis ? pairs[k].hypothesis : "***";
    const char *text = row == 0 ? reference : row == 1 ? hypothesis : step_name(&pairs[k]);
    size_t width = longer(linnet_utf8_count(reference), linnet_utf8_count(hypothesis)),
           length = linnet_utf8_count(text);
    fprintf(stream, " %s", text);
    for (; length < width && k + 1 < count; length++)
      putc(' ', stream);
  }
  putc('\n', stream);
}

/* Kaldi's per-utterance details: rows ref, hyp, op and #csid (correct, substituted, inserted, deleted). */
static bool write_utterance(FILE *stream, const struct linnet_scorer *scorer, size_t index) {
  struct linnet_scored_utterance u = linnet_scorer_utterance(scorer, index);
  struct linnet_score_pair *pairs = malloc((u.num_pairs + 1) * sizeof *pairs);
  if (!pairs) {
    tool_fail("out of memory");
    return false;
  }
  linnet_scorer_alignment(scorer, index, pairs);
  for (int row = 0; row < 3; row++)
    write_row(stream, u.id, pairs, u.num_pairs, row);
  fprintf(stream, "%s #csid %zu %zu %zu %zu%s\n", u.id,
          u.score.num_reference - u.score.num_substitutions - u.score.num_deletions, u.score.num_substitutions,
          u.score.num_insertions, u.score.num_deletions, u.missing ? " missing" : "");
  free(pairs);
  return true;
}

bool report_write_utterances(const struct report *report, FILE *stream) {
  for (size_t i = 0; i < linnet_scorer_num_utterances(report->scorer); i++)
    if (!write_utterance(stream, report->scorer, i))
      return false;
  return true;
}

/* NaN without reference tokens. */
static double percent_of(const struct linnet_score *score) {
  return score->num_reference > 0 ? linnet_score_percent(score) : NAN;
}

static void write_sum(FILE *stream, const char *name, const struct linnet_score_sum *sum) {
  const struct linnet_score *s = &sum->score;
  fprintf(stream, "%s\t%zu\t%zu\t%zu\t%zu\t%zu\t%zu\t", name, sum->num_utterances, s->num_reference,
          s->num_reference - s->num_substitutions - s->num_deletions, s->num_substitutions, s->num_insertions,
          s->num_deletions);
  if (s->num_reference > 0)
    fprintf(stream, "%.2f", percent_of(s));
  else
    fputs("n/a", stream);
  fprintf(stream, "\t%.2f\n",
          sum->num_utterances > 0 ? 100.0 * (double)sum->num_wrong / (double)sum->num_utterances : 0.0);
}

bool report_write_speakers(const struct report *report, FILE *stream) {
  fprintf(stream, "speaker\tutterances\ttokens\tcorrect\tsub\tins\tdel\t%%%s\t%%SER\n", report->rate);
  for (size_t i = 0; i < linnet_scorer_num_speakers(report->scorer); i++) {
    struct linnet_score_sum sum = linnet_scorer_speaker(report->scorer, i);
    write_sum(stream, sum.name, &sum);
  }
  struct linnet_score_sum total = linnet_scorer_sum(report->scorer);
  write_sum(stream, "ALL", &total);
  return true;
}

bool report_write_confusions(const struct report *report, FILE *stream) {
  const struct linnet_confusion *list;
  size_t count;
  if (linnet_scorer_confusions(report->scorer, &list, &count) != LINNET_OK) {
    tool_fail("out of memory for the confusions");
    return false;
  }
  for (size_t i = 0; i < count; i++) {
    const struct linnet_score_pair *pair = &list[i].pair;
    const char *kind = !pair->reference ? "insertion" : !pair->hypothesis ? "deletion" : "substitution";
    fprintf(stream, "%zu\t%s\t%s\t%s\n", list[i].num_occurrences, kind, pair->reference ? pair->reference : "***",
            pair->hypothesis ? pair->hypothesis : "***");
  }
  return true;
}

/* --- sclite ----------------------------------------------------------------------------------------------------- */

/* Writes lines "TOKENS (SPEAKER-ID)", as read by `sclite -s -i rm -r ref.trn trn -h hyp.trn trn`. The text before the
 * first '-' is the speaker, so a '-' in the name of a speaker becomes '_'. */
static bool write_trn(const struct report *report, FILE *stream, bool hypothesis) {
  for (size_t i = 0; i < linnet_scorer_num_utterances(report->scorer); i++) {
    struct linnet_scored_utterance u = linnet_scorer_utterance(report->scorer, i);
    struct linnet_score_pair *pairs = malloc((u.num_pairs + 1) * sizeof *pairs);
    if (!pairs) {
      tool_fail("out of memory");
      return false;
    }
    linnet_scorer_alignment(report->scorer, i, pairs);
    for (size_t k = 0; k < u.num_pairs; k++) {
      const char *token = hypothesis ? pairs[k].hypothesis : pairs[k].reference;
      if (token)
        fprintf(stream, "%s ", token);
    }
    putc('(', stream);
    for (const char *c = u.speaker ? u.speaker : "all"; *c; c++)
      putc(*c == '-' ? '_' : *c, stream);
    fprintf(stream, "-%s)\n", u.id);
    free(pairs);
  }
  return true;
}

bool report_write_reference_trn(const struct report *report, FILE *stream) {
  return write_trn(report, stream, false);
}

bool report_write_hypothesis_trn(const struct report *report, FILE *stream) {
  return write_trn(report, stream, true);
}

/* --- summary ---------------------------------------------------------------------------------------------------- */

static void write_missing(const struct report *report, FILE *stream, size_t missing) {
  size_t listed = 0;
  fprintf(stream, "Missing utterances, counted as deleted:");
  for (size_t i = 0; i < linnet_scorer_num_utterances(report->scorer) && listed < MAX_LISTED; i++) {
    struct linnet_scored_utterance u = linnet_scorer_utterance(report->scorer, i);
    if (!u.missing)
      continue;
    fprintf(stream, " %s", u.id);
    listed++;
  }
  if (missing > listed)
    fprintf(stream, " and %zu more (--per-utt lists all)", missing - listed);
  putc('\n', stream);
}

static void write_comparison(const struct report *report, FILE *stream) {
  const struct linnet_comparison *c = &report->comparison;
  char line[LINNET_SCORE_LINE];
  linnet_score_line(&report->other_score, report->rate, line, sizeof line);
  fprintf(stream, "%s: %s\n", report->other, line);
  if (report->other_missing > 0)
    fprintf(stream, "%s: %zu utterance%s not present, counted as deleted\n", report->other, report->other_missing,
            linnet_plural(report->other_missing));
  fprintf(stream, "difference %+.2f", c->difference);
  if (report->interval_known)
    fprintf(stream, ", 95 %% interval %+.2f to %+.2f, probability of improvement %.3f", c->interval.low,
            c->interval.high, c->probability);
  putc('\n', stream);
}

bool report_write_summary(const struct report *report, FILE *stream) {
  struct linnet_score_sum sum = linnet_scorer_sum(report->scorer);
  char line[LINNET_SCORE_LINE];
  linnet_score_line(&sum.score, report->rate, line, sizeof line);
  fprintf(stream, "%s\n", line);
  if (report->interval_known)
    fprintf(stream, "95 %% interval %.2f to %.2f (bootstrap over %s, %ld resamples, seed %s)\n", report->interval.low,
            report->interval.high, report->by_speaker ? "speakers" : "utterances", report->resamples, report->seed);
  if (report->other)
    write_comparison(report, stream);
  fprintf(stream, "%%SER %.2f [ %zu / %zu ]\n",
          sum.num_utterances > 0 ? 100.0 * (double)sum.num_wrong / (double)sum.num_utterances : 0.0, sum.num_wrong,
          sum.num_utterances);
  fprintf(stream, "Scored %zu utterances, %zu not present in hyp.\n", sum.num_utterances, sum.num_missing);
  if (sum.num_missing > 0)
    write_missing(report, stream, sum.num_missing);
  return true;
}

/* Prints a number, or null if it is not finite. */
static void write_number(FILE *stream, const char *name, double value) {
  if (value - value == 0)
    fprintf(stream, ", \"%s\": %.10g", name, value);
  else
    fprintf(stream, ", \"%s\": null", name);
}

static void write_json_comparison(const struct report *report, FILE *stream) {
  const struct linnet_comparison *c = &report->comparison;
  fputs(", \"compare\": {\"file\": ", stream);
  tool_write_json_string(stream, report->other);
  write_number(stream, "percent", percent_of(&report->other_score));
  fprintf(stream, ", \"num_missing\": %zu", report->other_missing);
  write_number(stream, "difference", c->difference);
  write_number(stream, "low", report->interval_known ? c->interval.low : NAN);
  write_number(stream, "high", report->interval_known ? c->interval.high : NAN);
  write_number(stream, "standard_error", report->interval_known ? c->interval.standard_error : NAN);
  write_number(stream, "probability", report->interval_known ? c->probability : NAN);
  putc('}', stream);
}

static void write_json_missing(const struct report *report, FILE *stream) {
  bool first = true;
  fprintf(stream, ", \"missing\": [");
  for (size_t i = 0; i < linnet_scorer_num_utterances(report->scorer); i++) {
    struct linnet_scored_utterance u = linnet_scorer_utterance(report->scorer, i);
    if (!u.missing)
      continue;
    fputs(first ? "" : ", ", stream);
    tool_write_json_string(stream, u.id);
    first = false;
  }
  fputs("]", stream);
}

bool report_write_json(const struct report *report, FILE *stream) {
  struct linnet_score_sum sum = linnet_scorer_sum(report->scorer);
  const struct linnet_score *s = &sum.score;
  fprintf(stream, "{\"rate\": \"%s\"", report->rate);
  write_number(stream, "percent", percent_of(s));
  fprintf(stream, ", \"errors\": %zu, \"reference\": %zu, \"insertions\": %zu, \"deletions\": %zu", errors_of(s),
          s->num_reference, s->num_insertions, s->num_deletions);
  fprintf(stream, ", \"substitutions\": %zu, \"utterances\": %zu, \"utterances_wrong\": %zu", s->num_substitutions,
          sum.num_utterances, sum.num_wrong);
  if (report->interval_known) {
    write_number(stream, "low", report->interval.low);
    write_number(stream, "high", report->interval.high);
    write_number(stream, "standard_error", report->interval.standard_error);
    fprintf(stream, ", \"bootstrap\": {\"unit\": \"%s\", \"resamples\": %ld, \"seed\": %s}",
            report->by_speaker ? "speaker" : "utterance", report->resamples, report->seed);
  }
  if (report->other)
    write_json_comparison(report, stream);
  write_json_missing(report, stream);
  fputs("}\n", stream);
  return true;
}
