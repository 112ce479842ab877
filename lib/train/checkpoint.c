/* Writes, checks and reads checkpoints. */
#include "train/checkpoint.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/little_endian.h"
#include "model/format/safetensors.h"
#include "train/trainer.h"

#define CHECKPOINT_FORMATS "linnet-checkpoint-"
#define CHECKPOINT_FORMAT CHECKPOINT_FORMATS "3"

enum { STATE_BYTES = 8192, CHECKSUM_BYTES = 4 };

static const char *const vector_names[LINNET_CHECKPOINT_VECTORS] = {"weights", "moment1", "moment2", "average"};

static size_t vectors_of(const struct linnet_checkpoint *c) {
  return c->averaged ? LINNET_CHECKPOINT_VECTORS : LINNET_CHECKPOINT_AVERAGE;
}

/* Appends a sum to the text of n bytes; returns the bytes of both, negative on failure. */
static int format_sum(char text[STATE_BYTES], int n, const char *name, double sum) {
  if (n < 0 || sum == 0)
    return n;
  int added = linnet_format(text + n, (size_t)(STATE_BYTES - n), "%s %a\n", name, sum);
  return added > 0 ? n + added : -1;
}

/* Checkpoints of earlier versions lack it: then 0, and an earlier epoch wins all ties. */
static const char tie_loss[] = "tie_loss";

/* The state as text: one line of numbers, one line for each kept model, and a line with the name and value of each sum
 * of a loss besides CTC that is not 0, and of the loss that decides ties. %a writes doubles exactly. */
static bool format_state(const struct linnet_train_state *s, char text[STATE_BYTES]) {
  int n = linnet_format(text, STATE_BYTES,
                        "%" PRIu64 " %u %" PRIu64 " %a %a %a %u %u %a %a %" PRIu64 " %" PRIu64 " %" PRIu64 " %a %u\n",
                        s->step, s->epoch, s->epoch_step, s->schedule.rate, s->schedule.best, s->schedule.best_loss,
                        s->schedule.waiting, s->schedule.stagnant, s->sums.losses[LINNET_LOSS_CTC], s->sums.seconds,
                        s->sums.labels, s->sums.frames, s->sums.infeasible, s->total_seconds, s->num_kept);
  for (unsigned i = 0; n > 0 && i < s->num_kept; i++) {
    int added = linnet_format(text + n, (size_t)(STATE_BYTES - n), "%u %a\n", s->kept[i].epoch, s->kept[i].result);
    n = added > 0 ? n + added : -1;
  }
  for (int l = LINNET_LOSS_CTC + 1; l < LINNET_NUM_LOSSES; l++)
    n = format_sum(text, n, linnet_losses[l].name, s->sums.losses[l]);
  return format_sum(text, n, tie_loss, s->schedule.tie_loss) > 0;
}

static bool parse_kept(const char *text, struct linnet_train_state *s) {
  for (unsigned i = 0; i < s->num_kept; i++) {
    text = strchr(text, '\n');
    if (!text || linnet_scan(++text, "%u %la", &s->kept[i].epoch, &s->kept[i].result) != 2)
      return false;
  }
  return true;
}

/* `name` is that of format_sum. */
static bool parse_sum(const char *text, const char *name, double *sum) {
  const char *line = strchr(text, '\n');
  const size_t bytes = strlen(name);
  *sum = 0;
  while (line && !(strncmp(line + 1, name, bytes) == 0 && line[1 + bytes] == ' '))
    line = strchr(line + 1, '\n');
  return !line || linnet_scan(line + 1 + bytes, "%la", sum) == 1;
}

static bool parse_state(const char *text, struct linnet_train_state *s) {
  int fields = linnet_scan(
      text, "%" SCNu64 " %u %" SCNu64 " %la %la %la %u %u %la %la %" SCNu64 " %" SCNu64 " %" SCNu64 " %la %u", &s->step,
      &s->epoch, &s->epoch_step, &s->schedule.rate, &s->schedule.best, &s->schedule.best_loss, &s->schedule.waiting,
      &s->schedule.stagnant, &s->sums.losses[LINNET_LOSS_CTC], &s->sums.seconds, &s->sums.labels, &s->sums.frames,
      &s->sums.infeasible, &s->total_seconds, &s->num_kept);
  bool good = fields == 15 && s->num_kept <= LINNET_MAX_KEPT_MODELS && parse_kept(text, s);
  for (int l = LINNET_LOSS_CTC + 1; l < LINNET_NUM_LOSSES; l++)
    good = good && parse_sum(text, linnet_losses[l].name, &s->sums.losses[l]);
  return good && parse_sum(text, tie_loss, &s->schedule.tie_loss);
}

static enum linnet_status write_vector(struct linnet_writer *writer, const real *vector, size_t size) {
#ifdef LINNET_REAL_DOUBLE
  return linnet_writer_doubles(writer, vector, size);
#else
  return linnet_writer_floats(writer, vector, size);
#endif
}

static enum linnet_status write_file(struct linnet_context *context, struct linnet_output_file *output,
                                     const struct linnet_checkpoint *c, linnet_checkpoint_vector_fn *vector,
                                     void *user) {
  char state[STATE_BYTES];
  if (!format_state(c->state, state))
    return linnet_fail(context, LINNET_ERROR_MEMORY, "%s: out of memory for a locale", output->path);
  struct linnet_metadata metadata[] = {
      {"format", CHECKPOINT_FORMAT}, {"state", state}, {"fingerprint", c->fingerprint}};
  const size_t count = vectors_of(c);
  struct linnet_tensor_entry entries[LINNET_CHECKPOINT_VECTORS + 1] = {[0] = {0}};
  entries[count] = (struct linnet_tensor_entry){"checksum", LINNET_U8, 1, {CHECKSUM_BYTES}};
  for (size_t i = 0; i < count; i++)
    entries[i] = (struct linnet_tensor_entry){vector_names[i], LINNET_F32, 1, {c->size}};
  struct linnet_writer writer;
  LINNET_TRY(linnet_writer_begin(context, output, entries, count + 1, metadata, sizeof metadata / sizeof *metadata,
                                 true, &writer));
  for (size_t i = 0; i < count; i++) {
    const real *values = NULL;
    LINNET_TRY(vector(user, (enum linnet_checkpoint_vector)i, &values));
    LINNET_TRY(write_vector(&writer, values, c->size));
  }
  unsigned char checksum[CHECKSUM_BYTES];
  for (int i = 0; i < CHECKSUM_BYTES; i++)
    checksum[i] = (unsigned char)(writer.crc.value >> 8 * i);
  LINNET_TRY(linnet_writer_raw(&writer, checksum, CHECKSUM_BYTES));
  return linnet_writer_end(&writer);
}

enum linnet_status linnet_checkpoint_save(struct linnet_context *context, const char *path, const char *previous,
                                          const struct linnet_checkpoint *checkpoint,
                                          linnet_checkpoint_vector_fn *vector, void *user) {
  struct linnet_output_file output;
  LINNET_TRY(linnet_output_file_open(context, path, &output));
  enum linnet_status status = write_file(context, &output, checkpoint, vector, user);
  if (status == LINNET_OK)
    return linnet_output_file_replace(&output, previous);
  linnet_output_file_abandon(&output);
  return status;
}

/* The command looks for "settings, augment " in the message (tools/commands/train.c). */
static enum linnet_status fail_other(struct linnet_context *context, const char *path, const char *difference) {
  return linnet_fail(context, LINNET_ERROR_STATE,
                     "%s: was made with other settings, %s: use the same settings and data to continue, or another "
                     "folder to start anew",
                     path, difference);
}

static enum linnet_status check_fingerprint(struct linnet_context *context, const char *path, const char *ours,
                                            const char *theirs) {
  char sentence[LINNET_DIFFERENCE_BYTES];
  return linnet_fingerprint_differs(theirs, ours, sentence) ? fail_other(context, path, sentence) : LINNET_OK;
}

static enum linnet_status check_vectors(const struct linnet_safetensors *file, const char *path,
                                        const struct linnet_checkpoint *c) {
  for (size_t i = 0; i < vectors_of(c); i++) {
    const struct linnet_tensor *tensor = linnet_safetensors_find(file, vector_names[i]);
    if (!tensor || tensor->dtype != LINNET_F32 || tensor->count != c->size || !linnet_tensor_finite(tensor))
      return linnet_fail(file->context, LINNET_ERROR_FORMAT, "%s: %s is not a vector of %zu finite F32 values", path,
                         vector_names[i], c->size);
  }
  return LINNET_OK;
}

void linnet_checkpoint_read(const struct linnet_checkpoint_file *f, enum linnet_checkpoint_vector which, real *vector) {
  const struct linnet_tensor *tensor = linnet_safetensors_find(&f->file, vector_names[which]);
#ifdef LINNET_REAL_DOUBLE
  linnet_tensor_doubles(tensor, 0, tensor->count, vector);
#else
  linnet_tensor_floats(tensor, 0, tensor->count, vector);
#endif
}

static enum linnet_status read_state(const struct linnet_safetensors *file, const char *path,
                                     const struct linnet_checkpoint *c) {
  const char *state = linnet_safetensors_metadata(file, "state");
  const char *fingerprint = linnet_safetensors_metadata(file, "fingerprint");
  struct linnet_train_state parsed = {0};
  if (!state || !fingerprint || !parse_state(state, &parsed))
    return linnet_fail(file->context, LINNET_ERROR_FORMAT, "%s: the state of its training is out of range", path);
  LINNET_TRY(check_fingerprint(file->context, path, c->fingerprint, fingerprint));
  LINNET_TRY(check_vectors(file, path, c));
  *c->state = parsed;
  return LINNET_OK;
}

static bool checksum_agrees(const unsigned char *data, size_t bytes) {
  struct linnet_crc32 crc;
  if (bytes < CHECKSUM_BYTES)
    return false;
  linnet_crc32_start(&crc);
  linnet_crc32_add(&crc, data, bytes - CHECKSUM_BYTES);
  return crc.value == linnet_load_u32(data + bytes - CHECKSUM_BYTES);
}

/* Version 2 had no checksum. */
static enum linnet_status check_format(const struct linnet_safetensors *file, const char *path, bool agrees) {
  const char *format = linnet_safetensors_metadata(file, "format");
  bool checkpoint = format && strncmp(format, CHECKPOINT_FORMATS, sizeof CHECKPOINT_FORMATS - 1) == 0;
  if (checkpoint && strcmp(format, CHECKPOINT_FORMAT) != 0)
    return linnet_fail(
        file->context, LINNET_ERROR_UNSUPPORTED,
        "%s: its format is %.40s, but this version of Linnet reads " CHECKPOINT_FORMAT
        ": finish the training with the version that began it, or start anew in another folder from its model",
        path, format);
  if (!agrees)
    return linnet_fail(file->context, LINNET_ERROR_FORMAT, "%s: damaged: its checksum is wrong", path);
  return checkpoint ? LINNET_OK : linnet_fail(file->context, LINNET_ERROR_FORMAT, "%s: not a checkpoint", path);
}

void linnet_checkpoint_close(struct linnet_checkpoint_file *f) {
  if (!f->context)
    return;
  linnet_safetensors_close(&f->file);
  linnet_free(f->context, f->data);
  *f = (struct linnet_checkpoint_file){0};
}

static enum linnet_status open_file(struct linnet_context *context, const char *path, size_t size,
                                    struct linnet_checkpoint_file *f) {
  size_t bytes = 0, header = (size_t)16 << 20;
  *f = (struct linnet_checkpoint_file){0};
  enum linnet_status status =
      linnet_file_read(context, path, size * LINNET_CHECKPOINT_VECTORS * sizeof(float) + header, &f->data, &bytes);
  if (status == LINNET_ERROR_LIMIT)
    return fail_other(context, path, "a larger network");
  LINNET_TRY(status);
  f->context = context;
  bool agrees = checksum_agrees(f->data, bytes);
  status = linnet_safetensors_open(context, f->data, bytes, path, &f->file);
  if (status == LINNET_OK)
    status = check_format(&f->file, path, agrees);
  if (status != LINNET_OK)
    linnet_checkpoint_close(f);
  return status;
}

enum linnet_status linnet_checkpoint_check(struct linnet_context *context, const char *path, size_t size) {
  struct linnet_checkpoint_file f;
  LINNET_TRY(open_file(context, path, size, &f));
  linnet_checkpoint_close(&f);
  return LINNET_OK;
}

enum linnet_status linnet_checkpoint_open(struct linnet_context *context, const char *path,
                                          const struct linnet_checkpoint *checkpoint,
                                          struct linnet_checkpoint_file *f) {
  LINNET_TRY(open_file(context, path, checkpoint->size, f));
  enum linnet_status status = read_state(&f->file, path, checkpoint);
  if (status != LINNET_OK)
    linnet_checkpoint_close(f);
  return status;
}

enum linnet_status linnet_checkpoint_fingerprint(struct linnet_context *context, const char *path, size_t size,
                                                 char **text) {
  struct linnet_checkpoint_file f;
  LINNET_TRY(open_file(context, path, size, &f));
  const char *found = linnet_safetensors_metadata(&f.file, "fingerprint");
  *text = found ? linnet_strdup(context, found) : NULL;
  enum linnet_status status = LINNET_OK;
  if (!found)
    status = linnet_fail(context, LINNET_ERROR_FORMAT, "%s: not a checkpoint", path);
  else if (!*text)
    status = linnet_fail(context, LINNET_ERROR_MEMORY, "%s: out of memory", path);
  linnet_checkpoint_close(&f);
  return status;
}
