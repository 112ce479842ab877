/* Writes, checks and reads checkpoints. */
#include "train/checkpoint.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "model/format/safetensors.h"
#include "train/trainer.h"

#define CHECKPOINT_FORMATS "linnet-checkpoint-"
#define CHECKPOINT_FORMAT CHECKPOINT_FORMATS "3"

/* Sums of losses that a training may lack. */
#define CONSISTENCY "consistency "
#define CRF "crf "

enum { MAX_VECTORS = 4, STATE_BYTES = 8192, CHECKSUM_BYTES = 4 };

static const char *const vector_names[MAX_VECTORS] = {"weights", "moment1", "moment2", "average"};

/* Fills the addresses of the vectors that a checkpoint has; returns their number. */
static size_t vectors_of(const struct linnet_checkpoint *c, real *vectors[MAX_VECTORS]) {
  real *const all[MAX_VECTORS] = {c->weights, c->moment1, c->moment2, c->average};
  memcpy(vectors, all, sizeof all);
  return c->average ? MAX_VECTORS : MAX_VECTORS - 1;
}

/* Appends a sum to the text of n bytes; returns the bytes of both, negative on failure. */
static int format_sum(char text[STATE_BYTES], int n, const char *name, double sum) {
  if (n < 0 || sum == 0)
    return n;
  int added = linnet_format(text + n, (size_t)(STATE_BYTES - n), "%s%a\n", name, sum);
  return added > 0 ? n + added : -1;
}

/* The state as text: one line of numbers, one line for each kept model, and a line with the name and value of each sum
 * of a loss besides CTC that is not 0. %a writes doubles exactly. */
static bool format_state(const struct linnet_train_state *s, char text[STATE_BYTES]) {
  int n = linnet_format(text, STATE_BYTES,
                        "%" PRIu64 " %u %" PRIu64 " %a %a %a %u %u %a %a %" PRIu64 " %" PRIu64 " %" PRIu64 " %a %u\n",
                        s->step, s->epoch, s->epoch_step, s->schedule.rate, s->schedule.best, s->schedule.best_loss,
                        s->schedule.waiting, s->schedule.stagnant, s->sums.loss, s->sums.seconds, s->sums.labels,
                        s->sums.frames, s->sums.infeasible, s->total_seconds, s->num_kept);
  for (unsigned i = 0; n > 0 && i < s->num_kept; i++) {
    int added = linnet_format(text + n, (size_t)(STATE_BYTES - n), "%u %a\n", s->kept[i].epoch, s->kept[i].result);
    n = added > 0 ? n + added : -1;
  }
  n = format_sum(text, n, CONSISTENCY, s->sums.consistency);
  return format_sum(text, n, CRF, s->sums.crf) > 0;
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
  *sum = 0;
  while (line && strncmp(line + 1, name, strlen(name)) != 0)
    line = strchr(line + 1, '\n');
  return !line || linnet_scan(line + 1 + strlen(name), "%la", sum) == 1;
}

static bool parse_state(const char *text, struct linnet_train_state *s) {
  int fields = linnet_scan(
      text, "%" SCNu64 " %u %" SCNu64 " %la %la %la %u %u %la %la %" SCNu64 " %" SCNu64 " %" SCNu64 " %la %u", &s->step,
      &s->epoch, &s->epoch_step, &s->schedule.rate, &s->schedule.best, &s->schedule.best_loss, &s->schedule.waiting,
      &s->schedule.stagnant, &s->sums.loss, &s->sums.seconds, &s->sums.labels, &s->sums.frames, &s->sums.infeasible,
      &s->total_seconds, &s->num_kept);
  return fields == 15 && s->num_kept <= LINNET_MAX_KEPT_MODELS && parse_kept(text, s) &&
         parse_sum(text, CONSISTENCY, &s->sums.consistency) && parse_sum(text, CRF, &s->sums.crf);
}

static enum linnet_status write_file(struct linnet_context *context, struct linnet_output_file *output,
                                     const struct linnet_checkpoint *c) {
  char state[STATE_BYTES];
  if (!format_state(c->state, state))
    return linnet_fail(context, LINNET_ERROR_MEMORY, "%s: out of memory for a locale", output->path);
  struct linnet_metadata metadata[] = {
      {"format", CHECKPOINT_FORMAT}, {"state", state}, {"fingerprint", c->fingerprint}};
  real *vectors[MAX_VECTORS];
  const size_t count = vectors_of(c, vectors);
  struct linnet_tensor_entry entries[MAX_VECTORS + 1] = {[0] = {0}};
  entries[count] = (struct linnet_tensor_entry){"checksum", LINNET_U8, 1, {CHECKSUM_BYTES}};
  for (size_t i = 0; i < count; i++)
    entries[i] = (struct linnet_tensor_entry){vector_names[i], LINNET_F32, 1, {c->size}};
  struct linnet_writer writer;
  LINNET_TRY(linnet_writer_begin(context, output, entries, count + 1, metadata, sizeof metadata / sizeof *metadata,
                                 true, &writer));
  for (size_t i = 0; i < count; i++)
#ifdef LINNET_REAL_DOUBLE
    LINNET_TRY(linnet_writer_doubles(&writer, vectors[i], c->size));
#else
    LINNET_TRY(linnet_writer_floats(&writer, vectors[i], c->size));
#endif
  unsigned char checksum[CHECKSUM_BYTES];
  for (int i = 0; i < CHECKSUM_BYTES; i++)
    checksum[i] = (unsigned char)(writer.crc.value >> 8 * i);
  LINNET_TRY(linnet_writer_raw(&writer, checksum, CHECKSUM_BYTES));
  return linnet_writer_end(&writer);
}

enum linnet_status linnet_checkpoint_save(struct linnet_context *context, const char *path, const char *previous,
                                          const struct linnet_checkpoint *checkpoint) {
  struct linnet_output_file output;
  LINNET_TRY(linnet_output_file_open(context, path, &output));
  enum linnet_status status = write_file(context, &output, checkpoint);
  if (status == LINNET_OK)
    return linnet_output_file_replace(&output, previous);
  linnet_output_file_abandon(&output);
  return status;
}

static enum linnet_status check_fingerprint(struct linnet_context *context, const char *path, const char *ours,
                                            const char *theirs) {
  char sentence[LINNET_DIFFERENCE_BYTES];
  if (!linnet_fingerprint_differs(theirs, ours, sentence))
    return LINNET_OK;
  return linnet_fail(context, LINNET_ERROR_STATE,
                     "%s: was made with other settings, %s: use the same settings and data to continue, or another "
                     "folder to start anew",
                     path, sentence);
}

static enum linnet_status read_vectors(const struct linnet_safetensors *file, const char *path,
                                       const struct linnet_checkpoint *c) {
  real *vectors[MAX_VECTORS];
  const size_t count = vectors_of(c, vectors);
  for (size_t i = 0; i < count; i++) {
    const struct linnet_tensor *tensor = linnet_safetensors_find(file, vector_names[i]);
    if (!tensor || tensor->dtype != LINNET_F32 || tensor->count != c->size || !linnet_tensor_finite(tensor))
      return linnet_fail(file->context, LINNET_ERROR_FORMAT, "%s: %s is not a vector of %zu finite F32 values", path,
                         vector_names[i], c->size);
  }
  for (size_t i = 0; i < count; i++)
#ifdef LINNET_REAL_DOUBLE
    linnet_tensor_doubles(linnet_safetensors_find(file, vector_names[i]), 0, c->size, vectors[i]);
#else
    linnet_tensor_floats(linnet_safetensors_find(file, vector_names[i]), 0, c->size, vectors[i]);
#endif
  return LINNET_OK;
}

static enum linnet_status read_file(const struct linnet_safetensors *file, const char *path,
                                    const struct linnet_checkpoint *c) {
  const char *state = linnet_safetensors_metadata(file, "state");
  const char *fingerprint = linnet_safetensors_metadata(file, "fingerprint");
  struct linnet_train_state parsed = {0};
  if (!state || !fingerprint || !parse_state(state, &parsed))
    return linnet_fail(file->context, LINNET_ERROR_FORMAT, "%s: the state of its training is out of range", path);
  LINNET_TRY(check_fingerprint(file->context, path, c->fingerprint, fingerprint));
  LINNET_TRY(read_vectors(file, path, c));
  *c->state = parsed;
  return LINNET_OK;
}

/* A file that was read. */
struct opened {
  void *data;
  struct linnet_safetensors file;
};

static bool checksum_agrees(const unsigned char *data, size_t bytes) {
  struct linnet_crc32 crc;
  if (bytes < CHECKSUM_BYTES)
    return false;
  linnet_crc32_start(&crc);
  linnet_crc32_add(&crc, data, bytes - CHECKSUM_BYTES);
  const unsigned char *stored = data + bytes - CHECKSUM_BYTES;
  return crc.value ==
         ((uint32_t)stored[0] | (uint32_t)stored[1] << 8 | (uint32_t)stored[2] << 16 | (uint32_t)stored[3] << 24);
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

static void close_file(struct linnet_context *context, struct opened *o) {
  linnet_safetensors_close(&o->file);
  linnet_free(context, o->data);
}

static enum linnet_status open_file(struct linnet_context *context, const char *path, size_t size, struct opened *o) {
  size_t bytes = 0, header = (size_t)16 << 20;
  *o = (struct opened){0};
  LINNET_TRY(linnet_file_read(context, path, size * MAX_VECTORS * sizeof(float) + header, &o->data, &bytes));
  bool agrees = checksum_agrees(o->data, bytes);
  enum linnet_status status = linnet_safetensors_open(context, o->data, bytes, path, &o->file);
  if (status == LINNET_OK)
    status = check_format(&o->file, path, agrees);
  if (status != LINNET_OK)
    close_file(context, o);
  return status;
}

enum linnet_status linnet_checkpoint_check(struct linnet_context *context, const char *path, size_t size) {
  struct opened o;
  LINNET_TRY(open_file(context, path, size, &o));
  close_file(context, &o);
  return LINNET_OK;
}

enum linnet_status linnet_checkpoint_load(struct linnet_context *context, const char *path,
                                          const struct linnet_checkpoint *checkpoint) {
  struct opened o;
  LINNET_TRY(open_file(context, path, checkpoint->size, &o));
  enum linnet_status status = read_file(&o.file, path, checkpoint);
  close_file(context, &o);
  return status;
}

enum linnet_status linnet_checkpoint_fingerprint(struct linnet_context *context, const char *path, size_t size,
                                                 char **text) {
  struct opened o;
  LINNET_TRY(open_file(context, path, size, &o));
  const char *found = linnet_safetensors_metadata(&o.file, "fingerprint");
  *text = found ? linnet_strdup(context, found) : NULL;
  enum linnet_status status = LINNET_OK;
  if (!found)
    status = linnet_fail(context, LINNET_ERROR_FORMAT, "%s: not a checkpoint", path);
  else if (!*text)
    status = linnet_fail(context, LINNET_ERROR_MEMORY, "%s: out of memory", path);
  close_file(context, &o);
  return status;
}
