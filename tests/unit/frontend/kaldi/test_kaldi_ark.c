/* Kaldi archives: files of Kaldi's own code (tests/golden/make_ark.py), round trips of all forms, script files, CMVN
 * statistics, frame shifts, pipes, and hostile files. */
#include <linnet/kaldi.h>

#include <float.h>
#include <unistd.h>

#include "allocators.h"
#include "locales.h"

static struct linnet_context *context;

static const char *scratch(const char *name) {
  static char paths[4][4200];
  static int next;
  char *path = paths[next++ % 4];
  snprintf(path, sizeof *paths, "%s/ark_%ld_%s", TEST_BINARY_DIR, (long)getpid(), name);
  return path;
}

static unsigned char *slurp(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  REQUIRE(file, "%s: cannot open", path);
  unsigned char *data = malloc(1 << 20);
  REQUIRE(data, "out of memory");
  *size = fread(data, 1, 1 << 20, file);
  fclose(file);
  return data;
}

static void save(const char *path, const void *data, size_t size) {
  FILE *file = fopen(path, "wb");
  REQUIRE(file && fwrite(data, 1, size, file) == size && fclose(file) == 0, "%s: cannot write", path);
}

static struct linnet_ark *open_ark(const char *path) {
  struct linnet_ark *ark = NULL;
  REQUIRE(linnet_ark_open(context, path, &ark) == LINNET_OK, "%s", linnet_context_error(context));
  return ark;
}

/* The matrix of a key, which must be there; release it. */
static struct linnet_matrix find(const char *path, const char *wanted) {
  struct linnet_ark *ark = open_ark(path);
  struct linnet_matrix matrix = {0};
  const char *key;
  enum linnet_status status;
  while ((status = linnet_ark_next(ark, &key, &matrix)) == LINNET_OK && strcmp(key, wanted) != 0)
    ;
  REQUIRE(status == LINNET_OK, "%s: no %s: %s", path, wanted, linnet_context_error(context));
  linnet_ark_destroy(ark);
  return matrix;
}

/* --- Golden files ------------------------------------------------------------------------------------------------- */

static float range_of(const struct linnet_matrix *m) {
  float low = m->values[0], high = low;
  for (size_t i = 1; i < m->rows * m->cols; i++)
    low = fminf(low, m->values[i]), high = fmaxf(high, m->values[i]);
  return high - low;
}

static void compare(const char *what, const struct linnet_matrix *a, const struct linnet_matrix *b, double bound) {
  CHECK(a->rows == b->rows && a->cols == b->cols, "%s: %zu x %zu, not %zu x %zu", what, a->rows, a->cols, b->rows,
        b->cols);
  if (a->rows != b->rows || a->cols != b->cols || a->rows == 0)
    return;
  double worst = 0, scale = range_of(b) + 1;
  for (size_t i = 0; i < a->rows * a->cols; i++)
    worst = fmax(worst, fabs((double)a->values[i] - b->values[i]) / scale);
  CHECK(worst <= bound, "%s: error %.1e of the range, bound %.0e", what, worst, bound);
  printf("%s: error %.1e of the range, bound %.0e\n", what, worst, bound);
}

static char golden_forms[4096], golden_text[4096], golden_expected[4096];

static void check_golden(const char *path, size_t count, double bound) {
  struct linnet_ark *ark = open_ark(path);
  struct linnet_matrix matrix = {0};
  const char *key;
  size_t found = 0;
  enum linnet_status status;
  while ((status = linnet_ark_next(ark, &key, &matrix)) == LINNET_OK) {
    struct linnet_matrix expected = find(golden_expected, key);
    compare(key, &matrix, &expected, strcmp(key, "double") == 0 || strcmp(key, "float") == 0 ? bound : 1e-6);
    linnet_matrix_release(context, &expected);
    found++;
  }
  CHECK(status == LINNET_END && found == count, "%zu matrices of %zu: %s", found, count, linnet_context_error(context));
  CHECK(linnet_ark_next(ark, &key, &matrix) == LINNET_END, "no end the second time");
  linnet_matrix_release(context, &matrix);
  linnet_ark_destroy(ark);
}

/* Linnet writes each form byte for byte as Kaldi does. */
static void check_same_bytes(const char *key, enum linnet_kaldi_form form, const float *values, size_t rows,
                             size_t cols) {
  size_t golden_size, size;
  unsigned char *golden = slurp(golden_forms, &golden_size);
  struct linnet_ark_writer *writer = NULL;
  const char *path = scratch("same.ark");
  REQUIRE(linnet_ark_writer_create(context, path, NULL, form, &writer) == LINNET_OK, "%s",
          linnet_context_error(context));
  CHECK(linnet_ark_write(writer, key, values, rows, cols) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_ark_writer_commit(writer) == LINNET_OK, "%s", linnet_context_error(context));
  linnet_ark_writer_destroy(writer);
  unsigned char *ours = slurp(path, &size);
  bool same = false;
  for (size_t i = 0; i + size <= golden_size && !same; i++)
    same = memcmp(golden + i, ours, size) == 0;
  CHECK(same, "%s: other bytes than Kaldi", key);
  remove(path);
  free(golden), free(ours);
}

static void test_golden(void) {
  snprintf(golden_forms, sizeof golden_forms, "%s", test_source("tests/golden/kaldi_forms.ark"));
  snprintf(golden_text, sizeof golden_text, "%s", test_source("tests/golden/kaldi_text.ark"));
  snprintf(golden_expected, sizeof golden_expected, "%s", test_source("tests/golden/kaldi_expected.ark"));
  check_golden(golden_forms, 8, 0);
  check_golden(golden_text, 2, 1e-6); /* Kaldi prints seven digits */
  struct linnet_matrix source = find(golden_expected, "float");
  static const float constant[] = {7.5, 7.5, 7.5, 7.5, 7.5, 7.5, 7.5, 7.5, 7.5, 7.5, 7.5, 7.5, 7.5, 7.5, 7.5};
  check_same_bytes("float", LINNET_KALDI_FLOAT, source.values, source.rows, source.cols);
  check_same_bytes("cm", LINNET_KALDI_CM, source.values, source.rows, source.cols);
  check_same_bytes("cm2", LINNET_KALDI_CM2, source.values, source.rows, source.cols);
  check_same_bytes("cm3", LINNET_KALDI_CM3, source.values, source.rows, source.cols);
  check_same_bytes("few-cm", LINNET_KALDI_CM, source.values, 4, source.cols);
  check_same_bytes("constant-cm", LINNET_KALDI_CM, constant, 5, 3);
  linnet_matrix_release(context, &source);
}

/* --- There and back ----------------------------------------------------------------------------------------------- */

/* The largest error that a form may make, relative to the range of the matrix plus one. Between the quantiles of a
 * column CM has 64, 128 and 63 steps. */
static const double form_bounds[] = {0, 0, 0.51 / 63, 0.51 / 65535 + 1e-6, 0.51 / 255, 0};

static float *random_values(struct test_random *random, size_t rows, size_t cols) {
  float *values = malloc((rows * cols + 1) * sizeof *values);
  for (size_t i = 0; i < rows * cols; i++)
    values[i] = (float)(test_uniform(random) * (1 + (double)(i % cols)) + (double)(i % cols));
  return values;
}

static void check_round_trip(enum linnet_kaldi_form form, struct test_random *random) {
  static const size_t shapes[][2] = {{1, 1}, {3, 40}, {7, 1}, {257, 40}, {1000, 13}, {0, 0}};
  enum { SHAPES = sizeof shapes / sizeof *shapes };
  const char *path = scratch("round.ark"), *scp_path = scratch("round.scp");
  float *values[SHAPES];
  char key[32];
  struct linnet_ark_writer *writer = NULL;
  REQUIRE(linnet_ark_writer_create(context, path, scp_path, form, &writer) == LINNET_OK, "%s",
          linnet_context_error(context));
  for (size_t i = 0; i < SHAPES; i++) {
    values[i] = random_values(random, shapes[i][0], shapes[i][1]);
    snprintf(key, sizeof key, "utt-%zu", SHAPES - i);
    CHECK(linnet_ark_write(writer, key, values[i], shapes[i][0], shapes[i][1]) == LINNET_OK, "%s",
          linnet_context_error(context));
  }
  CHECK(access(path, F_OK) != 0, "the archive is there before it is complete");
  CHECK(linnet_ark_writer_commit(writer) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_ark_write(writer, "late", values[0], 1, 1) == LINNET_ERROR_STATE, "written after the commit");
  linnet_ark_writer_destroy(writer);

  struct linnet_scp *scp = NULL;
  struct linnet_ark *ark = open_ark(path);
  struct linnet_matrix matrix = {0}, sequential = {0};
  REQUIRE(linnet_scp_open(context, scp_path, &scp) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_scp_num_entries(scp) == SHAPES, "%zu entries", linnet_scp_num_entries(scp));
  for (size_t i = 0; i < SHAPES; i++) {
    const char *sequential_key;
    snprintf(key, sizeof key, "utt-%zu", SHAPES - i);
    REQUIRE(linnet_ark_next(ark, &sequential_key, &sequential) == LINNET_OK && strcmp(sequential_key, key) == 0, "%s",
            linnet_context_error(context));
    REQUIRE(linnet_scp_read(scp, context, linnet_scp_find(scp, key), &matrix) == LINNET_OK, "%s",
            linnet_context_error(context));
    struct linnet_matrix expected = {shapes[i][0], shapes[i][1], values[i], 0};
    char what[64];
    snprintf(what, sizeof what, "form %d, %zu x %zu", (int)form, shapes[i][0], shapes[i][1]);
    compare(what, &matrix, &expected, form_bounds[form]);
    compare(what, &sequential, &matrix, 0);
    free(values[i]);
  }
  CHECK(linnet_scp_find(scp, "nobody") == LINNET_NOT_FOUND, "found nobody");
  CHECK(linnet_scp_read(scp, context, SHAPES, &matrix) == LINNET_ERROR_ARGUMENT, "read beyond the end");
  linnet_matrix_release(context, &matrix);
  linnet_matrix_release(context, &sequential);
  linnet_scp_destroy(scp);
  linnet_ark_destroy(ark);
  remove(path), remove(scp_path);
}

static void test_round_trips(void) {
  struct test_random random = {9};
  for (enum linnet_kaldi_form form = LINNET_KALDI_FLOAT; form <= LINNET_KALDI_TEXT; form++)
    check_round_trip(form, &random);
}

/* Values so close together that their quantiles are equal as floats. */
static void test_close_values(void) {
  enum { ROWS = 12 };
  const char *path = scratch("close.ark");
  float values[ROWS];
  for (size_t i = 0; i < ROWS; i++)
    values[i] = 1e6f + 0.0625f * (float)(i % 3);
  struct linnet_ark_writer *writer = NULL;
  REQUIRE(linnet_ark_writer_create(context, path, NULL, LINNET_KALDI_CM, &writer) == LINNET_OK, "%s",
          linnet_context_error(context));
  CHECK(linnet_ark_write(writer, "close", values, ROWS, 1) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_ark_writer_commit(writer) == LINNET_OK, "%s", linnet_context_error(context));
  linnet_ark_writer_destroy(writer);
  struct linnet_matrix matrix = find(path, "close"), expected = {ROWS, 1, values, 0};
  compare("close values", &matrix, &expected, 0.01);
  linnet_matrix_release(context, &matrix);
  remove(path);
}

/* --- Frame shifts ------------------------------------------------------------------------------------------------- */

/* Writes an archive of one matrix; seconds 0: without a frame shift. */
static void write_shifted(const char *path, const char *scp_path, double seconds) {
  struct linnet_ark_writer *writer = NULL;
  REQUIRE(linnet_ark_writer_create(context, path, scp_path, LINNET_KALDI_TEXT, &writer) == LINNET_OK, "%s",
          linnet_context_error(context));
  CHECK(linnet_ark_writer_set_frame_shift(writer, 0) == LINNET_ERROR_ARGUMENT, "0 s");
  CHECK(linnet_ark_writer_set_frame_shift(writer, NAN) == LINNET_ERROR_ARGUMENT, "NaN");
  CHECK(linnet_ark_writer_set_frame_shift(writer, INFINITY) == LINNET_ERROR_ARGUMENT, "infinity");
  if (seconds > 0)
    CHECK(linnet_ark_writer_set_frame_shift(writer, seconds) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_ark_write(writer, "key", (float[]){1, 2, 3}, 1, 3) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_ark_writer_commit(writer) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_ark_writer_set_frame_shift(writer, 1) == LINNET_ERROR_STATE, "set too late");
  linnet_ark_writer_destroy(writer);
}

static void expect_shift(const char *path, const char *scp_path, enum linnet_status status, double wanted) {
  struct linnet_ark *ark = open_ark(path);
  struct linnet_scp *scp = NULL;
  double seconds = -1, of_entry = -1;
  CHECK(linnet_ark_frame_shift(ark, &seconds) == status, "%s", linnet_context_error(context));
  REQUIRE(linnet_scp_open(context, scp_path, &scp) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_scp_frame_shift(scp, context, 0, &of_entry) == status, "%s", linnet_context_error(context));
  CHECK(status != LINNET_OK || (seconds == wanted && of_entry == wanted), "%g and %g, expected %g", seconds, of_entry,
        wanted);
  CHECK(status == LINNET_OK || strstr(linnet_context_error(context), "shifted.ark.frame_shift: must hold"), "%s",
        linnet_context_error(context));
  CHECK(linnet_scp_frame_shift(scp, context, 1, &of_entry) == LINNET_ERROR_ARGUMENT, "of no entry");
  linnet_scp_destroy(scp);
  linnet_ark_destroy(ark);
}

static void test_frame_shifts(void) {
  static const char *const bad[] = {
      "",    "\n",  "x",      "0",    "-1",
      "nan", "inf", "0.01 s", "0,01", "0.01000000000000000000000000000000000000000000000000000000000000000000000"};
  static const double good[] = {0.01, 0.03, 220 / 22050.0 * 3, 1e-4, 7};
  const char *path = scratch("shifted.ark"), *scp_path = scratch("shifted.scp"),
             *beside = scratch("shifted.ark.frame_shift");
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    struct linnet_ark *ark = NULL;
    double seconds = -1;
    write_shifted(path, scp_path, good[i]);
    REQUIRE(linnet_ark_open(context, path, &ark) == LINNET_OK, "%s", linnet_context_error(context));
    CHECK(linnet_ark_frame_shift(ark, &seconds) == LINNET_OK && fabs(seconds - good[i]) <= 1e-14 * good[i],
          "%.17g, expected %.17g", seconds, good[i]);
    linnet_ark_destroy(ark);
    expect_shift(path, scp_path, LINNET_OK, seconds);
  }
  write_shifted(path, scp_path, 0); /* that of an older archive is removed */
  CHECK(access(beside, F_OK) != 0, "the frame shift of an archive that is gone");
  expect_shift(path, scp_path, LINNET_OK, 0);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    save(beside, bad[i], strlen(bad[i]));
    expect_shift(path, scp_path, LINNET_ERROR_FORMAT, 0);
  }
  struct linnet_ark *ark = NULL;
  double seconds = -1;
  REQUIRE(linnet_ark_open_memory(context, "a [ 1 ]", 7, path, &ark) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_ark_frame_shift(ark, &seconds) == LINNET_OK && seconds == 0, "%g s of memory", seconds);
  linnet_ark_destroy(ark);
  remove(path), remove(scp_path), remove(beside);
}

/* --- Locales and pipes -------------------------------------------------------------------------------------------- */

/* Text that is written in one locale is read in another. */
static void check_locales(const char *writing, const char *reading) {
  static const float values[2] = {0.5f, -1.25f};
  const char *path = scratch("locale.ark"), *key;
  struct linnet_ark_writer *writer = NULL;
  struct linnet_matrix matrix = {0};
  setlocale(LC_ALL, writing);
  REQUIRE(linnet_ark_writer_create(context, path, NULL, LINNET_KALDI_TEXT, &writer) == LINNET_OK, "%s",
          linnet_context_error(context));
  CHECK(linnet_ark_write(writer, "a", values, 1, 2) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_ark_writer_commit(writer) == LINNET_OK, "%s", linnet_context_error(context));
  linnet_ark_writer_destroy(writer);
  setlocale(LC_ALL, reading);
  struct linnet_ark *ark = open_ark(path);
  CHECK(linnet_ark_next(ark, &key, &matrix) == LINNET_OK && matrix.cols == 2 && matrix.values[0] == values[0] &&
            matrix.values[1] == values[1],
        "from %s to %s: %s", writing, reading, linnet_context_error(context));
  setlocale(LC_ALL, "C");
  linnet_matrix_release(context, &matrix);
  linnet_ark_destroy(ark);
  remove(path);
}

static void test_locale(void) {
  for (size_t i = 0; i < TEST_LOCALES; i++)
    if (test_set_locale(test_locales[i])) {
      check_locales("C", test_locales[i]);
      check_locales(test_locales[i], "C");
    }
}

static void test_pipe(void) {
  size_t size;
  unsigned char *data = slurp(golden_forms, &size);
  int fds[2];
  REQUIRE(pipe(fds) == 0 && write(fds[1], data, size) == (ssize_t)size, "pipe");
  close(fds[1]);
  char path[64];
  snprintf(path, sizeof path, "/dev/fd/%d", fds[0]);
  check_golden(path, 8, 0);
  close(fds[0]);
  free(data);
}

/* --- CMVN statistics ---------------------------------------------------------------------------------------------- */

static void make_cmvn(struct linnet_cmvn *cmvn) {
  static float features[30 * 7];
  struct test_random random = {4};
  test_fill(&random, features, 30 * 7);
  linnet_cmvn_reset(cmvn, 7);
  linnet_cmvn_accumulate(cmvn, features, 30);
}

static void test_cmvn(void) {
  struct linnet_cmvn cmvn, read;
  make_cmvn(&cmvn);
  for (int text = 0; text < 2; text++) {
    const char *path = scratch("cmvn.ark"), *scp_path = scratch("cmvn.scp"), *key;
    struct linnet_ark_writer *writer = NULL;
    REQUIRE(linnet_ark_writer_create(context, path, scp_path, text ? LINNET_KALDI_TEXT : LINNET_KALDI_CM, &writer) ==
                LINNET_OK,
            "%s", linnet_context_error(context));
    CHECK(linnet_ark_write_cmvn(writer, "speaker", &cmvn) == LINNET_OK, "%s", linnet_context_error(context));
    CHECK(linnet_ark_write(writer, "other", (float[]){1, 2, 3}, 1, 3) == LINNET_OK, "%s",
          linnet_context_error(context));
    CHECK(linnet_ark_writer_commit(writer) == LINNET_OK, "%s", linnet_context_error(context));
    linnet_ark_writer_destroy(writer);
    struct linnet_ark *ark = open_ark(path);
    CHECK(linnet_ark_next_cmvn(ark, &key, &read) == LINNET_OK && memcmp(&cmvn, &read, sizeof read) == 0,
          "other statistics: %s", linnet_context_error(context));
    CHECK(linnet_ark_next_cmvn(ark, &key, &read) == LINNET_ERROR_FORMAT, "a row of three numbers as statistics");
    linnet_ark_destroy(ark);
    struct linnet_scp *scp = NULL;
    REQUIRE(linnet_scp_open(context, scp_path, &scp) == LINNET_OK, "%s", linnet_context_error(context));
    memset(&read, 0, sizeof read);
    CHECK(linnet_scp_read_cmvn(scp, context, 1, &read) == LINNET_OK && memcmp(&cmvn, &read, sizeof read) == 0,
          "other statistics: %s", linnet_context_error(context));
    linnet_scp_destroy(scp);
    remove(path), remove(scp_path);
  }
  const char *path = scratch("global");
  CHECK(linnet_cmvn_write(context, path, &cmvn) == LINNET_OK, "%s", linnet_context_error(context));
  memset(&read, 0, sizeof read);
  CHECK(linnet_cmvn_read(context, path, &read) == LINNET_OK && memcmp(&cmvn, &read, sizeof read) == 0, "%s",
        linnet_context_error(context));
  struct linnet_matrix matrix = {0};
  CHECK(linnet_matrix_read(context, path, &matrix) == LINNET_OK && matrix.rows == 2 && matrix.cols == 8 &&
            matrix.values[7] == 30,
        "%s", linnet_context_error(context));
  linnet_matrix_release(context, &matrix);
  remove(path);
  path = scratch("statistics:2026"); /* no offset */
  memset(&read, 0, sizeof read);
  CHECK(linnet_cmvn_write(context, path, &cmvn) == LINNET_OK && linnet_cmvn_read(context, path, &read) == LINNET_OK &&
            memcmp(&cmvn, &read, sizeof read) == 0,
        "%s", linnet_context_error(context));
  remove(path);
}

/* --- Refusals ----------------------------------------------------------------------------------------------------- */

static void test_refusals(void) {
  struct linnet_ark_writer *writer = NULL;
  struct linnet_scp *scp = NULL;
  struct linnet_ark *ark = NULL;
  const char *path = scratch("refused.ark");
  static const float bad[] = {1, INFINITY}, wide[] = {-FLT_MAX, FLT_MAX};
  REQUIRE(linnet_ark_writer_create(context, path, NULL, LINNET_KALDI_CM2, &writer) == LINNET_OK, "%s",
          linnet_context_error(context));
  CHECK(linnet_ark_write(writer, "", bad, 1, 1) == LINNET_ERROR_ARGUMENT, "empty key");
  CHECK(linnet_ark_write(writer, "two words", bad, 1, 1) == LINNET_ERROR_ARGUMENT, "key with a space");
  CHECK(linnet_ark_write(writer, "key", NULL, 1, 1) == LINNET_ERROR_ARGUMENT, "NULL values");
  CHECK(linnet_ark_write(writer, "key", bad, 1, 2) == LINNET_ERROR_NUMERIC, "compressed infinity");
  CHECK(linnet_ark_write(writer, "key", wide, 1, 2) == LINNET_ERROR_NUMERIC, "compressed extremes");
  CHECK(linnet_ark_write(writer, "key", bad, SIZE_MAX / 2, 4) == LINNET_ERROR_LIMIT, "a product that wraps");
  linnet_ark_writer_destroy(writer);
  CHECK(access(path, F_OK) != 0, "abandoned, but there");
  CHECK(linnet_ark_writer_create(context, "/nonexistent/x.ark", NULL, LINNET_KALDI_FLOAT, &writer) == LINNET_ERROR_IO &&
            !writer,
        "written nowhere");
  CHECK(linnet_ark_open(context, "/nonexistent/x.ark", &ark) == LINNET_ERROR_IO && !ark, "opened nothing");
  CHECK(linnet_scp_open(context, "/nonexistent/x.scp", &scp) == LINNET_ERROR_IO && !scp, "opened nothing");
  linnet_ark_destroy(NULL), linnet_scp_destroy(NULL), linnet_ark_writer_destroy(NULL);
}

/* Messages name a key that cannot be read, and the end of a long path. */
static void test_messages(void) {
  char name[700];
  const char *key;
  struct linnet_matrix matrix = {0};
  struct linnet_ark *ark = NULL;
  static const char text[] = "utterance-one [ 1 2 ]\nxy\n";
  memset(name, 'd', sizeof name);
  snprintf(name + 600, sizeof name - 600, "/last.ark");
  REQUIRE(linnet_ark_open_memory(context, text, sizeof text - 1, name, &ark) == LINNET_OK, "%s",
          linnet_context_error(context));
  CHECK(linnet_ark_next(ark, &key, &matrix) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_ark_next(ark, &key, &matrix) == LINNET_ERROR_FORMAT &&
            strstr(linnet_context_error(context),
                   "/last.ark, matrix xy: no space and matrix follow the key: is this a Kaldi archive?"),
        "%s", linnet_context_error(context));
  linnet_ark_destroy(ark);
  REQUIRE(linnet_ark_open_memory(context, NULL, 0, NULL, &ark) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_ark_next(ark, &key, &matrix) == LINNET_END, "something in nothing");
  linnet_ark_destroy(ark);
  linnet_matrix_release(context, &matrix);
}

static void expect_scp(const char *text, enum linnet_status expected, const char *word) {
  struct linnet_scp *scp = NULL;
  const char *path = scratch("bad.scp");
  save(path, text, strlen(text));
  enum linnet_status status = linnet_scp_open(context, path, &scp);
  CHECK(status == expected && strstr(linnet_context_error(context), word), "\"%s\" gave %s: %s", text,
        linnet_status_string(status), linnet_context_error(context));
  linnet_scp_destroy(scp);
  remove(path);
}

static void test_bad_scps(void) {
  expect_scp("a x.ark:1\nb y.ark\na z.ark:2\n", LINNET_ERROR_FORMAT, "bad.scp:3: a appears twice, first in line 1");
  expect_scp("a\n", LINNET_ERROR_FORMAT, "bad.scp:1: a is not followed by a file");
  expect_scp("\n\nb gunzip -c x.gz |\n", LINNET_ERROR_UNSUPPORTED, "bad.scp:3: b is a command");
  expect_scp("a x.ark:5[0:3]\n", LINNET_ERROR_UNSUPPORTED, "range of rows");
  static char name[70000] = "a ";
  memset(name + 2, 'x', 65536);
  expect_scp(name, LINNET_ERROR_LIMIT, "bad.scp: a file name has more than 65535 bytes");
}

/* --- Hostile files ------------------------------------------------------------------------------------------------ */

/* Reads all it can; returns the matrices read. */
static size_t read_all(const void *data, size_t size, enum linnet_status *status) {
  struct linnet_ark *ark = NULL;
  struct linnet_matrix matrix = {0};
  const char *key;
  size_t count = 0;
  *status = linnet_ark_open_memory(context, data, size, "hostile", &ark);
  while (*status == LINNET_OK && (*status = linnet_ark_next(ark, &key, &matrix)) == LINNET_OK)
    count++;
  if (*status != LINNET_END) {
    CHECK(linnet_ark_next(ark, &key, &matrix) == *status && !key, "went on after a failure");
    CHECK(linnet_context_error(context)[0], "no sentence");
  }
  linnet_matrix_release(context, &matrix);
  linnet_ark_destroy(ark);
  return count;
}

static void check_cuts_and_changes(const char *path, size_t matrices) {
  size_t size, whole = 0, noticed = 0;
  unsigned char *data = slurp(path, &size);
  enum linnet_status status;
  for (size_t cut = 0; cut <= size; cut++) {
    unsigned char *copy = malloc(cut + 1);
    memcpy(copy, data, cut);
    size_t count = read_all(copy, cut, &status);
    CHECK(count <= matrices && (cut < size || count == matrices), "cut at %zu: %zu matrices", cut, count);
    CHECK(status == LINNET_END || status == LINNET_ERROR_FORMAT, "cut at %zu: %s", cut, linnet_status_string(status));
    whole += status == LINNET_END;
    free(copy);
  }
  /* Truncation is detected unless it is between two matrices or drops only white space at the end of a text. */
  CHECK(whole >= matrices + 1 && whole <= 2 * (matrices + 1), "%zu cuts of %zu went unnoticed", whole, size + 1);
  struct test_random random = {6};
  for (size_t i = 0; i < 4 * size; i++) {
    size_t at = i < size ? i : test_below(&random, size);
    unsigned char old = data[at];
    data[at] = i < size ? 0xff : (unsigned char)test_next(&random);
    read_all(data, size, &status);
    noticed += status != LINNET_END;
    data[at] = old;
  }
  CHECK(noticed > 0, "no change was noticed");
  printf("%zu bytes: %zu of %zu changes noticed\n", size, noticed, 4 * size);
  free(data);
}

/* A header with little data is refused, without much memory. */
static void check_claim(const char *what, const char *token, uint32_t first, uint32_t second, float min, float range,
                        enum linnet_status expected) {
  unsigned char data[200] = "key ";
  size_t n = 4;
  data[n++] = 0, data[n++] = 'B';
  memcpy(data + n, token, strlen(token));
  n += strlen(token);
  uint32_t words[4] = {0, 0, first, second};
  memcpy(words, &min, 4), memcpy(words + 1, &range, 4);
  if (token[0] == 'C') {
    memcpy(data + n, words, 16); /* the test, unlike the library, runs on little-endian machines only */
    n += 16;
  } else {
    data[n++] = 4, memcpy(data + n, &first, 4), n += 4;
    data[n++] = 4, memcpy(data + n, &second, 4), n += 4;
  }
  struct usage usage;
  struct linnet_context *counted = counting_context(&usage);
  struct linnet_ark *ark = NULL;
  struct linnet_matrix matrix = {0};
  const char *key;
  REQUIRE(linnet_ark_open_memory(counted, data, n + 20, "claim", &ark) == LINNET_OK, "%s",
          linnet_context_error(counted));
  enum linnet_status status = linnet_ark_next(ark, &key, &matrix);
  CHECK(status == expected, "%s: %s, not %s", what, linnet_status_string(status), linnet_status_string(expected));
  CHECK(usage.peak < 400000, "%s: %zu bytes allocated, bound 400000", what, usage.peak);
  linnet_matrix_release(counted, &matrix);
  linnet_ark_destroy(ark);
  linnet_context_destroy(counted);
}

static void test_claims(void) {
  check_claim("2^31 - 1 squared", "FM ", 0x7fffffff, 0x7fffffff, 0, 0, LINNET_ERROR_LIMIT);
  check_claim("just within the limit", "FM ", 1 << 15, 1 << 15, 0, 0, LINNET_ERROR_FORMAT);
  check_claim("double", "DM ", 1 << 10, 1 << 20, 0, 0, LINNET_ERROR_FORMAT);
  check_claim("negative rows", "FM ", 0xffffffff, 1, 0, 0, LINNET_ERROR_FORMAT);
  check_claim("negative columns", "DM ", 1, 0x80000000, 0, 0, LINNET_ERROR_FORMAT);
  check_claim("compressed", "CM ", 1 << 15, 1 << 14, 0, 1, LINNET_ERROR_FORMAT);
  check_claim("compressed, a row, many columns", "CM ", 1, 1 << 30, 0, 1, LINNET_ERROR_FORMAT);
  check_claim("compressed, negative", "CM2 ", 0x80000000, 1, 0, 1, LINNET_ERROR_FORMAT);
  check_claim("range not a number", "CM3 ", 2, 2, 0, NAN, LINNET_ERROR_FORMAT);
  check_claim("infinite minimum", "CM ", 2, 2, INFINITY, 1, LINNET_ERROR_FORMAT);
  check_claim("negative range", "CM ", 2, 2, 0, -1, LINNET_ERROR_FORMAT);
  check_claim("range that overflows", "CM2 ", 2, 2, FLT_MAX, FLT_MAX, LINNET_ERROR_FORMAT);
  check_claim("no rows", "FM ", 0, 0x7fffffff, 0, 0, LINNET_OK);
  check_claim("unknown kind", "XY ", 1, 1, 0, 0, LINNET_ERROR_UNSUPPORTED);
}

static void expect_text(const char *text, enum linnet_status expected) {
  enum linnet_status status;
  read_all(text, strlen(text), &status);
  CHECK(status == expected, "\"%.60s\" gave %s, not %s", text, linnet_status_string(status),
        linnet_status_string(expected));
}

static void test_texts(void) {
  expect_text("", LINNET_END);
  expect_text("\n \n", LINNET_END);
  expect_text("a [ 1 2\n 3 4 ]\nb [ ]\nc [ 5 ]", LINNET_END);
  expect_text("a  [\r\n 1 2 \r\n 3 4 ]\r\n", LINNET_END);
  expect_text("a [ 1 2 ; 3 4 ]", LINNET_END);
  expect_text("a [ 1 2\n 3 ]\n", LINNET_ERROR_FORMAT);
  expect_text("a [ 1 x ]\n", LINNET_ERROR_FORMAT);
  expect_text("a [ 1 2", LINNET_ERROR_FORMAT);
  expect_text("a 1 2 ]", LINNET_ERROR_FORMAT);
  expect_text("a [ 1111111111111111111111111111111111111111111111111111111111111111111111111111 ]",
              LINNET_ERROR_FORMAT);
  expect_text("a", LINNET_ERROR_FORMAT);
  expect_text("a\n[ 1 ]", LINNET_ERROR_FORMAT);
  char long_key[2000];
  memset(long_key, 'k', sizeof long_key);
  memcpy(long_key + 1990, " [ 1 ]", 7);
  expect_text(long_key, LINNET_ERROR_FORMAT);
  expect_text(long_key + 1990 - LINNET_KALDI_MAX_KEY, LINNET_END);
  expect_text(long_key + 1989 - LINNET_KALDI_MAX_KEY, LINNET_ERROR_FORMAT);
}

/* Doubles out of the range of a float become infinite. */
static void test_large_numbers(void) {
  static const char text[] = "a [ 1e300 -1e300 3e38 -3e38 1e-300 ]";
  static const float wanted[] = {INFINITY, -INFINITY, 3e38f, -3e38f, 0};
  struct linnet_ark *ark = NULL;
  struct linnet_matrix matrix = {0};
  const char *key;
  REQUIRE(linnet_ark_open_memory(context, text, sizeof text - 1, "text", &ark) == LINNET_OK &&
              linnet_ark_next(ark, &key, &matrix) == LINNET_OK && matrix.cols == sizeof wanted / sizeof *wanted,
          "%s", linnet_context_error(context));
  for (size_t i = 0; i < matrix.cols; i++)
    CHECK(matrix.values[i] == wanted[i], "number %zu is %g", i, (double)matrix.values[i]);
  linnet_matrix_release(context, &matrix);
  linnet_ark_destroy(ark);
}

/* --- Failing allocations ------------------------------------------------------------------------------------------ */

/* Where the script file cannot be written, the archive does not appear. */
static void test_full_disk(void) {
  static const float values[6] = {1, 2, 3};
  const char *path = scratch("full.ark");
  struct linnet_ark_writer *writer = NULL;
  remove(path);
  REQUIRE(linnet_ark_writer_create(context, path, "/dev/full", LINNET_KALDI_FLOAT, &writer) == LINNET_OK, "%s",
          linnet_context_error(context));
  CHECK(linnet_ark_write(writer, "key", values, 2, 3) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_ark_writer_commit(writer) == LINNET_ERROR_IO, "a full disk was not seen");
  CHECK(strstr(linnet_context_error(context), "/dev/full"), "%s", linnet_context_error(context));
  linnet_ark_writer_destroy(writer);
  CHECK(access(path, F_OK) != 0, "%s is there without its script file", path);
}

static enum linnet_status torture_read(struct linnet_context *tortured) {
  struct linnet_ark *ark = NULL;
  struct linnet_matrix matrix = {0};
  const char *key;
  enum linnet_status status = linnet_ark_open(tortured, golden_forms, &ark);
  while (status == LINNET_OK && (status = linnet_ark_next(ark, &key, &matrix)) == LINNET_OK)
    ;
  linnet_matrix_release(tortured, &matrix);
  linnet_ark_destroy(ark);
  return status == LINNET_END ? LINNET_OK : status;
}

static enum linnet_status torture_write(struct linnet_context *tortured) {
  static const float values[60] = {1, 2, 3};
  const char *path = scratch("torture.ark"), *scp_path = scratch("torture.scp");
  struct linnet_ark_writer *writer = NULL;
  struct linnet_scp *scp = NULL;
  struct linnet_matrix matrix = {0};
  double seconds;
  enum linnet_status status = linnet_ark_writer_create(tortured, path, scp_path, LINNET_KALDI_CM, &writer);
  if (status == LINNET_OK)
    status = linnet_ark_write(writer, "key", values, 20, 3);
  if (status == LINNET_OK)
    status = linnet_ark_writer_set_frame_shift(writer, 0.01);
  if (status == LINNET_OK)
    status = linnet_ark_writer_commit(writer);
  if (status == LINNET_OK)
    status = linnet_scp_open(tortured, scp_path, &scp);
  if (status == LINNET_OK)
    status = linnet_scp_read(scp, tortured, 0, &matrix);
  if (status == LINNET_OK)
    status = linnet_scp_frame_shift(scp, tortured, 0, &seconds);
  linnet_matrix_release(tortured, &matrix);
  linnet_scp_destroy(scp);
  linnet_ark_writer_destroy(writer);
  remove(path), remove(scp_path), remove(scratch("torture.ark.frame_shift"));
  return status;
}

int main(void) {
  context = test_context();
  test_golden();
  test_round_trips();
  test_close_values();
  test_locale();
  test_pipe();
  test_cmvn();
  test_frame_shifts();
  test_refusals();
  test_messages();
  test_bad_scps();
  check_cuts_and_changes(golden_forms, 8);
  check_cuts_and_changes(golden_text, 2);
  test_claims();
  test_texts();
  test_large_numbers();
  test_full_disk();
  torture("reading an archive", torture_read);
  torture("writing an archive", torture_write);
  linnet_context_destroy(context);
  return test_result();
}
