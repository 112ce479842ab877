/* linnet score: error rates of hypotheses against references. */
#include <errno.h>
#include <inttypes.h>
#include <linnet/lattice.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "common/separate.h"
#include "common/tool.h"
#include "score_formats.h"
#include "score_report.h"
#include "score_warnings.h"

enum { MAX_BYTES = 1 << 28 };
enum { MIN_RESAMPLES = 40 }; /* an interval of 95 % leaves one out at either end */

static struct options {
  char *unit, *map, *ignore, *utt2spk, *compare, *per_utt, *per_speaker, *confusions, *trn, *oracle, *symbols, *seed;
  int strip_stress, ignore_case, allow_extra, json, by_speaker;
  long bootstrap;
  uint64_t seed_value;
  char seed_text[24]; /* the value in decimal digits */
} options = {.bootstrap = 1000, .seed_text = "0"};

static const struct poptOption table[] = {
    {"unit", 'u', POPT_ARG_STRING, &options.unit, 0, "what tokens are: phone (default; prints %PER) or word (%WER)",
     "phone|word"},
    {"map", 'm', TOOL_INPUT, &options.map, 0,
     "replace tokens first, lines 'FROM TO', or 'FROM' to drop it; with --strip-stress, FROM may lack the digit "
     "(default: replace none)",
     "FILE"},
    {"strip-stress", 's', POPT_ARG_NONE, &options.strip_stress, 0,
     "drop stress digits, so that AH0 counts as AH (default: keep them)", NULL},
    {"ignore-case", 'i', POPT_ARG_NONE, &options.ignore_case, 0, "compare tokens in lower case (default: case matters)",
     NULL},
    {"ignore", 0, POPT_ARG_STRING, &options.ignore, 0,
     "drop these tokens, separated by spaces or commas (default: none)", "TOKENS"},
    {"utt2spk", 0, TOOL_INPUT, &options.utt2spk, 0,
     "speaker of each utterance, lines 'UTTERANCE SPEAKER' (default: no speakers)", "FILE"},
    {"per-utt", 0, TOOL_OUTPUT, &options.per_utt, 0,
     "write the alignment and the counts of each utterance (default: none)", "FILE"},
    {"per-speaker", 0, TOOL_OUTPUT, &options.per_speaker, 0,
     "write a table of speakers; needs --utt2spk (default: none)", "FILE"},
    {"confusions", 0, TOOL_OUTPUT, &options.confusions, 0, "write all confusions, most frequent first (default: none)",
     "FILE"},
    {"bootstrap", 'b', POPT_ARG_LONG, &options.bootstrap, 0,
     "number of bootstrap samples for the 95 % interval, at least 40; 0: no interval (default 1000)", "N"},
    {"by-speaker", 0, POPT_ARG_NONE, &options.by_speaker, 0, "resample speakers; needs --utt2spk (default: utterances)",
     NULL},
    {"seed", 0, POPT_ARG_STRING, &options.seed, 0, "seed of the bootstrap (default 0)", "S"},
    {"compare", 0, TOOL_INPUT, &options.compare, 0,
     "score these hypotheses of the same utterances, too: difference of the rates, its 95 % interval, probability "
     "that these are better (default: none)",
     "HYP2"},
    {"trn", 0, POPT_ARG_STRING, &options.trn, 0,
     "write PREFIX.ref.trn and PREFIX.hyp.trn for NIST sclite (default: none)", "PREFIX"},
    {"allow-extra", 0, POPT_ARG_NONE, &options.allow_extra, 0,
     "skip hypotheses that have no reference (default: an error)", NULL},
    {"oracle", 0, POPT_ARG_STRING, &options.oracle, 0,
     "score the hypothesis nearest to REF; HYP has lattices in Kaldi's text form, or nbest lists of ID-1, ID-2, ... "
     "(default: one hypothesis each)",
     "lattice|nbest"},
    {"symbols", 0, TOOL_INPUT, &options.symbols, 0,
     "names of the numbers in a lattice (default: compare them as they are)", "FILE"},
    {"json", 0, POPT_ARG_NONE, &options.json, 0, "print the summary as one JSON object (default: text)", NULL},
    {NULL, 0, POPT_ARG_INCLUDE_TABLE, tool_plain_options, 0, "Common options:", NULL},
    POPT_TABLEEND};

/* --- inputs ----------------------------------------------------------------------------------------------------- */

/* Prints the error of a call that failed; true if it did not. */
static bool succeeded(const struct linnet_context *context, enum linnet_status status) {
  if (status != LINNET_OK)
    tool_fail_context(context);
  return status == LINNET_OK;
}

static const char *name_of(const char *path) {
  return strcmp(path, "-") == 0 ? "standard input" : path;
}

/* For functions that open a file. */
static const char *stream_of(const char *path) {
  return strcmp(path, "-") == 0 ? "/dev/stdin" : path;
}

/* Reads a file once, because it may be a pipe. A list of speakers can have the shape of another format. */
static bool load_transcripts(struct linnet_context *context, const char *path, bool speakers,
                             struct linnet_transcripts **transcripts) {
  size_t bytes;
  const char *name = name_of(path);
  char *data = tool_read_file(path, MAX_BYTES, &bytes);
  const bool good = data && (speakers || score_formats_check(name, data)) &&
                    succeeded(context, linnet_transcripts_load_memory(context, data, bytes, name, transcripts));
  if (good)
    tool_note("%s: transcripts of %zu utterance%s", name, linnet_transcripts_num_utterances(*transcripts),
              linnet_plural(linnet_transcripts_num_utterances(*transcripts)));
  free(data);
  return good;
}

static enum linnet_status ignore_tokens(struct linnet_context *context, struct linnet_scorer *scorer) {
  char *tokens = strdup(options.ignore), *rest = NULL;
  enum linnet_status status =
      tokens ? LINNET_OK : linnet_context_fail(context, LINNET_ERROR_MEMORY, "out of memory for --ignore");
  for (char *token = tokens ? strtok_r(tokens, " ,\t", &rest) : NULL; token && status == LINNET_OK;
       token = strtok_r(NULL, " ,\t", &rest))
    status = linnet_scorer_ignore(scorer, token);
  free(tokens);
  return status;
}

static bool make_scorer(struct linnet_context *context, struct linnet_scorer **scorer) {
  struct linnet_scorer_settings settings;
  linnet_scorer_settings_default(&settings);
  settings.strip_stress = options.strip_stress;
  settings.allow_extra = options.allow_extra;
  settings.fold_case = options.ignore_case;
  enum linnet_status status = linnet_scorer_create(context, &settings, scorer);
  if (status == LINNET_OK && options.map)
    status = linnet_scorer_load_map(*scorer, stream_of(options.map));
  if (status == LINNET_OK && options.ignore)
    status = ignore_tokens(context, *scorer);
  return succeeded(context, status);
}

/* The arguments of all functions that add hypotheses. */
struct sources {
  const char *path; /* of the hypotheses */
  struct linnet_transcripts *reference, *speakers;
};

static bool add_lattices(struct linnet_context *context, struct linnet_scorer *scorer, const struct sources *sources) {
  struct linnet_symbols *symbols = NULL;
  struct linnet_lattice_reader *reader = NULL;
  enum linnet_status status = options.symbols ? linnet_symbols_load(context, stream_of(options.symbols), &symbols)
                                              : linnet_symbols_create(context, NULL, 0, &symbols);
  if (status == LINNET_OK)
    status = linnet_lattice_reader_open(context, stream_of(sources->path), options.symbols ? NULL : symbols, &reader);
  if (status == LINNET_OK)
    status = linnet_scorer_add_lattices(scorer, sources->reference, reader, symbols, sources->speakers);
  linnet_lattice_reader_destroy(reader);
  linnet_symbols_destroy(symbols);
  return succeeded(context, status);
}

static bool add_transcripts(struct linnet_context *context, struct linnet_scorer *scorer,
                            const struct sources *sources) {
  struct linnet_transcripts *hypothesis = NULL;
  bool good = load_transcripts(context, sources->path, false, &hypothesis) &&
              (options.oracle || score_formats_check_ids(name_of(sources->path), sources->reference, hypothesis));
  if (good)
    good = succeeded(context, (options.oracle ? linnet_scorer_add_nbest : linnet_scorer_add_transcripts)(
                                  scorer, sources->reference, hypothesis, sources->speakers));
  linnet_transcripts_destroy(hypothesis);
  return good;
}

/* Reads the files and aligns all utterances. */
static bool fill_scorer(struct linnet_context *context, const char *reference_path, const char *hypothesis_path,
                        struct linnet_scorer *scorer) {
  struct sources sources = {.path = hypothesis_path};
  const bool lattices = options.oracle && strcmp(options.oracle, "lattice") == 0;
  const bool good = load_transcripts(context, reference_path, false, &sources.reference) &&
                    (!options.utt2spk || load_transcripts(context, options.utt2spk, true, &sources.speakers)) &&
                    (lattices ? add_lattices : add_transcripts)(context, scorer, &sources);
  linnet_transcripts_destroy(sources.reference);
  linnet_transcripts_destroy(sources.speakers);
  return good;
}

/* --- the command ------------------------------------------------------------------------------------------------ */

static bool write_table(const struct report *report, const char *path, report_fn write) {
  struct tool_output output;
  if (!tool_output_open(&output, path))
    return false;
  if (write(report, output.stream))
    return tool_output_commit(&output);
  tool_output_abandon(&output);
  return false;
}

static const struct {
  const char *suffix;
  report_fn write;
} trn_files[] = {{"ref.trn", report_write_reference_trn}, {"hyp.trn", report_write_hypothesis_trn}};

/* Writes the files of --trn; without a report only checks their names. */
static bool handle_trn_files(const struct report *report) {
  for (size_t i = 0; i < 2; i++) {
    char path[4096];
    if (snprintf(path, sizeof path, "%s.%s", options.trn, trn_files[i].suffix) >= (int)sizeof path) {
      tool_fail("--trn: the prefix is too long");
      return false;
    }
    if (!(report ? write_table(report, path, trn_files[i].write) : separate_check_output("trn", path)))
      return false;
  }
  return true;
}

static bool write_all(const struct report *report) {
  if (options.per_utt || options.per_speaker || options.confusions || options.trn)
    tool_catch_interrupt();
  return (!options.per_utt || write_table(report, options.per_utt, report_write_utterances)) &&
         (!options.per_speaker || write_table(report, options.per_speaker, report_write_speakers)) &&
         (!options.confusions || write_table(report, options.confusions, report_write_confusions)) &&
         (!options.trn || handle_trn_files(report)) &&
         write_table(report, "-", options.json ? report_write_json : report_write_summary);
}

/* Resamples of one unit are all the same. */
static void choose_unit(struct report *report) {
  report->by_speaker = options.by_speaker && linnet_scorer_num_speakers(report->scorer) > 1;
  if (options.by_speaker && !report->by_speaker)
    tool_warn("--by-speaker: all utterances are of one speaker, so the interval is over utterances");
}

static enum linnet_bootstrap_unit bootstrap_unit(const struct report *report) {
  return report->by_speaker ? LINNET_BOOTSTRAP_SPEAKER : LINNET_BOOTSTRAP_UTTERANCE;
}

static bool compute_interval(const struct linnet_context *context, struct report *report) {
  if (options.bootstrap == 0 || linnet_scorer_num_utterances(report->scorer) < 2)
    return true;
  choose_unit(report);
  if (!succeeded(context, linnet_scorer_bootstrap(report->scorer, bootstrap_unit(report), (size_t)options.bootstrap,
                                                  options.seed_value, &report->interval)))
    return false;
  report->interval_known = isfinite(report->interval.low);
  return true;
}

/* Scores the hypotheses of --compare. */
static bool compare(struct linnet_context *context, const char *reference, struct report *report) {
  struct linnet_scorer *other = NULL;
  bool good = make_scorer(context, &other) && fill_scorer(context, reference, options.compare, other) &&
              score_warnings_print(context, other, NULL, options.compare);
  if (good)
    good =
        succeeded(context, linnet_scorer_compare(report->scorer, other, bootstrap_unit(report),
                                                 (size_t)options.bootstrap, options.seed_value, &report->comparison));
  if (good) {
    const struct linnet_score_sum sum = linnet_scorer_sum(other);
    report->other_score = sum.score;
    report->other_missing = sum.num_missing;
  }
  linnet_scorer_destroy(other);
  return good;
}

/* What follows from the counts: interval, comparison, outputs. Without reference tokens there are counts alone, and
 * false is returned. */
static bool evaluate(struct linnet_context *context, const char *reference, const char *hypothesis,
                     struct report *report) {
  if (linnet_scorer_sum(report->scorer).score.num_reference > 0) {
    report->other = options.compare;
    return score_warnings_print(context, report->scorer, name_of(reference), name_of(hypothesis)) &&
           compute_interval(context, report) && (!options.compare || compare(context, reference, report)) &&
           write_all(report);
  }
  if (write_all(report))
    tool_fail("%s: no utterance has a %s%s, so there is no error rate", name_of(reference), report->unit,
              options.map || options.ignore ? " that --map and --ignore leave" : "");
  return false;
}

static int score(struct linnet_context *context, const char *reference, const char *hypothesis) {
  bool words = options.unit && strcmp(options.unit, "word") == 0;
  struct report report = {.rate = words ? "WER" : "PER",
                          .unit = words ? "word" : "phone",
                          .resamples = options.bootstrap,
                          .seed = options.seed_text};
  const bool good = make_scorer(context, &report.scorer) &&
                    fill_scorer(context, reference, hypothesis, report.scorer) &&
                    evaluate(context, reference, hypothesis, &report);
  linnet_scorer_destroy(report.scorer);
  return tool_interrupted() ? TOOL_INTERRUPTED : good ? TOOL_OK : TOOL_FAILURE;
}

/* From -2^63 to 2^64 - 1. popt would take the nearest number for one that is too large. */
static bool read_seed(void) {
  char *end = NULL;
  const bool negative = strchr(options.seed, '-') != NULL;
  errno = 0;
  options.seed_value =
      negative ? (uint64_t)strtoll(options.seed, &end, 10) : (uint64_t)strtoull(options.seed, &end, 10);
  snprintf(options.seed_text, sizeof options.seed_text, negative ? "%" PRId64 : "%" PRIu64, options.seed_value);
  return errno == 0 && *options.seed && !*end;
}

/* The inputs. --compare reads the first TWICE of them twice; the last is HYP. */
struct input {
  const char *name, *path;
};
enum { TWICE = 4, INPUTS };

static bool is_stream(const struct input *input) {
  return input->path && strcmp(input->path, "-") == 0;
}

/* False, after printing so, if standard input would be read twice. */
static bool check_streams(const struct input inputs[INPUTS]) {
  const char *first = NULL; /* the input that reads it */
  for (size_t i = 0; i < INPUTS; i++) {
    if (first && is_stream(&inputs[i])) {
      tool_usage("only one of %s and %s can be standard input", first, inputs[i].name);
      return false;
    }
    first = is_stream(&inputs[i]) ? inputs[i].name : first;
  }
  return true;
}

/* The same for what --compare reads twice. */
static bool check_compare(const struct input inputs[INPUTS]) {
  bool good = !is_stream(&inputs[0]) && strcmp(options.compare, "-") != 0;
  if (!good)
    tool_usage("--compare: REF and HYP2 cannot be standard input");
  for (size_t i = 0; good && i < TWICE; i++) {
    good = !is_stream(&inputs[i]);
    if (!good)
      tool_usage("--compare: %s is read twice, so it cannot be standard input", inputs[i].name);
    good = good && tool_check_regular(inputs[i].name, inputs[i].path);
  }
  return good;
}

static bool check_inputs(const char **files) {
  const struct input inputs[INPUTS] = {{"REF", files[0]},
                                       {"--map", options.map},
                                       {"--utt2spk", options.utt2spk},
                                       {"--symbols", options.symbols},
                                       {"HYP", files[1]}};
  return check_streams(inputs) && (!options.compare || check_compare(inputs));
}

/* Refuses options that contradict each other or are out of range. */
static int check_options(const char **files, size_t count) {
  (void)count;
  if (options.unit && strcmp(options.unit, "word") != 0 && strcmp(options.unit, "phone") != 0)
    return tool_usage("--unit %s: must be phone or word", options.unit);
  if (options.bootstrap != 0 && (options.bootstrap < MIN_RESAMPLES || options.bootstrap > 1000000))
    return tool_usage("--bootstrap %ld: must be 0, or %d to 1000000", options.bootstrap, MIN_RESAMPLES);
  if ((options.per_speaker || options.by_speaker) && !options.utt2spk)
    return tool_usage("--per-speaker and --by-speaker need --utt2spk FILE");
  if (options.oracle && strcmp(options.oracle, "lattice") != 0 && strcmp(options.oracle, "nbest") != 0)
    return tool_usage("--oracle %s: must be lattice or nbest", options.oracle);
  if (options.symbols && (!options.oracle || strcmp(options.oracle, "lattice") != 0))
    return tool_usage("--symbols %s: needs --oracle lattice", options.symbols);
  if (options.seed && !read_seed())
    return tool_usage("--seed %s: must be a whole number of 64 bits", options.seed);
  if (options.seed && options.bootstrap == 0)
    return tool_usage("--seed %s: needs the samples of --bootstrap", options.seed);
  if (options.compare && options.bootstrap == 0)
    return tool_usage("--compare %s: needs the samples of --bootstrap", options.compare);
  if (!check_inputs(files))
    return TOOL_USAGE;
  if (options.json && !separate_check_default("json"))
    return TOOL_USAGE;
  return options.trn && !handle_trn_files(NULL) ? TOOL_USAGE : TOOL_OK;
}

static int run(struct linnet_context *context, const char **files, size_t count) {
  (void)count;
  return score(context, files[0], files[1]);
}

int tool_score(int argc, const char **argv) {
  const struct tool_command command = {.options = table,
                                       .usage = "[OPTIONS] REF HYP",
                                       .needed = "REF HYP",
                                       .max_arguments = 2,
                                       .check = check_options,
                                       .run = run};
  return tool_run(argc, argv, &command);
}
