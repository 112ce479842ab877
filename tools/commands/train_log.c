/* Prints the progress of a training and writes log.jsonl and batches.txt; a resumed training continues both. */
#include "train_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* --- log.jsonl ---------------------------------------------------------------------------------------------------- */

/* The epoch of a line {"epoch": N, ...}; 0: not such a line. */
static unsigned line_epoch(const char *line) {
  static const char start[] = "{\"epoch\": ";
  if (strncmp(line, start, sizeof start - 1) != 0)
    return 0;
  char *end;
  unsigned long epoch = strtoul(line + sizeof start - 1, &end, 10);
  return *end == ',' && epoch <= UINT_MAX ? (unsigned)epoch : 0;
}

/* The peak memory of the process so far. */
static double peak_megabytes(void) {
  struct rusage usage;
  return getrusage(RUSAGE_SELF, &usage) == 0 ? (double)usage.ru_maxrss / 1024 : 0;
}

/* Those that a training may lack are negative. */
static void print_losses(FILE *file, const struct linnet_train_epoch *e) {
  const struct {
    const char *name;
    double loss;
  } losses[] = {{"consistency", e->consistency},
                {"crf_loss", e->crf_loss},
                {"distillation", e->distillation},
                {"intermediate_loss", e->intermediate_loss},
                {"frame_loss", e->frame_loss}};
  for (size_t i = 0; i < sizeof losses / sizeof *losses; i++)
    if (losses[i].loss >= 0)
      fprintf(file, "\"%s\": %.6f, ", losses[i].name, losses[i].loss);
}

/* Keeps the first failure. */
static void fail_to_append(struct train_log *log, const char *path, int error) {
  if (!log->failed)
    snprintf(log->error, sizeof log->error, "%s: cannot append: %s", path, strerror(error));
  log->failed = true;
}

/* Of matrix products: what the CPU's kernels have of --precision; GPUs have all of it. */
static const char *precision_name(const struct linnet_context *context) {
  static const char *const names[] = {
      [LINNET_FLOAT32] = "float32", [LINNET_BFLOAT16] = "bfloat16", [LINNET_TF32] = "tf32", [LINNET_INT8] = "int8"};
  const bool host = strcmp(linnet_context_device(context), "cpu") == 0;
  return host ? names[linnet_context_precision(context)] : tool_precision();
}

static void append_epoch(struct train_log *log, const struct linnet_train_epoch *e) {
  FILE *file = fopen(log->path, "a");
  if (!file) {
    fail_to_append(log, log->path, errno);
    return;
  }
  char exchange[200] = "";
  if (e->num_ranks > 1)
    snprintf(exchange, sizeof exchange,
             "\"ranks\": %zu, \"exchange_seconds\": %.3f, \"hidden_seconds\": %.3f, \"waiting_seconds\": %.3f, "
             "\"sent_bytes\": %llu, ",
             e->num_ranks, e->exchange_seconds, e->hidden_seconds, e->waiting_seconds,
             (unsigned long long)e->num_sent_bytes);
  fprintf(file, "{\"epoch\": %u, \"step\": %llu, \"train_loss\": %.6f, ", e->epoch, (unsigned long long)e->step,
          e->train_loss);
  print_losses(file, e);
  fprintf(file,
          "\"dev_loss\": %.6f, \"dev_per\": %.4f, "
          "\"learning_rate\": %.4g, \"train_seconds\": %.2f, \"dev_seconds\": %.2f, \"total_seconds\": %.2f, %s"
          "\"frames\": %zu, \"infeasible\": %zu, \"peak_megabytes\": %.1f, \"kernels\": \"%s\", "
          "\"precision\": \"%s\", \"device\": \"%s\", \"device_peak_megabytes\": %.1f, \"best\": %s}\n",
          e->dev_loss, e->dev_error, e->learning_rate, e->train_seconds, e->dev_seconds, e->total_seconds, exchange,
          e->num_frames, e->num_infeasible, peak_megabytes(), linnet_context_kernels(log->context),
          precision_name(log->context), linnet_context_device(log->context),
          (double)linnet_context_device_peak_bytes(log->context) / 1048576, e->best ? "true" : "false");
  const bool written = fflush(file) == 0 && !ferror(file);
  if (!written || fclose(file) != 0)
    fail_to_append(log, log->path, errno);
  if (!written)
    fclose(file);
}

/* --- events ------------------------------------------------------------------------------------------------------- */

/* After a failure the trainer saves no checkpoint, so the continued training writes the lost line. */
static int answer(const struct train_log *log) {
  if (!log->failed)
    return tool_interrupted();
  linnet_context_fail(log->context, LINNET_ERROR_IO, log->error);
  return -1;
}

static int on_step(void *user, const struct linnet_train_step *step) {
  struct train_log *log = user;
  if (log->epoch != step->epoch) {
    static char label[64];
    snprintf(label, sizeof label, "epoch %u", step->epoch);
    tool_progress_start(&log->progress, label, "steps", (double)step->num_epoch_steps);
    tool_progress_add(&log->progress, (double)step->epoch_step - 1);
    log->epoch = step->epoch;
  }
  tool_progress_add(&log->progress, 1);
  return answer(log);
}

static int on_epoch(void *user, const struct linnet_train_epoch *e) {
  struct train_log *log = user;
  double rate = e->train_seconds > 0 ? (double)e->num_frames / e->train_seconds : 0;
  tool_progress_finish(&log->progress);
  fprintf(stderr,
          "epoch %3u  train loss %.4f  dev loss %.4f  dev PER %6.2f %%%s  lr %.3g  %.0f frames/s (%.0f h/h)  %.0f s\n",
          e->epoch, e->train_loss, e->dev_loss, e->dev_error, e->best ? " *" : "  ", e->learning_rate, rate,
          rate * log->frame_seconds, e->train_seconds + e->dev_seconds);
  append_epoch(log, e);
  return answer(log);
}

/* After a failure, on_step ends the training. */
static void on_batch(void *user, unsigned epoch, const size_t *utterances, size_t count) {
  struct train_log *log = user;
  fprintf(log->batches, "%u", epoch);
  for (size_t i = 0; i < count; i++)
    fprintf(log->batches, " %s", log->corpus->id(log->corpus->user, utterances[i]));
  if (fputc('\n', log->batches) == EOF || ferror(log->batches)) /* the buffer is written at the end of the line */
    fail_to_append(log, log->batches_path, errno);
}

/* Whether a line, after `before` others, belongs to an epoch or step that the trainer has completed. */
typedef bool keeps_fn(const char *line, unsigned long long before, unsigned long long done);

static bool is_done_epoch(const char *line, unsigned long long before, unsigned long long done) {
  (void)before;
  return line_epoch(line) <= done;
}

static bool is_done_step(const char *line, unsigned long long before, unsigned long long done) {
  (void)line;
  return before < done;
}

/* Opens a log for appending after the lines of completed epochs or steps, which it counts, and truncates the rest. The
 * log is line-buffered. */
static FILE *open_log(const char *path, keeps_fn *keeps, unsigned long long done, unsigned long long *lines) {
  int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "r+");
  bool good = file && setvbuf(file, NULL, _IOLBF, BUFSIZ) == 0;
  char *line = NULL;
  size_t capacity = 0;
  off_t end = 0;
  *lines = 0;
  for (ssize_t n; good && (n = getline(&line, &capacity, file)) > 0 && line[n - 1] == '\n' && keeps(line, *lines, done);
       ++*lines)
    end += n;
  free(line);
  if (good && fseeko(file, end, SEEK_SET) == 0 && ftruncate(descriptor, end) == 0)
    return file;
  tool_fail("%s: cannot write: %s", path, strerror(errno));
  if (file)
    fclose(file);
  return NULL;
}

/* Writes the line before its step, so the log has the line if a checkpoint contains the step. */
static FILE *open_batches(const char *path, unsigned long long steps) {
  unsigned long long lines = 0;
  FILE *file = open_log(path, is_done_step, steps, &lines);
  if (file && lines < steps)
    tool_warn("%s: has lines for %llu of %llu steps: the training began without --batches, or the file is truncated",
              path, lines, steps);
  return file;
}

bool train_log_open(struct train_log *log, const char *folder, const struct linnet_trainer *trainer, bool batches) {
  snprintf(log->path, sizeof log->path, "%s/log.jsonl", folder);
  snprintf(log->batches_path, sizeof log->batches_path, "%s/batches.txt", folder);
  unsigned long long lines;
  FILE *epochs = open_log(log->path, is_done_epoch, linnet_trainer_num_epochs(trainer), &lines);
  if (!epochs || fclose(epochs) != 0)
    return false;
  if (!batches && linnet_trainer_num_steps(trainer) == 0)
    unlink(log->batches_path); /* of an earlier training in this folder */
  log->batches = batches ? open_batches(log->batches_path, linnet_trainer_num_steps(trainer)) : NULL;
  return !batches || log->batches;
}

struct linnet_train_events train_log_events(struct train_log *log) {
  return (struct linnet_train_events){.size = sizeof(struct linnet_train_events),
                                      .user = log,
                                      .step = on_step,
                                      .epoch = on_epoch,
                                      .batch = log->batches ? on_batch : NULL};
}

void train_log_close(struct train_log *log) {
  tool_progress_finish(&log->progress);
  if (log->batches && fclose(log->batches) != 0)
    fail_to_append(log, log->batches_path, errno);
}
