/* Threads process utterances in any order. A result waits until all results before it are written, so the files do not
 * depend on the number of threads. */
#include "features_job.h"
#include "base/numbers.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common/clip.h"
#include "common/file_keys.h"
#include "common/inputs.h"
#include "common/parallel.h"
#include "common/tool.h"

/* --- input -------------------------------------------------------------------------------------------------------- */

static int take_files(const char **paths, size_t count, struct features_input *input) {
  struct stat status;
  *input = (struct features_input){
      .files = paths, .ids = calloc(count, sizeof *input->ids), .count = count, .speakers = count};
  for (size_t i = 0; i < count; i++) {
    if (stat(paths[i], &status) == 0 && S_ISDIR(status.st_mode))
      return tool_usage("%s: is a folder: give one data folder, or files", paths[i]);
    if (!input->ids || !(input->ids[i] = file_id(paths[i])))
      return tool_fail("out of memory for %zu files", count);
    file_key(input->ids[i]);
  }
  return file_keys_check(input->ids, paths, count);
}

int features_input_open(struct linnet_context *context, const char **paths, size_t count,
                        struct linnet_data_folder **folder, struct features_input *input) {
  struct stat status;
  *folder = NULL;
  if (count != 1 || stat(paths[0], &status) != 0 || !S_ISDIR(status.st_mode))
    return take_files(paths, count, input);
  if (linnet_data_folder_open(context, paths[0], folder) != LINNET_OK)
    return tool_fail_context(context);
  *input = (struct features_input){.folder = *folder,
                                   .count = linnet_data_folder_num_utterances(*folder),
                                   .speakers = linnet_data_folder_num_speakers(*folder)};
  return TOOL_OK;
}

void features_input_close(struct features_input *input) {
  for (size_t i = 0; i < input->count && input->ids; i++)
    free(input->ids[i]);
  free(input->ids);
}

const char *features_id(const struct features_input *input, size_t i) {
  return input->folder ? linnet_data_folder_id(input->folder, i) : input->ids[i];
}

static size_t speaker_at(const struct features_input *input, size_t i) {
  return input->folder ? linnet_data_folder_speaker(input->folder, i) : i;
}

/* --- audio -------------------------------------------------------------------------------------------------------- */

static enum linnet_status read_all(struct linnet_audio *audio, double start, double end, float **samples,
                                   size_t *count) {
  enum linnet_status status = LINNET_OK;
  if (start > 0 || end >= 0)
    status = linnet_audio_select(audio, start, end);
  if (status == LINNET_OK)
    status = linnet_audio_read_all(audio, samples, count);
  linnet_audio_destroy(audio);
  return status;
}

/* Whether a command ended because nobody read its output any more; a shell makes 128 + 13 of the signal. */
static bool lost_its_reader(int code) {
  return WIFSIGNALED(code) ? WTERMSIG(code) == SIGPIPE : WIFEXITED(code) && WEXITSTATUS(code) == 128 + SIGPIPE;
}

/* Reads the output of a command of wav.scp. Its standard error goes to the terminal. If the command fails, so does the
 * utterance, even if there was audio. A command may write more than a segment needs. */
static bool run_command(struct linnet_context *context, const struct features_job *job, size_t i, const char *command,
                        float **samples, size_t *count) {
  double start, end;
  struct linnet_audio *audio = NULL;
  linnet_data_folder_segment(job->input.folder, i, &start, &end);
  FILE *pipe = popen(command, "r"); /* NOLINT(cert-env33-c): the user wrote it, as in Kaldi's wav.scp */
  if (!pipe) {
    tool_fail("%s: cannot run: %s", features_id(&job->input, i), command);
    return false;
  }
  char name[256];
  snprintf(name, sizeof name, "%.80s: the output of '%.120s'", features_id(&job->input, i), command);
  enum linnet_status status = linnet_audio_open_fd(context, fileno(pipe), name, &job->audio, &audio);
  if (status == LINNET_OK)
    status = read_all(audio, start, end, samples, count);
  int code = pclose(pipe);
  if (status == LINNET_OK && end >= 0 && lost_its_reader(code))
    code = 0;
  if (audio_options_name(context, status) != LINNET_OK)
    tool_fail_context(context);
  if (code != 0)
    tool_fail("%s: the command failed with exit status %d: %s", features_id(&job->input, i),
              WIFEXITED(code) ? WEXITSTATUS(code) : 128 + WTERMSIG(code), command);
  return code == 0 && status == LINNET_OK;
}

static bool load(struct linnet_context *context, const struct features_job *job, size_t i, float **samples,
                 size_t *count) {
  const struct features_input *input = &job->input;
  const char *command = input->folder ? linnet_data_folder_command(input->folder, i) : NULL;
  struct linnet_audio *audio = NULL;
  enum linnet_status status;
  if (command && job->run_commands)
    return run_command(context, job, i, command, samples, count);
  if (command) {
    tool_fail("%s: its audio is the output of a command; if you trust the folder, run it with --run-commands: %s",
              features_id(input, i), command);
    return false;
  }
  if (input->folder)
    status = linnet_data_folder_audio(input->folder, context, i, &job->audio, samples, count);
  else if ((status = linnet_audio_open(context, input->files[i], &job->audio, &audio)) == LINNET_OK)
    status = read_all(audio, 0, -1, samples, count);
  if (audio_options_name(context, status) != LINNET_OK)
    tool_fail_context(context);
  return status == LINNET_OK;
}

/* --- one utterance ------------------------------------------------------------------------------------------------ */

struct features {
  float *values; /* (frames, num_mel); NULL: failed, with a message */
  size_t frames;
  bool done;
};

/* Seed of the noise: differs between utterances, but not between runs (FNV-1a of the name). */
static uint64_t seed_of(uint64_t seed, const char *id) {
  uint64_t hash = 14695981039346656037u;
  for (; *id; id++)
    hash = (hash ^ (unsigned char)*id) * 1099511628211u;
  return seed ^ hash;
}

static enum linnet_status compute(struct linnet_context *context, const struct features_job *job, const char *id,
                                  const float *samples, size_t count, struct features *features) {
  struct linnet_fbank_settings settings = job->fbank;
  struct linnet_fbank *fbank = NULL;
  settings.dither_seed = seed_of(settings.dither_seed, id);
  enum linnet_status status = linnet_fbank_create(context, &settings, &fbank);
  if (status != LINNET_OK)
    return status;
  features->frames = linnet_fbank_num_frames(fbank, count);
  features->values = malloc((features->frames * linnet_fbank_dim(fbank) + 1) * sizeof(float));
  status = features->values ? linnet_fbank_compute(fbank, samples, count, features->values) : LINNET_ERROR_MEMORY;
  linnet_fbank_destroy(fbank);
  return status;
}

/* The statistics that an utterance gets or adds to. */
static struct linnet_cmvn *statistics_of(const struct features_job *job, size_t i) {
  return &job->statistics[features_are_global(job) ? 0 : speaker_at(&job->input, i)];
}

/* Frame after frame, from the global statistics with the weight of some frames. */
static void normalise_running(const struct features_job *job, struct features *features) {
  struct linnet_cmvn running = job->statistics[0];
  linnet_cmvn_scale(&running, job->prior);
  linnet_cmvn_run(&running, job->cmvn_frames, job->variance, job->memory, features->values, features->frames);
}

static void normalise(const struct features_job *job, size_t i, struct features *features) {
  struct linnet_cmvn own;
  const struct linnet_cmvn *statistics = &own;
  if (job->cmvn == LINNET_CMVN_RUNNING) {
    normalise_running(job, features);
    return;
  }
  if (job->cmvn == LINNET_CMVN_UTTERANCE) {
    linnet_cmvn_reset(&own, job->fbank.num_mel);
    linnet_cmvn_accumulate_frames(&own, job->cmvn_frames, features->values, features->frames);
  } else {
    statistics = statistics_of(job, i);
  }
  linnet_cmvn_apply(statistics, job->variance, features->values, features->frames);
}

static struct features process(struct linnet_context *context, const struct features_job *job, size_t i) {
  struct features features = {0};
  float *samples = NULL;
  size_t count = 0;
  const char *id = features_id(&job->input, i);
  tool_note("%s: started", id);
  bool good = load(context, job, i, &samples, &count);
  enum linnet_status status = LINNET_OK;
  if (good && job->speed != 1)
    status = clip_change_samples(context, job->fbank.sample_rate, job->speed, &samples, &count);
  if (good && status == LINNET_OK)
    status = compute(context, job, id, samples, count, &features);
  if (status != LINNET_OK) {
    if (!tool_interrupted())
      tool_fail("%s: %s", id, status == LINNET_ERROR_MEMORY ? "out of memory" : linnet_context_error(context));
    good = false;
  }
  if (good && features.frames == 0) {
    tool_fail("%s: %zu samples are too few for one frame", id, count);
    good = false;
  }
  linnet_audio_release(context, samples);
  if (!good) {
    free(features.values);
    features.values = NULL;
  }
  features.done = true;
  return features;
}

/* --- a pass over all ---------------------------------------------------------------------------------------------- */

enum pass { PASS_STATISTICS, PASS_FEATURES };

struct run {
  struct features_job *job;
  enum pass pass;
  struct linnet_context *context; /* of the writer */
  bool *failed;                   /* (count): in an earlier pass, which reported it */
  pthread_mutex_t mutex;          /* protects what follows */
  struct features *waiting;       /* (count) */
  size_t next, done, frames;
  bool broken; /* writing failed, with a message */
  struct tool_progress progress;
};

static void add_statistics(struct features_job *job, size_t i, const struct features *features) {
  linnet_cmvn_accumulate_frames(statistics_of(job, i), job->cmvn_frames, features->values, features->frames);
}

/* Statistics that are written but not applied need no pass of their own: they are computed with the features. */
static bool needs_statistics_first(const struct features_job *job) {
  return job->statistics && !job->statistics_given && job->cmvn != LINNET_CMVN_NONE;
}

/* The next utterance in order. */
static void deliver(struct run *run, size_t i, const struct features *features) {
  struct features_job *job = run->job;
  run->failed[i] = features->values == NULL;
  if (!features->values)
    job->frames[i] = 0; /* an earlier pass may have counted them */
  if (!features->values || run->broken)
    return;
  run->done++;
  run->frames += features->frames;
  job->frames[i] = features->frames;
  if (run->pass == PASS_STATISTICS || (job->statistics && job->cmvn == LINNET_CMVN_NONE))
    add_statistics(job, i, features);
  if (run->pass == PASS_STATISTICS)
    return;
  run->broken = linnet_ark_write(job->writer, features_id(&job->input, i), features->values, features->frames,
                                 (size_t)job->fbank.num_mel) != LINNET_OK;
  if (run->broken)
    tool_fail_context(run->context);
}

static void finish(struct run *run, size_t i, struct features features) {
  pthread_mutex_lock(&run->mutex);
  run->waiting[i] = features;
  for (; run->next < run->job->input.count && run->waiting[run->next].done; run->next++) {
    deliver(run, run->next, &run->waiting[run->next]);
    free(run->waiting[run->next].values);
    run->waiting[run->next].values = NULL;
  }
  tool_progress_add(&run->progress, 1);
  pthread_mutex_unlock(&run->mutex);
}

static int run_task(void *user, size_t i, unsigned worker, struct linnet_context *context) {
  struct run *run = user;
  (void)worker;
  if (tool_interrupted())
    return TOOL_INTERRUPTED;
  struct features features = {.done = true};
  if (!run->failed[i])
    features = process(context, run->job, i);
  if (!features.values && tool_interrupted())
    return TOOL_INTERRUPTED;
  if (features.values && run->pass == PASS_FEATURES && run->job->cmvn != LINNET_CMVN_NONE)
    normalise(run->job, i, &features);
  finish(run, i, features);
  return 0;
}

static int judge(const struct run *run, int result) {
  size_t count = run->job->input.count;
  if (result == TOOL_INTERRUPTED)
    return TOOL_INTERRUPTED;
  if (result != 0)
    return tool_fail("cannot start threads");
  if (run->broken)
    return TOOL_FAILURE;
  if (run->done == 0)
    return tool_fail("none of %zu utterance%s could be used", count, linnet_plural(count));
  if (run->pass == PASS_STATISTICS)
    return TOOL_OK;
  fprintf(stderr, "%zu utterance%s, %zu frame%s\n", run->done, linnet_plural(run->done), run->frames,
          linnet_plural(run->frames));
  return run->done < count ? tool_fail("%zu of %zu utterance%s failed", count - run->done, count, linnet_plural(count))
                           : TOOL_OK;
}

static int run_pass(struct linnet_context *context, struct features_job *job, enum pass pass, bool *failed) {
  struct run run = {.job = job, .pass = pass, .context = context, .failed = failed};
  run.waiting = calloc(job->input.count, sizeof *run.waiting);
  if (!run.waiting)
    return tool_fail("out of memory for %zu utterances", job->input.count);
  pthread_mutex_init(&run.mutex, NULL);
  tool_progress_start(&run.progress, pass == PASS_STATISTICS ? "statistics" : "features", "utterances",
                      (double)job->input.count);
  int result = tool_parallel(context, job->input.count, run_task, &run);
  tool_progress_finish(&run.progress);
  int code = judge(&run, result);
  pthread_mutex_destroy(&run.mutex);
  for (size_t i = 0; i < job->input.count; i++)
    free(run.waiting[i].values); /* results that were still waiting at an interrupt */
  free(run.waiting);
  job->written = run.broken ? 0 : run.done;
  return code;
}

int features_run(struct linnet_context *context, struct features_job *job) {
  job->frames = calloc(job->input.count, sizeof *job->frames); /* the caller frees it */
  bool *failed = job->frames ? calloc(job->input.count, sizeof *failed) : NULL;
  if (!failed)
    return tool_fail("out of memory for %zu utterances", job->input.count);
  tool_catch_interrupt();
  int code = needs_statistics_first(job) ? run_pass(context, job, PASS_STATISTICS, failed) : TOOL_OK;
  if (code == TOOL_OK)
    code = run_pass(context, job, PASS_FEATURES, failed);
  else
    job->written = 0;
  free(failed);
  return code;
}
