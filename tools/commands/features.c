/* linnet features: filterbank features of a data folder or of audio files, as Kaldi archives. */
#include "features_job.h"

#include "common/inputs.h"

#include <stdlib.h>
#include <string.h>

#include "common/separate.h"
#include "common/tool.h"

static struct {
  char *ark, *scp, *num_frames, *compress, *cmvn, *cmvn_frames, *statistics, *statistics_scp, *given;
  struct raw_options raw;
  int text, wide, variance, run_commands, num_mel, channel;
  double max_seconds, dither, prior, memory, speed;
  long long dither_seed;
  struct linnet_fbank_settings fbank;
} options;

/* A word of a list: its index, or -1. */
static int choose(const char *word, const char *const *words, int count) {
  for (int i = 0; i < count; i++)
    if (strcmp(word, words[i]) == 0)
      return i;
  return -1;
}

static bool read_form(enum linnet_kaldi_form *form) {
  static const char *const names[] = {"cm", "cm2", "cm3"};
  static const enum linnet_kaldi_form forms[] = {LINNET_KALDI_CM, LINNET_KALDI_CM2, LINNET_KALDI_CM3};
  *form = options.text ? LINNET_KALDI_TEXT : options.wide ? LINNET_KALDI_DOUBLE : LINNET_KALDI_FLOAT;
  if ((options.compress != NULL) + (options.text != 0) + (options.wide != 0) > 1) {
    tool_usage("only one of --compress, --text and --double");
    return false;
  }
  if (!options.compress)
    return true;
  int choice = choose(options.compress, names, 3);
  if (choice < 0) {
    tool_usage("--compress %s: must be cm, cm2 or cm3", options.compress);
    return false;
  }
  *form = forms[choice];
  return true;
}

static bool read_cmvn(struct features_job *job) {
  static const char *const names[] = {"none", "utterance", "speaker", "global", "running"}; /* enum linnet_cmvn_kind */
  int choice = choose(options.cmvn, names, 5);
  if (choice < 0) {
    tool_usage("--cmvn %s: must be none, utterance, speaker, global or running", options.cmvn);
    return false;
  }
  job->cmvn = (enum linnet_cmvn_kind)choice;
  static const char *const frames[] = {"all", "speech"}; /* as enum linnet_cmvn_frames */
  if (options.cmvn_frames && job->cmvn == LINNET_CMVN_NONE && !options.statistics)
    tool_warn("--cmvn-frames has no effect without --cmvn and --cmvn-stats");
  choice = options.cmvn_frames ? choose(options.cmvn_frames, frames, 2) : LINNET_CMVN_ALL_FRAMES;
  if (choice < 0) {
    tool_usage("--cmvn-frames %s: must be all or speech", options.cmvn_frames);
    return false;
  }
  job->cmvn_frames = (enum linnet_cmvn_frames)choice;
  job->variance = options.variance;
  if (job->variance && job->cmvn == LINNET_CMVN_NONE) {
    tool_usage("--cmvn-variance needs --cmvn");
    return false;
  }
  return true;
}

/* The options that belong to some kinds of --cmvn only. */
static bool read_statistics(struct features_job *job) {
  const bool prior = options.prior != TOOL_NOT_GIVEN, memory = options.memory != TOOL_NOT_GIVEN;
  if ((prior || memory) && job->cmvn != LINNET_CMVN_RUNNING) {
    tool_usage("%s needs --cmvn running", prior ? "--cmvn-prior" : "--cmvn-memory");
    return false;
  }
  job->prior = prior ? options.prior : 100;
  if (!(job->prior >= 1 && job->prior <= 1e6)) {
    tool_usage("--cmvn-prior %g: must be 1 to 1000000", job->prior);
    return false;
  }
  job->memory = memory ? options.memory : 0;
  if (!(job->memory == 0 || (job->memory >= 1 && job->memory <= 1e6))) {
    tool_usage("--cmvn-memory %g: must be 0, or 1 to 1000000", job->memory);
    return false;
  }
  if (options.given && !features_are_global(job)) {
    tool_usage("--cmvn-from needs --cmvn global or running");
    return false;
  }
  if (options.given && options.cmvn_frames && job->cmvn == LINNET_CMVN_GLOBAL) {
    tool_usage("--cmvn-frames has no effect on the statistics of --cmvn-from: omit one of them");
    return false;
  }
  if (options.statistics_scp && (!options.statistics || features_are_global(job))) {
    tool_usage("--cmvn-scp needs --cmvn-stats of speakers");
    return false;
  }
  return true;
}

static bool read_audio(struct features_job *job) {
  linnet_audio_settings_default(&job->audio);
  job->audio.sample_rate = job->fbank.sample_rate;
  if (!audio_options_check(&options.raw, options.channel, options.max_seconds))
    return false;
  if (options.channel != TOOL_NO_INTEGER)
    job->audio.channel = options.channel;
  job->audio.max_seconds = options.max_seconds != TOOL_NOT_GIVEN ? options.max_seconds
                           : options.raw.format                  ? TOOL_RAW_SECONDS
                                                                 : 0;
  raw_options_read(&options.raw, &job->audio);
  return true;
}

static void read_dither(struct features_job *job) {
  const bool seeded = options.dither_seed != LLONG_MIN;
  job->fbank.dither_seed = seeded ? (uint64_t)options.dither_seed : 0;
  if (seeded && job->fbank.dither == 0)
    tool_warn("--dither-seed has no effect without --dither above 0");
}

static bool read_options(struct features_job *job, enum linnet_kaldi_form *form) {
  if (!options.ark) {
    tool_usage("--out FILE is missing: it is the archive of the features");
    return false;
  }
  if (!tool_check_script(options.ark, options.scp) || !tool_check_script(options.statistics, options.statistics_scp))
    return false;
  job->fbank = options.fbank;
  job->fbank.num_mel = options.num_mel > 0 ? (size_t)options.num_mel : 0; /* 0 is refused */
  read_dither(job);
  job->run_commands = options.run_commands;
  job->speed = options.speed;
  if (!(job->speed >= 0.5 && job->speed <= 2)) {
    tool_usage("--speed %g: must be 0.5 to 2", job->speed);
    return false;
  }
  return read_form(form) && read_cmvn(job) && read_statistics(job) && read_audio(job);
}

/* --- statistics --------------------------------------------------------------------------------------------------- */

/* Statistics per speaker, or one set if they are global; none if they are neither written nor applied. */
static bool prepare_statistics(struct linnet_context *context, struct features_job *job) {
  bool applied = job->cmvn == LINNET_CMVN_SPEAKER || features_are_global(job);
  if (!applied && !options.statistics)
    return true;
  size_t count = features_are_global(job) ? 1 : job->input.speakers;
  job->statistics = calloc(count + 1, sizeof *job->statistics);
  if (!job->statistics) {
    tool_fail("out of memory for the statistics of %zu speakers", count);
    return false;
  }
  for (size_t i = 0; i < count; i++)
    linnet_cmvn_reset(&job->statistics[i], job->fbank.num_mel);
  if (!options.given)
    return true;
  job->statistics_given = true;
  if (linnet_cmvn_read(context, options.given, job->statistics) != LINNET_OK) {
    tool_fail_context(context);
    return false;
  }
  if (job->statistics->dim == job->fbank.num_mel && job->statistics->count > 0)
    return true;
  tool_fail("%s: the CMVN statistics have %zu dimensions and %g frames, but the features have %zu dimensions",
            options.given, job->statistics->dim, job->statistics->count, job->fbank.num_mel);
  return false;
}

static enum linnet_status write_speakers(struct linnet_context *context, const struct features_job *job) {
  struct linnet_ark_writer *writer = NULL;
  enum linnet_status status =
      linnet_ark_writer_create(context, tool_output_path(options.statistics), tool_output_path(options.statistics_scp),
                               options.text ? LINNET_KALDI_TEXT : LINNET_KALDI_DOUBLE, &writer);
  for (size_t i = 0; i < job->input.speakers && status == LINNET_OK; i++) {
    const char *name = job->input.folder ? linnet_data_folder_speaker_name(job->input.folder, i) : job->input.ids[i];
    if (job->statistics[i].count > 0)
      status = linnet_ark_write_cmvn(writer, name, &job->statistics[i]);
  }
  if (status == LINNET_OK)
    status = linnet_ark_writer_commit(writer);
  linnet_ark_writer_destroy(writer);
  return status;
}

static int write_statistics(struct linnet_context *context, const struct features_job *job) {
  if (!options.statistics)
    return TOOL_OK;
  enum linnet_status status = features_are_global(job)
                                  ? linnet_cmvn_write(context, tool_output_path(options.statistics), job->statistics)
                                  : write_speakers(context, job);
  return status == LINNET_OK ? TOOL_OK : tool_fail_context(context);
}

/* Lines "utterance frames", of the utterances that have been written. */
static bool write_lengths(const struct features_job *job) {
  struct tool_output output;
  if (!options.num_frames)
    return true;
  if (!tool_output_open(&output, options.num_frames))
    return false;
  for (size_t i = 0; i < job->input.count; i++)
    if (job->frames[i] > 0)
      fprintf(output.stream, "%s %zu\n", features_id(&job->input, i), job->frames[i]);
  return tool_output_commit(&output);
}

/* --- all together ------------------------------------------------------------------------------------------------- */

/* The failed utterances have been reported; the others are worth keeping. */
static int keep(struct linnet_context *context, const struct features_job *job, int code) {
  if (code == TOOL_INTERRUPTED)
    return code;
  if (linnet_ark_writer_commit(job->writer) != LINNET_OK)
    return tool_fail_context(context);
  if (!write_lengths(job))
    return TOOL_FAILURE;
  int written = write_statistics(context, job);
  return written == TOOL_OK ? code : written;
}

/* The filterbank's settings are checked before anything else is done. */
static bool check_fbank(struct linnet_context *context, const struct features_job *job) {
  struct linnet_fbank *fbank = NULL;
  bool good = linnet_fbank_create(context, &job->fbank, &fbank) == LINNET_OK;
  if (!good)
    tool_fail_context(context);
  linnet_fbank_destroy(fbank);
  return good;
}

static int run_job(struct linnet_context *context, struct features_job *job, enum linnet_kaldi_form form) {
  if (!check_fbank(context, job) || !prepare_statistics(context, job))
    return TOOL_FAILURE;
  if (job->input.count == 0)
    return tool_fail("there are no utterances");
  if (linnet_ark_writer_create(context, tool_output_path(options.ark), tool_output_path(options.scp), form,
                               &job->writer) != LINNET_OK)
    return tool_fail_context(context);
  int code = features_run(context, job);
  if (job->written > 0)
    code = keep(context, job, code);
  linnet_ark_writer_destroy(job->writer);
  return code;
}

static int check_folder(const char **paths, size_t count) {
  return count != 1 || separate_check_data(paths[0]) ? TOOL_OK : TOOL_USAGE;
}

static int run(struct linnet_context *context, const char **paths, size_t count) {
  struct features_job job = {0};
  struct linnet_data_folder *folder = NULL;
  enum linnet_kaldi_form form;
  if (!read_options(&job, &form))
    return TOOL_USAGE;
  int code = features_input_open(context, paths, count, &folder, &job.input);
  if (code == TOOL_OK && options.run_commands && !folder)
    code = tool_usage("--run-commands needs a data folder: files are read as they are");
  if (code == TOOL_OK)
    code = run_job(context, &job, form);
  free(job.statistics);
  free(job.frames);
  features_input_close(&job.input);
  linnet_data_folder_destroy(folder);
  return code;
}

/* --- command line ------------------------------------------------------------------------------------------------- */

static struct poptOption output_table[] = {
    {"out", 'o', TOOL_ARCHIVE, &options.ark, 0,
     "archive to write; '-': standard output; keys are the names of files, without folder and extension, and with '_' "
     "for "
     "spaces (required)",
     "FILE"},
    {"scp", 0, TOOL_OUTPUT, &options.scp, 0,
     "script file to write: the position of each utterance in the archive (default: none)", "FILE"},
    {"num-frames", 0, TOOL_OUTPUT, &options.num_frames, 0,
     "write the frames of each utterance, as Kaldi's utt2num_frames (default: none)", "FILE"},
    {"compress", 0, POPT_ARG_STRING, &options.compress, 0,
     "compress as Kaldi does: cm (8 bits, scaled by column), cm2 (16 bits) or cm3 (8 bits) (default: float32)", "FORM"},
    {"double", 0, POPT_ARG_NONE, &options.wide, 0, "write double precision (default: float32)", NULL},
    {"text", 0, POPT_ARG_NONE, &options.text, 0, "write the archive as text (default: binary)", NULL},
    POPT_TABLEEND};

static struct poptOption fbank_table[] = {
    {"num-mel", 0, POPT_ARG_INT, &options.num_mel, 0, "number of mel bands (default 40)", "N"},
    {"sample-rate", 0, POPT_ARG_DOUBLE, &options.fbank.sample_rate, 0, "resample audio to this rate (default 16000)",
     "HZ"},
    {"frame-length", 0, POPT_ARG_DOUBLE, &options.fbank.frame_length, 0, "length of a window (default 25)", "MS"},
    {"frame-shift", 0, POPT_ARG_DOUBLE, &options.fbank.frame_shift, 0, "time from one window to the next (default 10)",
     "MS"},
    {"low-frequency", 0, POPT_ARG_DOUBLE, &options.fbank.low_frequency, 0, "lower edge of the first band (default 20)",
     "HZ"},
    {"high-frequency", 0, POPT_ARG_DOUBLE, &options.fbank.high_frequency, 0,
     "upper edge of the last band; 0 or less: relative to half the sample rate (default 0)", "HZ"},
    {"preemphasis", 0, POPT_ARG_DOUBLE, &options.fbank.preemphasis, 0,
     "coefficient of the preemphasis filter (default 0.97)", "X"},
    {"dither", 0, POPT_ARG_DOUBLE, &options.fbank.dither, 0,
     "standard deviation of the noise added to samples (default 0)", "X"},
    {"dither-seed", 0, POPT_ARG_LONGLONG, &options.dither_seed, 0, "seed of that noise (default 0)", "N"},
    POPT_TABLEEND};

static struct poptOption cmvn_table[] = {
    {"cmvn", 0, POPT_ARG_STRING, &options.cmvn, 0,
     "subtract the means over: none (default), utterance, speaker, global, running (the frames so far)", "KIND"},
    {"cmvn-variance", 0, POPT_ARG_NONE, &options.variance, 0,
     "also divide by the standard deviations (default: means only)", NULL},
    {"cmvn-frames", 0, POPT_ARG_STRING, &options.cmvn_frames, 0,
     "frames for the statistics: all (default, as in Kaldi) or speech (as models may require)", "FRAMES"},
    {"cmvn-stats", 0, TOOL_ARCHIVE, &options.statistics, 0,
     "write the statistics: an archive by speaker, or with --cmvn global and running one matrix (default: none)",
     "FILE"},
    {"cmvn-scp", 0, TOOL_OUTPUT, &options.statistics_scp, 0, "script file of that archive (default: none)", "FILE"},
    {"cmvn-from", 0, TOOL_INPUT, &options.given, 0,
     "with --cmvn global and running: read the statistics from this file (default: compute them)", "FILE"},
    {"cmvn-prior", 0, POPT_ARG_DOUBLE, &options.prior, 0,
     "with --cmvn running: the weight of the global statistics, 1 to 1000000 (default 100)", "FRAMES"},
    {"cmvn-memory", 0, POPT_ARG_DOUBLE, &options.memory, 0,
     "with --cmvn running: the maximum weight of all earlier frames; 0: no maximum (default 0)", "FRAMES"},
    POPT_TABLEEND};

static struct poptOption audio_table[] = {
    {"channel", 'c', POPT_ARG_INT, &options.channel, 0, "use channel N, counted from 0 (default: the mean of all)",
     "N"},
    RAW_FORMAT_ROW(options.raw),
    RAW_RATE_ROW(options.raw),
    RAW_CHANNELS_ROW(options.raw),
    {"max-seconds", 0, POPT_ARG_DOUBLE, &options.max_seconds, 0,
     "refuse longer audio; 0: no limit (default: 14400 with --raw, else 0)", "S"},
    {"speed", 0, POPT_ARG_DOUBLE, &options.speed, 0,
     "change the speed of the audio by this factor, as linnet train does (default 1)", "FACTOR"},
    {"run-commands", 0, POPT_ARG_NONE, &options.run_commands, 0,
     "run the commands ('... |') in wav.scp, only for folders that you trust (default: refuse them)", NULL},
    POPT_TABLEEND};

int tool_features(int argc, const char **argv) {
  linnet_fbank_settings_default(&options.fbank);
  options.num_mel = (int)options.fbank.num_mel;
  options.cmvn = "none";
  options.prior = options.memory = TOOL_NOT_GIVEN;
  options.dither_seed = LLONG_MIN; /* not given */
  options.speed = 1;
  options.channel = TOOL_NO_INTEGER;
  options.raw = (struct raw_options)RAW_DEFAULTS;
  options.max_seconds = TOOL_NOT_GIVEN;
  const struct poptOption table[] = {
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, output_table, 0, "Output:", NULL},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, fbank_table, 0, "Filterbank, as Kaldi defines it:", NULL},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, cmvn_table, 0, "Normalisation:", NULL},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, audio_table, 0, "Audio:", NULL},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, tool_kernel_options, 0, "Common options:", NULL},
      POPT_TABLEEND};
  const struct tool_command command = {.options = table,
                                       .usage = "[OPTIONS] DATA_FOLDER|FILE...   ('-' is standard input)",
                                       .needed = "DATA_FOLDER|FILE",
                                       .max_arguments = SIZE_MAX,
                                       .check = check_folder,
                                       .run = run};
  return tool_run(argc, argv, &command);
}
