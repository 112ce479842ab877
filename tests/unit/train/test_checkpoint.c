/* Checkpoints: any changed byte is detected; the previous checkpoint replaces one that is damaged or missing; files of
 * a killed process are removed; and states that no training writes are refused. */
#include <dirent.h>

#include "model/format/safetensors.h"
#include "small_training.h"
#include "train/checkpoint.h"

static struct linnet_context *context;

struct file {
  char path[128];
  unsigned char *data;
  size_t bytes;
};

static struct file read_file(const char *folder, const char *name) {
  struct file file;
  void *data;
  snprintf(file.path, sizeof file.path, "%s/%s", folder, name);
  REQUIRE(linnet_file_read(context, file.path, 1 << 24, &data, &file.bytes) == LINNET_OK, "%s",
          linnet_context_error(context));
  file.data = data;
  return file;
}

static void write_file(const struct file *file, size_t bytes) {
  FILE *stream = fopen(file->path, "wb");
  REQUIRE(stream && fwrite(file->data, 1, bytes, stream) == bytes && fclose(stream) == 0, "%s", file->path);
}

static void release(struct file *file) {
  linnet_free(context, file->data);
}

static bool exists(const char *folder, const char *name) {
  char path[192];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return access(path, F_OK) == 0;
}

/* Trains with two interruptions, so that there are two checkpoints. */
static struct run begin(char folder[64]) {
  struct run run = make_run(transformer, 1, 3);
  make_folder(folder);
  for (int i = 0; i < 2; i++) {
    run.steps = 0;
    run.stop_after = 3;
    train(&run, folder);
    REQUIRE(run.status == LINNET_ERROR_CANCELLED, "%s", run.error);
  }
  run.stop_after = 0;
  return run;
}

/* --- damage ------------------------------------------------------------------------------------------------------- */

/* The checksum is that of other programs. */
static void test_checksum(void) {
  struct linnet_crc32 crc;
  linnet_crc32_start(&crc);
  linnet_crc32_add(&crc, "12345", 5);
  linnet_crc32_add(&crc, "6789", 4);
  CHECK(crc.value == 0xCBF43926, "%08x", (unsigned)crc.value);
}

/* Every byte of the header, and a sample of the others; and every length. */
static void test_every_byte(void) {
  char folder[64];
  begin(folder);
  struct file file = read_file(folder, "checkpoint.safetensors");
  CHECK(linnet_checkpoint_check(context, file.path, file.bytes) == LINNET_OK, "%s", linnet_context_error(context));
  for (size_t at = 0; at < file.bytes; at += at < 64 || at + 5 > file.bytes ? 1 : 61) {
    file.data[at] ^= (unsigned char)(1u << at % 8);
    write_file(&file, file.bytes);
    CHECK(linnet_checkpoint_check(context, file.path, file.bytes) != LINNET_OK, "byte %zu of %zu is another", at,
          file.bytes);
    file.data[at] ^= (unsigned char)(1u << at % 8);
  }
  for (size_t bytes = 0; bytes < file.bytes; bytes += 997) {
    write_file(&file, bytes);
    CHECK(linnet_checkpoint_check(context, file.path, file.bytes) == LINNET_ERROR_FORMAT, "cut to %zu of %zu bytes",
          bytes, file.bytes);
  }
  write_file(&file, file.bytes);
  CHECK(linnet_checkpoint_check(context, file.path, file.bytes) == LINNET_OK, "%s", linnet_context_error(context));
  release(&file);
  remove_folder(folder);
}

/* Training resumes from the previous checkpoint, reports this, and ends with the same result as without a fault. */
static void test_fall_back(const char *whole, bool missing) {
  char folder[64];
  struct run run = begin(folder);
  struct file file = read_file(folder, "checkpoint.safetensors");
  file.data[file.bytes / 2] ^= 1;
  write_file(&file, file.bytes);
  if (missing)
    remove(file.path);
  run.steps = 0, run.stop_after = 1;
  train(&run, folder);
  CHECK(run.status == LINNET_ERROR_CANCELLED, "%s", run.error);
  CHECK(strstr(run.log, file.path) && strstr(run.log, missing ? ": is missing" : "checksum") &&
            strstr(run.log, "checkpoint-previous.safetensors"),
        "log: %s", run.log);
  CHECK(exists(folder, "checkpoint-damaged.safetensors") == !missing, "the damaged file");
  run.stop_after = 0;
  train(&run, folder);
  CHECK(run.status == LINNET_OK && !run.log[0], "%s%s", run.error, run.log);
  CHECK(same_model(whole, folder), "the model differs");
  release(&file);
  remove_folder(folder);
}

/* Without a complete checkpoint, training does not start again. */
static void test_both_damaged(bool missing) {
  static const char *const names[] = {"checkpoint.safetensors", "checkpoint-previous.safetensors"};
  char folder[64];
  struct run run = begin(folder);
  for (int i = 0; i < 2; i++) {
    struct file file = read_file(folder, names[i]);
    file.data[file.bytes - 40] ^= 0x80;
    write_file(&file, file.bytes);
    if (missing && i == 0)
      remove(file.path);
    release(&file);
  }
  train(&run, folder);
  CHECK(run.status == LINNET_ERROR_FORMAT &&
            strstr(run.error, missing ? "checkpoint.safetensors: is missing" : "checkpoint.safetensors: damaged") &&
            strstr(run.error, "checkpoint-previous.safetensors: damaged") && strstr(run.error, "to start anew, remove"),
        "status %d: %s", (int)run.status, run.error);
  CHECK(exists(folder, names[0]) == !missing && exists(folder, names[1]), "files were removed");
  remove_folder(folder);
}

/* --- other writers ------------------------------------------------------------------------------------------------ */

/* Writes a checkpoint anew with another format, state or fingerprint, and a checksum where `checked`. */
static void rewrite(const char *folder, const char *format, const char *state, const char *fingerprint, bool checked) {
  struct file file = read_file(folder, "checkpoint.safetensors");
  struct linnet_safetensors old;
  REQUIRE(linnet_safetensors_open(context, file.data, file.bytes, "old", &old) == LINNET_OK, "%s",
          linnet_context_error(context));
  static const char *const names[] = {"weights", "moment1", "moment2"};
  size_t size = linnet_safetensors_find(&old, "weights")->count;
  struct linnet_tensor_entry entries[4] = {[3] = {"checksum", LINNET_U8, 1, {4}}};
  for (int i = 0; i < 3; i++)
    entries[i] = (struct linnet_tensor_entry){names[i], LINNET_F32, 1, {size}};
  fingerprint = fingerprint ? fingerprint : linnet_safetensors_metadata(&old, "fingerprint");
  const struct linnet_metadata metadata[] = {{"format", format ? format : linnet_safetensors_metadata(&old, "format")},
                                             {"state", state ? state : linnet_safetensors_metadata(&old, "state")},
                                             {"fingerprint", fingerprint}};
  struct linnet_output_file output;
  struct linnet_writer writer;
  REQUIRE(linnet_output_file_open(context, file.path, &output) == LINNET_OK, "open");
  linnet_writer_begin(context, &output, entries, checked ? 4 : 3, metadata, 3, true, &writer);
  for (int i = 0; i < 3; i++)
    linnet_writer_raw(&writer, linnet_safetensors_find(&old, names[i])->data, size);
  unsigned char sum[4];
  for (int i = 0; i < 4; i++)
    sum[i] = (unsigned char)(writer.crc.value >> 8 * i);
  if (checked)
    linnet_writer_raw(&writer, sum, 4);
  REQUIRE(linnet_writer_end(&writer) == LINNET_OK && linnet_output_file_commit(&output) == LINNET_OK, "%s",
          linnet_context_error(context));
  linnet_safetensors_close(&old);
  release(&file);
}

/* A file of the version without a checksum, and one of the future. */
static void test_versions(void) {
  static const struct {
    const char *format;
    bool checked;
  } others[] = {{"linnet-checkpoint-2", false}, {"linnet-checkpoint-4", true}};
  for (size_t i = 0; i < 2; i++) {
    char folder[64];
    struct run run = make_run(transformer, 1, 2);
    run.stop_after = 1;
    train(&run, make_folder(folder));
    rewrite(folder, others[i].format, NULL, NULL, others[i].checked);
    train(&run, folder);
    CHECK(run.status == LINNET_ERROR_UNSUPPORTED && strstr(run.error, others[i].format) &&
              strstr(run.error, "in another folder"),
          "status %d: %s", (int)run.status, run.error);
    remove_folder(folder);
  }
}

/* A checkpoint of the version whose fingerprints end before the symbols. */
static void test_earlier_fingerprint(void) {
  char folder[64], fingerprint[8192];
  struct run run = begin(folder);
  struct file file = read_file(folder, "checkpoint.safetensors");
  struct linnet_safetensors old;
  REQUIRE(linnet_safetensors_open(context, file.data, file.bytes, "old", &old) == LINNET_OK, "%s",
          linnet_context_error(context));
  snprintf(fingerprint, sizeof fingerprint, "%s", linnet_safetensors_metadata(&old, "fingerprint"));
  char *symbols_line = strstr(fingerprint, "\nsymbols=");
  REQUIRE(symbols_line, "no symbols in %s", fingerprint);
  symbols_line[1] = '\0';
  rewrite(folder, NULL, NULL, fingerprint, true);
  train(&run, folder);
  CHECK(run.status == LINNET_OK, "%s", run.error);
  strcpy(strstr(fingerprint, "\nseed="), "\n");
  rewrite(folder, NULL, NULL, fingerprint, true);
  train(&run, folder);
  CHECK(run.status == LINNET_ERROR_STATE && strstr(run.error, "settings, without seed=1:"), "status %d: %s",
        (int)run.status, run.error);
  linnet_safetensors_close(&old);
  release(&file);
  remove_folder(folder);
}

/* A checkpoint of a network that is too large to be read for this one. */
static void test_smaller_network(void) {
  static const char large[] = "{\"input_dim\": 4, \"width\": 512, \"heads\": 2, \"feed_forward\": 2048, \"layers\": 1, "
                              "\"stack\": 2}";
  char folder[64];
  struct run run = make_run(large, 1, 2);
  run.stop_after = 1;
  train(&run, make_folder(folder));
  CHECK(run.status == LINNET_ERROR_CANCELLED, "%s", run.error);
  run.config = transformer;
  train(&run, folder);
  CHECK(run.status == LINNET_ERROR_STATE && strstr(run.error, "other settings, a larger network"), "status %d: %s",
        (int)run.status, run.error);
  remove_folder(folder);
}

/* A list of the maximum number of models stays in order; a longer list is refused. */
static void test_kept(void) {
  for (unsigned kept = LINNET_MAX_KEPT_MODELS; kept <= 64; kept++) {
    char folder[64], state[8192];
    struct run run = make_run(transformer, 1, 2);
    run.stop_after = 1;
    run.keep_models = LINNET_MAX_KEPT_MODELS;
    train(&run, make_folder(folder));
    int n = snprintf(state, sizeof state, "1 0 1 0x1p-10 inf inf 0 0 0x1p+1 0x1p+1 4 30 0 0x1p+1 %u\n", kept);
    for (unsigned i = 0; i < kept; i++)
      n += snprintf(state + n, sizeof state - (size_t)n, "%u 0x1p-9\n", 1000 + i);
    rewrite(folder, NULL, state, NULL, true);
    run.stop_after = 0;
    train(&run, folder);
    bool fits = kept <= LINNET_MAX_KEPT_MODELS;
    CHECK(run.status == (fits ? LINNET_OK : LINNET_ERROR_FORMAT), "%u kept: status %d: %s", kept, (int)run.status,
          run.error);
    CHECK(fits || strstr(run.error, "state"), "%s", run.error);
    remove_folder(folder);
  }
}

/* --- files of a killed process ------------------------------------------------------------------------------------ */

static void test_temporary_files(void) {
  static const struct {
    const char *name;
    bool own;
  } files[] = {{"checkpoint.safetensors.tmp.123", true},   {"model.safetensors.tmp.9", true},
               {"epoch-007.safetensors.tmp.77", true},     {"mean.safetensors.tmp.5", false},
               {"epoch-x.safetensors.tmp.5", false},       {"checkpoint.safetensors.tmp.", false},
               {"checkpoint.safetensors.tmp.5.gz", false}, {"model.safetensors.tmp", false}};
  char folder[64], path[192];
  struct run run = begin(folder);
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, files[i].name);
    fclose(fopen(path, "w"));
  }
  train(&run, folder);
  CHECK(run.status == LINNET_OK, "%s", run.error);
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    CHECK(exists(folder, files[i].name) == !files[i].own, "%s", files[i].name);
    snprintf(path, sizeof path, "%s/%s", folder, files[i].name);
    unlink(path);
  }
  remove_folder(folder);
}

int main(void) {
  char whole[64];
  context = test_context();
  test_checksum();
  test_every_byte();
  struct run run = make_run(transformer, 1, 3);
  train(&run, make_folder(whole));
  test_fall_back(whole, false);
  test_fall_back(whole, true);
  remove_folder(whole);
  test_both_damaged(false);
  test_both_damaged(true);
  test_versions();
  test_earlier_fingerprint();
  test_smaller_network();
  test_kept();
  test_temporary_files();
  linnet_context_destroy(context);
  return test_result();
}
