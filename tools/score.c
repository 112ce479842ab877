/* linnet score: error rates of hypotheses against references. */
#include <stdlib.h>
#include <string.h>

#include <linnet/score.h>

#include "tool.h"

enum { MAX_STDIN_BYTES = 1 << 28, MAX_LISTED = 20 };

static struct options {
  char *unit, *map, *ignore, *utt2spk, *per_utt, *per_speaker, *confusions, *trn, *oracle, *symbols;
  int strip_stress, allow_extra, json, by_speaker;
  long bootstrap, seed;
} options = {.bootstrap = 1000};

static const struct poptOption table[] = {
    {"unit", 'u', POPT_ARG_STRING, &options.unit, 0, "What tokens are: phone (line says %PER, default) or word (%WER)",
     "phone|word"},
    {"map", 'm', POPT_ARG_STRING, &options.map, 0, "Map tokens first: lines 'FROM TO', or 'FROM' to drop it", "FILE"},
    {"strip-stress", 's', POPT_ARG_NONE, &options.strip_stress, 0, "Drop stress digits: AH0 counts as AH", NULL},
    {"ignore", 0, POPT_ARG_STRING, &options.ignore, 0, "Drop these tokens, separated by spaces or commas", "TOKENS"},
    {"utt2spk", 0, POPT_ARG_STRING, &options.utt2spk, 0, "Speakers: lines 'UTTERANCE SPEAKER'", "FILE"},
    {"per-utt", 0, POPT_ARG_STRING, &options.per_utt, 0, "Write the alignment and counts of each utterance", "FILE"},
    {"per-speaker", 0, POPT_ARG_STRING, &options.per_speaker, 0, "Write a table of speakers (needs --utt2spk)", "FILE"},
    {"confusions", 0, POPT_ARG_STRING, &options.confusions, 0, "Write all confusions by their number", "FILE"},
    {"bootstrap", 'b', POPT_ARG_LONG, &options.bootstrap, 0,
     "Resamples for the 95 % interval (default 1000, 0: no interval)", "N"},
    {"by-speaker", 0, POPT_ARG_NONE, &options.by_speaker, 0, "The bootstrap draws speakers, not utterances", NULL},
    {"seed", 0, POPT_ARG_LONG, &options.seed, 0, "Seed of the bootstrap (default 0)", "S"},
    {"trn", 0, POPT_ARG_STRING, &options.trn, 0, "Write PREFIX.ref.trn and PREFIX.hyp.trn for NIST sclite", "PREFIX"},
    {"allow-extra", 0, POPT_ARG_NONE, &options.allow_extra, 0, "Leave out hypotheses that have no reference", NULL},
    {"oracle", 0, POPT_ARG_STRING, &options.oracle, 0,
     "HYP has several hypotheses, of which the nearest to REF is scored: lattice (Kaldi's text), nbest (ID-1, ID-2 "
     "...)",
     "lattice|nbest"},
    {"symbols", 0, POPT_ARG_STRING, &options.symbols, 0,
     "names of the numbers in a lattice (default: what stands there is compared)", "FILE"},
    {"json", 0, POPT_ARG_NONE, &options.json, 0, "Print the summary as one JSON object", NULL},
    {NULL, 0, POPT_ARG_INCLUDE_TABLE, tool_common_options, 0, "Common options:", NULL},
    POPT_TABLEEND};

/* --- inputs ----------------------------------------------------------------------------------------------------- */

static enum linnet_status load_transcripts(struct linnet_context *context, const char *path,
                                           struct linnet_transcripts **transcripts) {
  if (strcmp(path, "-") != 0)
    return linnet_transcripts_load(context, path, transcripts);
  size_t bytes;
  char *data = tool_read_stdin(MAX_STDIN_BYTES, &bytes);
  if (!data)
    return LINNET_ERROR_IO;
  enum linnet_status status = linnet_transcripts_load_memory(context, data, bytes, "standard input", transcripts);
  free(data);
  return status;
}

static enum linnet_status ignore_tokens(struct linnet_scorer *scorer, char *tokens) {
  enum linnet_status status = LINNET_OK;
  char *rest = NULL;
  for (char *token = strtok_r(tokens, " ,\t", &rest); token && status == LINNET_OK;
       token = strtok_r(NULL, " ,\t", &rest))
    status = linnet_scorer_ignore(scorer, token);
  return status;
}

static enum linnet_status make_scorer(struct linnet_context *context, struct linnet_scorer **scorer) {
  struct linnet_scorer_settings settings;
  linnet_scorer_settings_default(&settings);
  settings.strip_stress = options.strip_stress;
  settings.allow_extra = options.allow_extra;
  enum linnet_status status = linnet_scorer_create(context, &settings, scorer);
  if (status == LINNET_OK && options.map)
    status = linnet_scorer_load_map(*scorer, options.map);
  if (status == LINNET_OK && options.ignore)
    status = ignore_tokens(*scorer, options.ignore);
  return status;
}

/* What all ways to add hypotheses get. */
struct sources {
  const char *path; /* of the hypotheses */
  struct linnet_transcripts *reference, *speakers;
};

static enum linnet_status add_lattices(struct linnet_context *context, struct linnet_scorer *scorer,
                                       const struct sources *sources) {
  struct linnet_symbols *symbols = NULL;
  struct linnet_lattice_reader *reader = NULL;
  enum linnet_status status = options.symbols ? linnet_symbols_load(context, options.symbols, &symbols)
                                              : linnet_symbols_create(context, NULL, 0, &symbols);
  if (status == LINNET_OK)
    status = linnet_lattice_reader_open(context, strcmp(sources->path, "-") == 0 ? "/dev/stdin" : sources->path,
                                        options.symbols ? NULL : symbols, &reader);
  if (status == LINNET_OK)
    status = linnet_scorer_add_lattices(scorer, sources->reference, reader, symbols, sources->speakers);
  linnet_lattice_reader_destroy(reader);
  linnet_symbols_destroy(symbols);
  return status;
}

static enum linnet_status add_transcripts(struct linnet_context *context, struct linnet_scorer *scorer,
                                          const struct sources *sources) {
  struct linnet_transcripts *hypothesis = NULL;
  enum linnet_status status = load_transcripts(context, sources->path, &hypothesis);
  if (status == LINNET_OK)
    status = (options.oracle ? linnet_scorer_add_nbest : linnet_scorer_add_transcripts)(scorer, sources->reference,
                                                                                        hypothesis, sources->speakers);
  linnet_transcripts_destroy(hypothesis);
  return status;
}

/* Reads the files and aligns all utterances. */
static enum linnet_status fill_scorer(struct linnet_context *context, const char *reference_path,
                                      const char *hypothesis_path, struct linnet_scorer *scorer) {
  struct sources sources = {.path = hypothesis_path};
  bool lattices = options.oracle && strcmp(options.oracle, "lattice") == 0;
  enum linnet_status status = load_transcripts(context, reference_path, &sources.reference);
  if (status == LINNET_OK && options.utt2spk)
    status = load_transcripts(context, options.utt2spk, &sources.speakers);
  if (status == LINNET_OK)
    status = (lattices ? add_lattices : add_transcripts)(context, scorer, &sources);
  linnet_transcripts_destroy(sources.reference);
  linnet_transcripts_destroy(sources.speakers);
  return status;
}

/* --- tables ----------------------------------------------------------------------------------------------------- */

/* What all writers get. */
struct report {
  struct linnet_scorer *scorer;
  const char *rate; /* "PER" or "WER" */
  bool interval_known;
  struct linnet_interval interval;
};

/* Writes one table; false if it cannot be made. */
typedef bool (*write_fn)(const struct report *report, FILE *stream);

static size_t errors_of(const struct linnet_score *score) {
  return score->substitutions + score->insertions + score->deletions;
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

/* One row of an alignment, its columns as wide as their longest token. `row` is 0: reference, 1: hypothesis, 2: step.
 */
static void write_row(FILE *stream, const char *id, const struct linnet_score_pair *pairs, size_t count, int row) {
  static const char *const names[] = {"ref", "hyp", "op"};
  fprintf(stream, "%s %-3s", id, names[row]);
  for (size_t k = 0; k < count; k++) {
    const char *reference = pairs[k].reference ? pairs[k].reference : "***";
    const char *hypothesis = pairs[k].hypothesis ? pairs[k].hypothesis : "***";
    const char *text = row == 0 ? reference : row == 1 ? hypothesis : step_name(&pairs[k]);
    size_t width = longer(strlen(reference), strlen(hypothesis)), length = strlen(text);
    fprintf(stream, " %s", text);
    for (; length < width && k + 1 < count; length++)
      putc(' ', stream);
  }
  putc('\n', stream);
}

/* Kaldi's per-utterance details: rows ref, hyp, op and #csid (correct, substituted, inserted, deleted). */
static bool write_utterance(FILE *stream, const struct linnet_scorer *scorer, size_t index) {
  struct linnet_scored_utterance u = linnet_scorer_utterance(scorer, index);
  struct linnet_score_pair *pairs = malloc((u.pairs + 1) * sizeof *pairs);
  if (!pairs) {
    tool_fail("out of memory");
    return false;
  }
  linnet_scorer_alignment(scorer, index, pairs);
  for (int row = 0; row < 3; row++)
    write_row(stream, u.id, pairs, u.pairs, row);
  fprintf(stream, "%s #csid %zu %zu %zu %zu%s\n", u.id, u.score.reference - u.score.substitutions - u.score.deletions,
          u.score.substitutions, u.score.insertions, u.score.deletions, u.lost ? " lost" : "");
  free(pairs);
  return true;
}

static bool write_utterances(const struct report *report, FILE *stream) {
  for (size_t i = 0; i < linnet_scorer_utterances(report->scorer); i++)
    if (!write_utterance(stream, report->scorer, i))
      return false;
  return true;
}

static void write_sum(FILE *stream, const char *name, const struct linnet_score_sum *sum) {
  const struct linnet_score *s = &sum->score;
  fprintf(stream, "%s\t%zu\t%zu\t%zu\t%zu\t%zu\t%zu\t%.2f\t%.2f\n", name, sum->utterances, s->reference,
          s->reference - s->substitutions - s->deletions, s->substitutions, s->insertions, s->deletions,
          linnet_score_percent(s), sum->utterances > 0 ? 100.0 * (double)sum->wrong / (double)sum->utterances : 0.0);
}

static bool write_speakers(const struct report *report, FILE *stream) {
  fprintf(stream, "speaker\tutterances\ttokens\tcorrect\tsub\tins\tdel\t%%%s\t%%SER\n", report->rate);
  for (size_t i = 0; i < linnet_scorer_speakers(report->scorer); i++) {
    struct linnet_score_sum sum = linnet_scorer_speaker(report->scorer, i);
    write_sum(stream, sum.name, &sum);
  }
  struct linnet_score_sum total = linnet_scorer_sum(report->scorer);
  write_sum(stream, "ALL", &total);
  return true;
}

static bool write_confusions(const struct report *report, FILE *stream) {
  const struct linnet_confusion *list;
  size_t count;
  if (linnet_scorer_confusions(report->scorer, &list, &count) != LINNET_OK) {
    tool_fail("out of memory for the confusions");
    return false;
  }
  for (size_t i = 0; i < count; i++) {
    const struct linnet_score_pair *pair = &list[i].pair;
    const char *kind = !pair->reference ? "insertion" : !pair->hypothesis ? "deletion" : "substitution";
    fprintf(stream, "%zu\t%s\t%s\t%s\n", list[i].count, kind, pair->reference ? pair->reference : "***",
            pair->hypothesis ? pair->hypothesis : "***");
  }
  return true;
}

/* --- sclite ----------------------------------------------------------------------------------------------------- */

/* Lines "TOKENS (SPEAKER-ID)", as read by `sclite -s -i rm -r ref.trn trn -h hyp.trn trn`: what is before the first
 * '-' is the speaker, so that it may hold none. */
static bool write_trn(const struct report *report, FILE *stream, bool hypothesis) {
  for (size_t i = 0; i < linnet_scorer_utterances(report->scorer); i++) {
    struct linnet_scored_utterance u = linnet_scorer_utterance(report->scorer, i);
    struct linnet_score_pair *pairs = malloc((u.pairs + 1) * sizeof *pairs);
    if (!pairs) {
      tool_fail("out of memory");
      return false;
    }
    linnet_scorer_alignment(report->scorer, i, pairs);
    for (size_t k = 0; k < u.pairs; k++) {
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

static bool write_reference_trn(const struct report *report, FILE *stream) {
  return write_trn(report, stream, false);
}

static bool write_hypothesis_trn(const struct report *report, FILE *stream) {
  return write_trn(report, stream, true);
}

/* --- summary ---------------------------------------------------------------------------------------------------- */

static void write_lost(const struct report *report, FILE *stream, size_t lost) {
  size_t listed = 0;
  fprintf(stream, "Lost utterances, counted as deleted:");
  for (size_t i = 0; i < linnet_scorer_utterances(report->scorer) && listed < MAX_LISTED; i++) {
    struct linnet_scored_utterance u = linnet_scorer_utterance(report->scorer, i);
    if (!u.lost)
      continue;
    fprintf(stream, " %s", u.id);
    listed++;
  }
  if (lost > listed)
    fprintf(stream, " and %zu more (--per-utt lists all)", lost - listed);
  putc('\n', stream);
}

static bool write_summary(const struct report *report, FILE *stream) {
  struct linnet_score_sum sum = linnet_scorer_sum(report->scorer);
  char line[LINNET_SCORE_LINE];
  linnet_score_line(&sum.score, report->rate, line, sizeof line);
  fprintf(stream, "%s\n", line);
  if (report->interval_known)
    fprintf(stream, "95 %% interval %.2f to %.2f (bootstrap over %s, %ld resamples, seed %ld)\n", report->interval.low,
            report->interval.high, options.by_speaker ? "speakers" : "utterances", options.bootstrap, options.seed);
  fprintf(stream, "%%SER %.2f [ %zu / %zu ]\n",
          sum.utterances > 0 ? 100.0 * (double)sum.wrong / (double)sum.utterances : 0.0, sum.wrong, sum.utterances);
  fprintf(stream, "Scored %zu utterances, %zu not present in hyp.\n", sum.utterances, sum.lost);
  if (sum.lost > 0)
    write_lost(report, stream, sum.lost);
  return true;
}

/* A number, null if it is not finite. */
static void write_number(FILE *stream, const char *name, double value) {
  if (value - value == 0)
    fprintf(stream, ", \"%s\": %.10g", name, value);
  else
    fprintf(stream, ", \"%s\": null", name);
}

static void write_json_lost(const struct report *report, FILE *stream) {
  bool first = true;
  fprintf(stream, ", \"lost\": [");
  for (size_t i = 0; i < linnet_scorer_utterances(report->scorer); i++) {
    struct linnet_scored_utterance u = linnet_scorer_utterance(report->scorer, i);
    if (!u.lost)
      continue;
    fputs(first ? "" : ", ", stream);
    tool_write_json_string(stream, u.id);
    first = false;
  }
  fputs("]", stream);
}

static bool write_json(const struct report *report, FILE *stream) {
  struct linnet_score_sum sum = linnet_scorer_sum(report->scorer);
  const struct linnet_score *s = &sum.score;
  fprintf(stream, "{\"rate\": \"%s\"", report->rate);
  write_number(stream, "percent", linnet_score_percent(s));
  fprintf(stream, ", \"errors\": %zu, \"reference\": %zu, \"insertions\": %zu, \"deletions\": %zu", errors_of(s),
          s->reference, s->insertions, s->deletions);
  fprintf(stream, ", \"substitutions\": %zu, \"utterances\": %zu, \"utterances_wrong\": %zu", s->substitutions,
          sum.utterances, sum.wrong);
  if (report->interval_known) {
    write_number(stream, "low", report->interval.low);
    write_number(stream, "high", report->interval.high);
    write_number(stream, "standard_error", report->interval.standard_error);
    fprintf(stream, ", \"bootstrap\": {\"unit\": \"%s\", \"resamples\": %ld, \"seed\": %ld}",
            options.by_speaker ? "speaker" : "utterance", options.bootstrap, options.seed);
  }
  write_json_lost(report, stream);
  fputs("}\n", stream);
  return true;
}

/* --- the command ------------------------------------------------------------------------------------------------ */

static bool write_table(const struct report *report, const char *path, write_fn write) {
  struct tool_output output;
  if (!tool_output_open(&output, path))
    return false;
  if (write(report, output.stream))
    return tool_output_commit(&output);
  tool_output_abandon(&output);
  return false;
}

static bool write_trn_files(const struct report *report) {
  static const struct {
    const char *suffix;
    write_fn write;
  } files[] = {{"ref.trn", write_reference_trn}, {"hyp.trn", write_hypothesis_trn}};
  for (size_t i = 0; i < 2; i++) {
    char path[4096];
    if (snprintf(path, sizeof path, "%s.%s", options.trn, files[i].suffix) >= (int)sizeof path) {
      tool_fail("--trn: the prefix is too long");
      return false;
    }
    if (!write_table(report, path, files[i].write))
      return false;
  }
  return true;
}

static bool write_all(const struct report *report) {
  return (!options.per_utt || write_table(report, options.per_utt, write_utterances)) &&
         (!options.per_speaker || write_table(report, options.per_speaker, write_speakers)) &&
         (!options.confusions || write_table(report, options.confusions, write_confusions)) &&
         (!options.trn || write_trn_files(report)) &&
         write_table(report, "-", options.json ? write_json : write_summary);
}

static enum linnet_status compute_interval(struct report *report) {
  report->interval_known = options.bootstrap > 0 && linnet_scorer_utterances(report->scorer) > 0;
  if (!report->interval_known)
    return LINNET_OK;
  return linnet_scorer_bootstrap(report->scorer,
                                 options.by_speaker ? LINNET_BOOTSTRAP_SPEAKER : LINNET_BOOTSTRAP_UTTERANCE,
                                 (size_t)options.bootstrap, (uint64_t)options.seed, &report->interval);
}

static int score(struct linnet_context *context, const char *reference, const char *hypothesis) {
  bool words = options.unit && strcmp(options.unit, "word") == 0;
  struct report report = {.rate = words ? "WER" : "PER"};
  enum linnet_status status = make_scorer(context, &report.scorer);
  if (status == LINNET_OK)
    status = fill_scorer(context, reference, hypothesis, report.scorer);
  if (status == LINNET_OK)
    status = compute_interval(&report);
  int code = TOOL_FAILURE;
  if (status != LINNET_OK)
    tool_fail_context(context);
  else if (write_all(&report))
    code = TOOL_OK;
  linnet_scorer_destroy(report.scorer);
  return code;
}

/* Options that contradict each other or are out of range. */
static bool check_options(const char *const *files) {
  if (options.unit && strcmp(options.unit, "word") != 0 && strcmp(options.unit, "phone") != 0)
    tool_usage("--unit %s: must be phone or word", options.unit);
  else if (options.bootstrap < 0 || options.bootstrap > 1000000)
    tool_usage("--bootstrap %ld: must be 0 to 1000000", options.bootstrap);
  else if ((options.per_speaker || options.by_speaker) && !options.utt2spk)
    tool_usage("--per-speaker and --by-speaker need --utt2spk FILE");
  else if (options.oracle && strcmp(options.oracle, "lattice") != 0 && strcmp(options.oracle, "nbest") != 0)
    tool_usage("--oracle %s: must be lattice or nbest", options.oracle);
  else if (options.symbols && (!options.oracle || strcmp(options.oracle, "lattice") != 0))
    tool_usage("--symbols %s: needs --oracle lattice", options.symbols);
  else if (strcmp(files[0], "-") == 0 && strcmp(files[1], "-") == 0)
    tool_usage("only one of REF and HYP can be standard input");
  else
    return true;
  return false;
}

int tool_score(int argc, const char **argv) {
  poptContext parsed = tool_parse(argc, argv, table, "[OPTIONS] REF HYP", NULL, NULL);
  if (!parsed)
    return TOOL_USAGE;
  size_t count;
  const char **files = tool_arguments(parsed, 2, 2, &count);
  int code = TOOL_USAGE;
  if (files && check_options(files)) {
    struct linnet_context *context = tool_context();
    code = context ? score(context, files[0], files[1]) : TOOL_FAILURE;
    linnet_context_destroy(context);
  }
  poptFreeContext(parsed);
  return code;
}
