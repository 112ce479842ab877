/* Kaldi data folders: lists put together, paths found, audio and features loaded, mistakes named by file and line. */
#include <linnet/kaldi.h>

#include <sndfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "allocators.h"

static struct linnet_context *context;
static char root[4200]; /* root/corpus/train is the folder, root/corpus the one above */
static char last_warning[1024];

static void remember(void *user, enum linnet_log_level level, const char *message) {
  (void)user;
  if (level == LINNET_LOG_WARNING)
    snprintf(last_warning, sizeof last_warning, "%s", message);
}

static const char *in_root(const char *name) {
  static char paths[4][4400];
  static int next;
  char *path = paths[next++ % 4];
  snprintf(path, sizeof *paths, "%s/%s", root, name);
  return path;
}

static void save(const char *name, const char *text) {
  FILE *file = fopen(in_root(name), "wb");
  REQUIRE(file && fputs(text, file) >= 0 && fclose(file) == 0, "%s: cannot write", name);
}

/* `n` samples with values first, first + 1, ... at 16 kHz. */
static void save_wav(const char *name, size_t n, short first) {
  SF_INFO info = {.samplerate = 16000, .channels = 1, .format = SF_FORMAT_WAV | SF_FORMAT_PCM_16};
  SNDFILE *sound = sf_open(in_root(name), SFM_WRITE, &info);
  REQUIRE(sound, "%s: cannot write", name);
  for (size_t i = 0; i < n; i++) {
    short sample = (short)(first + (short)i);
    sf_write_short(sound, &sample, 1);
  }
  sf_close(sound);
}

static const char *const all_files[] = {"wav.scp",   "segments", "text",      "phones",   "utt2spk",       "spk2utt",
                                        "feats.scp", "cmvn.scp", "feats.ark", "cmvn.ark", "utt2num_frames"};

static void clear_folder(void) {
  for (size_t i = 0; i < sizeof all_files / sizeof *all_files; i++) {
    char name[64];
    snprintf(name, sizeof name, "corpus/train/%s", all_files[i]);
    remove(in_root(name));
  }
}

static struct linnet_data_folder *open_folder(void) {
  struct linnet_data_folder *folder = NULL;
  REQUIRE(linnet_data_folder_open(context, in_root("corpus/train"), &folder) == LINNET_OK, "%s",
          linnet_context_error(context));
  return folder;
}

static bool same(const char *a, const char *b) {
  return a && b ? strcmp(a, b) == 0 : a == b;
}

#define SAME(a, b) CHECK(same(a, b), "%s, not %s", (a) ? (a) : "NULL", (b) ? (b) : "NULL")

/* --- Good folders ------------------------------------------------------------------------------------------------ */

static void test_list(void) {
  struct linnet_data_folder *list = NULL;
  save("corpus/noise.scp", "b a  file.wav\na  two.wav \n");
  CHECK(linnet_data_folder_open_list(context, in_root("corpus/noise.scp"), &list) == LINNET_OK, "%s",
        linnet_context_error(context));
  CHECK(linnet_data_folder_num_utterances(list) == 2, "%zu utterances", linnet_data_folder_num_utterances(list));
  SAME(linnet_data_folder_path(list, 0), in_root("corpus/two.wav"));
  SAME(linnet_data_folder_path(list, 1), in_root("corpus/a  file.wav"));
  linnet_data_folder_destroy(list);
  CHECK(linnet_data_folder_open_list(context, in_root("nowhere.scp"), &list) == LINNET_ERROR_IO && !list, "no list");
}

static void test_whole_folder(void) {
  clear_folder();
  save("corpus/train/wav.scp", "\xef\xbb\xbf"
                               "b-2\tWAVE/b.wav\r\nb-1 a.wav  \n\na-1  /nonexistent/x.wav\nc-1 sox in.wav - |\n");
  save("corpus/train/text", "b-1  HELLO   THERE\nb-2\nz-9 NOT HERE\n");
  save("corpus/train/phones", "b-1\tHH AH L OW\n");
  save("corpus/train/utt2spk", "b-1 b\nb-2 b\na-1 a\nc-1 c\n");
  struct linnet_data_folder *folder = open_folder();
  CHECK(linnet_data_folder_num_utterances(folder) == 4 && linnet_data_folder_num_speakers(folder) == 3,
        "%zu utterances, %zu speakers", linnet_data_folder_num_utterances(folder),
        linnet_data_folder_num_speakers(folder));
  CHECK(strstr(last_warning, "text: 1 of 3 lines"), "no warning, but \"%s\"", last_warning);
  SAME(linnet_data_folder_id(folder, 0), "a-1");
  SAME(linnet_data_folder_id(folder, 2), "b-2");
  SAME(linnet_data_folder_id(folder, 4), NULL);
  CHECK(linnet_data_folder_find(folder, "b-2") == 2 && linnet_data_folder_find(folder, "b") == LINNET_NOT_FOUND,
        "find");
  SAME(linnet_data_folder_text(folder, 0), NULL);
  SAME(linnet_data_folder_text(folder, 1), "HELLO   THERE");
  SAME(linnet_data_folder_text(folder, 2), "");
  SAME(linnet_data_folder_phones(folder, 1), "HH AH L OW");
  SAME(linnet_data_folder_phones(folder, 2), NULL);
  SAME(linnet_data_folder_speaker_name(folder, linnet_data_folder_speaker(folder, 2)), "b");
  SAME(linnet_data_folder_path(folder, 1), in_root("corpus/train/a.wav"));
  SAME(linnet_data_folder_path(folder, 2), in_root("corpus/train/../WAVE/b.wav"));
  SAME(linnet_data_folder_path(folder, 0), "/nonexistent/x.wav");
  SAME(linnet_data_folder_path(folder, 3), NULL);
  SAME(linnet_data_folder_command(folder, 3), "sox in.wav -");
  SAME(linnet_data_folder_command(folder, 1), NULL);
  double start, end;
  linnet_data_folder_segment(folder, 1, &start, &end);
  CHECK(start == 0 && end == -1, "%g to %g", start, end);
  float *samples = NULL;
  size_t n;
  CHECK(linnet_data_folder_audio(folder, context, 2, NULL, &samples, &n) == LINNET_OK && n == 3200 && samples[0] == 7,
        "%s", linnet_context_error(context));
  linnet_audio_release(context, samples);
  CHECK(linnet_data_folder_audio(folder, context, 0, NULL, &samples, &n) == LINNET_ERROR_IO && !samples &&
            strstr(linnet_context_error(context), "a-1: /nonexistent/x.wav"),
        "%s", linnet_context_error(context));
  CHECK(linnet_data_folder_audio(folder, context, 3, NULL, &samples, &n) == LINNET_ERROR_UNSUPPORTED &&
            strstr(linnet_context_error(context), "wav.scp:5: the audio of c-1"),
        "%s", linnet_context_error(context));
  CHECK(linnet_data_folder_audio(folder, context, 4, NULL, &samples, &n) == LINNET_ERROR_ARGUMENT, "utterance 4 of 4");
  struct linnet_matrix matrix = {0};
  struct linnet_cmvn cmvn;
  CHECK(linnet_data_folder_features(folder, context, 0, &matrix) == LINNET_ERROR_STATE, "features from nowhere");
  CHECK(linnet_data_folder_cmvn(folder, context, 0, &cmvn) == LINNET_ERROR_STATE, "statistics from nowhere");
  CHECK(!linnet_data_folder_has_features(folder) && !linnet_data_folder_has_cmvn(folder), "has what it has not");
  linnet_data_folder_destroy(folder);
}

/* "FILE:OFFSET" is a file if there is one of the whole name, here above the folder, which has a file of the rest. */
static void test_colon(void) {
  float *samples = NULL;
  size_t n = 0;
  clear_folder();
  save_wav("corpus/a.wav:1", 800, 5);
  save("corpus/train/wav.scp", "u1 a.wav:1\nu2 a.wav:2\n");
  struct linnet_data_folder *folder = open_folder();
  SAME(linnet_data_folder_path(folder, 0), in_root("corpus/train/../a.wav:1"));
  CHECK(linnet_data_folder_audio(folder, context, 0, NULL, &samples, &n) == LINNET_OK && n == 800 && samples[0] == 5,
        "%zu samples: %s", n, linnet_context_error(context));
  linnet_audio_release(context, samples);
  linnet_data_folder_destroy(folder);
  remove(in_root("corpus/a.wav:1"));
}

static void test_segments(void) {
  clear_folder();
  save("corpus/train/wav.scp", "rec2 ../WAVE/b.wav\nrec1 a.wav\n");
  save("corpus/train/segments", "u3 rec2 0.1 0.15\nu1 rec1 0 0.025\nu2 rec1 0.05 -1\n");
  save("corpus/train/spk2utt", "s2 u3\ns1 u1  u2\n");
  struct linnet_data_folder *folder = open_folder();
  static const size_t counts[] = {400, 800, 800};
  static const float firsts[] = {0, 800, 1607};
  CHECK(linnet_data_folder_num_utterances(folder) == 3, "%zu utterances", linnet_data_folder_num_utterances(folder));
  for (size_t i = 0; i < 3; i++) {
    float *samples = NULL;
    size_t n = 0;
    CHECK(linnet_data_folder_audio(folder, context, i, NULL, &samples, &n) == LINNET_OK && n == counts[i] &&
              samples[0] == firsts[i],
          "u%zu: %zu samples: %s", i + 1, n, linnet_context_error(context));
    linnet_audio_release(context, samples);
    SAME(linnet_data_folder_speaker_name(folder, linnet_data_folder_speaker(folder, i)), i < 2 ? "s1" : "s2");
    SAME(linnet_data_folder_recording(folder, i), i < 2 ? "rec1" : "rec2");
  }
  double start, end;
  linnet_data_folder_segment(folder, 2, &start, &end);
  CHECK(start == 0.1 && end == 0.15, "%g to %g", start, end);
  linnet_data_folder_destroy(folder);
}

/* Without lists of speakers, each utterance is its own speaker; features come from feats.scp with an archive in any
 * folder. */
/* Sizes and positions without values. */
static void test_positions(const struct linnet_scp *scp) {
  size_t rows = 0, cols = 0;
  uint64_t offset = 0;
  CHECK(linnet_scp_size(scp, context, 0, &rows, &cols) == LINNET_OK && rows == 2 && cols == 3, "%zu x %zu", rows, cols);
  CHECK(linnet_scp_size(scp, context, 1, &rows, &cols) == LINNET_OK && rows == 1 && cols == 2, "%zu x %zu", rows, cols);
  CHECK(linnet_scp_size(scp, context, 2, &rows, &cols) == LINNET_ERROR_FORMAT, "a size behind the end");
  const char *first = linnet_scp_location(scp, 0, &offset);
  CHECK(first && strstr(first, "feats.ark") && offset == 3, "%s:%zu", first, (size_t)offset);
  CHECK(linnet_scp_location(scp, 2, &offset) == first && offset == 99999, "another file for the same name");
  CHECK(linnet_scp_location(scp, 1, &offset) != first && offset == 45, "the same file for another name");
  CHECK(!linnet_scp_location(scp, 3, &offset) && !linnet_scp_location(NULL, 0, &offset), "a position of nothing");
}

static void test_num_frames(void) {
  save("corpus/train/utt2num_frames", "u2 7\nu1 123\n");
  struct linnet_data_folder *folder = open_folder();
  CHECK(linnet_data_folder_num_frames(folder, 0) == 123 && linnet_data_folder_num_frames(folder, 1) == 7 &&
            linnet_data_folder_num_frames(folder, 2) == 0 && linnet_data_folder_num_frames(folder, 3) == 0,
        "wrong numbers of frames");
  linnet_data_folder_destroy(folder);
  save("corpus/train/utt2num_frames", "u1 12a\n");
  CHECK(linnet_data_folder_open(context, in_root("corpus/train"), &folder) == LINNET_ERROR_FORMAT &&
            strstr(linnet_context_error(context), "utt2num_frames:1: u1 is not followed by a number of frames"),
        "%s", linnet_context_error(context));
}

static void test_features(void) {
  clear_folder();
  static const float values[] = {1, 2, 3, 4, 5, 6}, bad[] = {1, NAN};
  struct linnet_ark_writer *writer = NULL;
  struct linnet_cmvn cmvn, read;
  linnet_cmvn_reset(&cmvn, 3), linnet_cmvn_accumulate(&cmvn, values, 2);
  REQUIRE(linnet_ark_writer_create(context, in_root("corpus/train/feats.ark"), NULL, LINNET_KALDI_FLOAT, &writer) ==
              LINNET_OK,
          "%s", linnet_context_error(context));
  linnet_ark_write(writer, "u1", values, 2, 3), linnet_ark_write(writer, "u2", bad, 1, 2);
  linnet_ark_write_cmvn(writer, "u1", &cmvn);
  CHECK(linnet_ark_writer_commit(writer) == LINNET_OK, "%s", linnet_context_error(context));
  linnet_ark_writer_destroy(writer);
  save("corpus/train/feats.scp",
       "u1 feats.ark:3\nu2 train/feats.ark:45\nu3 feats.ark:99999\n"); /* one name from above */
  save("corpus/train/cmvn.scp", "u1 feats.ark:71\n");
  struct linnet_data_folder *folder = open_folder();
  struct linnet_matrix matrix = {0};
  CHECK(linnet_data_folder_num_utterances(folder) == 3 && linnet_data_folder_num_speakers(folder) == 3,
        "%zu utterances", linnet_data_folder_num_utterances(folder));
  CHECK(linnet_data_folder_features(folder, context, 0, &matrix) == LINNET_OK && matrix.rows == 2 && matrix.cols == 3 &&
            memcmp(matrix.values, values, sizeof values) == 0,
        "%s", linnet_context_error(context));
  CHECK(linnet_data_folder_features(folder, context, 1, &matrix) == LINNET_ERROR_FORMAT &&
            strstr(linnet_context_error(context), "u2: its stored features are not finite"),
        "%s", linnet_context_error(context));
  CHECK(linnet_data_folder_features(folder, context, 2, &matrix) == LINNET_ERROR_FORMAT &&
            strstr(linnet_context_error(context), "truncated: copy"),
        "%s", linnet_context_error(context));
  CHECK(linnet_data_folder_cmvn(folder, context, 0, &read) == LINNET_OK && memcmp(&read, &cmvn, sizeof cmvn) == 0, "%s",
        linnet_context_error(context));
  CHECK(linnet_data_folder_cmvn(folder, context, 1, &read) == LINNET_ERROR_FORMAT, "statistics of nobody");
  test_positions(linnet_data_folder_scp(folder));
  CHECK(linnet_data_folder_num_frames(folder, 0) == 0, "frames from nowhere");
  float *samples;
  size_t n;
  CHECK(linnet_data_folder_audio(folder, context, 0, NULL, &samples, &n) == LINNET_ERROR_STATE, "audio from nowhere");
  SAME(linnet_data_folder_path(folder, 0), NULL);
  linnet_matrix_release(context, &matrix);
  linnet_data_folder_destroy(folder);
}

/* --- Mistakes ---------------------------------------------------------------------------------------------------- */

static void expect(const char *word) {
  struct linnet_data_folder *folder = (void *)root;
  enum linnet_status status = linnet_data_folder_open(context, in_root("corpus/train"), &folder);
  CHECK(status == LINNET_ERROR_FORMAT && !folder, "\"%s\": %s", word, linnet_status_string(status));
  CHECK(strstr(linnet_context_error(context), word), "\"%s\" does not say \"%s\"", linnet_context_error(context), word);
  linnet_data_folder_destroy(folder);
}

static void expect_segment(const char *line, const char *word) {
  save("corpus/train/segments", line);
  expect(word);
}

static void test_mistakes(void) {
  struct linnet_data_folder *folder;
  CHECK(linnet_data_folder_open(context, in_root("nowhere"), &folder) == LINNET_ERROR_IO, "a folder that is not there");
  CHECK(linnet_data_folder_open(context, in_root("corpus/WAVE/b.wav"), &folder) == LINNET_ERROR_IO, "a file");
  CHECK(linnet_data_folder_open(context, NULL, &folder) == LINNET_ERROR_ARGUMENT, "NULL");
  clear_folder();
  expect("neither wav.scp nor feats.scp");
  save("corpus/train/wav.scp", "a x.wav\nb y.wav\n\na z.wav\n");
  expect("wav.scp:4: a appears twice, first in line 1");
  save("corpus/train/wav.scp", "a x.wav\nb\n");
  expect("wav.scp:2: b is not followed by a file");
  save("corpus/train/wav.scp", "a x.wav\nb y.wav\n");
  save("corpus/train/utt2spk", "a s1 s2\n");
  expect("utt2spk:1: a is not followed by one speaker");
  save("corpus/train/utt2spk", "a\n");
  expect("utt2spk:1: a is not followed by one speaker");
  remove(in_root("corpus/train/utt2spk"));
  expect_segment("u a 0 1\nv q 0 1\n", "segments:2: v is part of a recording that is missing in wav.scp");
  expect_segment("u a 0\n", "segments:1: u is not followed by");
  expect_segment("u a 0 1 2\n", "segments:1: u is not followed by");
  expect_segment("u a zero 1\n", "segments:1: u is not followed by");
  expect_segment("u a 0 nan\n", "segments:1: u is not followed by");
  expect_segment("u\n", "segments:1: u is not followed by");
  expect_segment("u a 2 1\n", "segments:1: u ends before it starts");
  expect_segment("u a -1 1\n", "segments:1: u starts before 0 seconds");
  FILE *file = fopen(in_root("corpus/train/segments"), "wb");
  REQUIRE(file && fwrite("u a 0 \0 1\n", 1, 10, file) == 10 && fclose(file) == 0, "cannot write");
  expect("segments: is binary");
}

/* Lines about utterances that are not there, and about one for a second time. */
static void test_warnings(void) {
  clear_folder();
  save("corpus/train/wav.scp", "u1 a.wav\nu2 a.wav\n");
  save("corpus/train/spk2utt", "s1 u1\ns2 u2 u3\n");
  linnet_data_folder_destroy(open_folder());
  CHECK(strstr(last_warning, "spk2utt: 1 of 2 lines name utterances"), "\"%s\"", last_warning);
  save("corpus/train/spk2utt", "s1 u1\n");
  linnet_data_folder_destroy(open_folder());
  CHECK(strstr(last_warning, "train: 1 of 2 utterances have no speaker"), "\"%s\"", last_warning);
  save("corpus/train/spk2utt", "s2 u2 u1\ns1 u1\n");
  struct linnet_data_folder *folder = open_folder();
  CHECK(
      strstr(last_warning, "spk2utt: lists some utterances under several speakers: each gets the last of them by name"),
      "\"%s\"", last_warning);
  SAME(linnet_data_folder_speaker_name(folder, linnet_data_folder_speaker(folder, 0)), "s2");
  linnet_data_folder_destroy(folder);
  save("corpus/train/spk2utt", "s1 u1 u2\n");
  save("corpus/train/feats.scp", "u1 x.ark:3\nu9 x.ark:99\n");
  linnet_data_folder_destroy(open_folder());
  CHECK(strstr(last_warning, "feats.scp: 1 of 2 lines name utterances"), "\"%s\"", last_warning);
}

/* A list whose file is gone is not the same as no list. */
static void test_dangling_links(void) {
  static const char *const names[] = {"corpus/train/text", "corpus/train/feats.scp"};
  struct linnet_data_folder *folder;
  clear_folder();
  save("corpus/train/wav.scp", "u1 a.wav\n");
  for (size_t i = 0; i < 2; i++) {
    REQUIRE(symlink("nowhere", in_root(names[i])) == 0, "no link");
    CHECK(linnet_data_folder_open(context, in_root("corpus/train"), &folder) == LINNET_ERROR_IO && !folder &&
              strstr(linnet_context_error(context), names[i]) && strstr(linnet_context_error(context), "is a link"),
          "%s", linnet_context_error(context));
    remove(in_root(names[i]));
  }
}

/* An error keeps the end of a long path, and the reason. */
static void test_long_paths(void) {
  char line[700], name[600];
  float *samples;
  size_t n;
  memset(name, 'd', sizeof name);
  for (size_t i = 200; i < sizeof name; i += 200)
    name[i] = '/';
  clear_folder();
  snprintf(line, sizeof line, "u1 %.*s/last.wav\n", (int)sizeof name, name);
  save("corpus/train/wav.scp", line);
  struct linnet_data_folder *folder = open_folder();
  CHECK(linnet_data_folder_audio(folder, context, 0, NULL, &samples, &n) == LINNET_ERROR_IO &&
            strstr(linnet_context_error(context), "last.wav: No such file"),
        "%s", linnet_context_error(context));
  linnet_data_folder_destroy(folder);
}

/* A list that is named without a folder: the folders above, as for other names. */
static void test_list_without_folder(void) {
  char before[4096];
  struct linnet_data_folder *list = NULL;
  save("corpus/train/bare.scp", "b WAVE/b.wav\n");
  REQUIRE(getcwd(before, sizeof before) && chdir(in_root("corpus/train")) == 0, "cannot change the folder");
  CHECK(linnet_data_folder_open_list(context, "bare.scp", &list) == LINNET_OK, "%s", linnet_context_error(context));
  SAME(linnet_data_folder_path(list, 0), "../WAVE/b.wav");
  REQUIRE(chdir(before) == 0, "cannot change the folder");
  linnet_data_folder_destroy(list);
  remove(in_root("corpus/train/bare.scp"));
}

static void test_empty_lists(void) {
  clear_folder();
  save("corpus/train/wav.scp", "");
  struct linnet_data_folder *folder = open_folder();
  CHECK(linnet_data_folder_num_utterances(folder) == 0 && linnet_data_folder_num_speakers(folder) == 0 &&
            linnet_data_folder_find(folder, "a") == LINNET_NOT_FOUND,
        "something in an empty folder");
  linnet_data_folder_destroy(folder);
  linnet_data_folder_destroy(NULL);
}

static enum linnet_status torture_folder(struct linnet_context *tortured) {
  struct linnet_data_folder *folder = NULL;
  float *samples = NULL;
  size_t n;
  enum linnet_status status = linnet_data_folder_open(tortured, in_root("corpus/train"), &folder);
  if (status == LINNET_OK)
    status = linnet_data_folder_audio(folder, tortured, 0, NULL, &samples, &n);
  linnet_audio_release(tortured, samples);
  linnet_data_folder_destroy(folder);
  return status;
}

static void test_torture(void) {
  clear_folder();
  save("corpus/train/wav.scp", "rec2 ../WAVE/b.wav\nrec1 a.wav\n");
  save("corpus/train/segments", "u3 rec2 0.1 0.15\nu1 rec1 0 0.025\n");
  save("corpus/train/text", "u3 ONE\nu1 TWO\n");
  save("corpus/train/spk2utt", "s2 u3\n");
  save("corpus/train/feats.scp", "u3 x.ark:1\n");
  torture("data folder", torture_folder);
}

/* Real folders, if they are there: audio found, texts complete. */
static void test_real(const char *name, size_t min_utterances) {
  char list[128], path[4096];
  snprintf(list, sizeof list, "%s/wav.scp", name);
  const char *found = test_data(list);
  if (!found) {
    printf("%s is not there: not checked\n", name);
    return;
  }
  snprintf(path, sizeof path, "%.*s", (int)(strrchr(found, '/') - found), found);
  struct linnet_data_folder *folder = NULL;
  REQUIRE(linnet_data_folder_open(context, path, &folder) == LINNET_OK, "%s", linnet_context_error(context));
  size_t missing = 0, silent = 0, count = linnet_data_folder_num_utterances(folder);
  for (size_t i = 0; i < count; i++) {
    missing += access(linnet_data_folder_path(folder, i), R_OK) != 0;
    silent += linnet_data_folder_text(folder, i) == NULL;
  }
  CHECK(count >= min_utterances && missing == 0 && silent == 0,
        "%s: %zu utterances, %zu without file, %zu without text", name, count, missing, silent);
  float *samples = NULL;
  size_t n = 0;
  CHECK(linnet_data_folder_audio(folder, context, count / 2, NULL, &samples, &n) == LINNET_OK && n > 8000, "%s",
        linnet_context_error(context));
  linnet_audio_release(context, samples);
  printf("%s: %zu utterances of %zu speakers\n", name, count, linnet_data_folder_num_speakers(folder));
  linnet_data_folder_destroy(folder);
}

int main(void) {
  struct linnet_context_settings settings;
  linnet_context_settings_default(&settings);
  settings.log = remember;
  REQUIRE(linnet_context_create(&settings, &context) == LINNET_OK, "no context");
  snprintf(root, sizeof root, "%s/test_data_folder_%ld", TEST_BINARY_DIR, (long)getpid());
  REQUIRE(mkdir(root, 0777) == 0 && mkdir(in_root("corpus"), 0777) == 0 && mkdir(in_root("corpus/train"), 0777) == 0 &&
              mkdir(in_root("corpus/WAVE"), 0777) == 0,
          "cannot make %s", root);
  save_wav("corpus/train/a.wav", 1600, 0);
  save_wav("corpus/WAVE/b.wav", 3200, 7);
  test_list();
  test_whole_folder();
  test_colon();
  test_segments();
  test_features();
  test_num_frames();
  test_mistakes();
  test_warnings();
  test_dangling_links();
  test_long_paths();
  test_list_without_folder();
  test_empty_lists();
  test_torture();
  test_real("speechocean762/train", 1000);
  test_real("kathleen", 1000);
  clear_folder();
  remove(in_root("corpus/train/a.wav")), remove(in_root("corpus/WAVE/b.wav"));
  rmdir(in_root("corpus/train")), rmdir(in_root("corpus/WAVE")), rmdir(in_root("corpus")), rmdir(root);
  linnet_context_destroy(context);
  return test_result();
}
