/* Audio reading: formats and ways in, headers that lie, entries of archives, channels, rates, parts, raw PCM, pipes,
 * hostile files. The files are written here through libsndfile. */
#include "allocators.h"
#include "audio_files.h"
#include "cancelling.h"

/* --- Formats -------------------------------------------------------------------------------------------------- */

enum { SECOND = 16000 };

static const struct {
  const char *name;
  int format;
  double min_snr; /* dB; 0: exact */
} formats[] = {
    {"WAV 16", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 0},    {"WAV 24", SF_FORMAT_WAV | SF_FORMAT_PCM_24, 0},
    {"WAV float", SF_FORMAT_WAV | SF_FORMAT_FLOAT, 0},  {"WAV extensible", SF_FORMAT_WAVEX | SF_FORMAT_PCM_16, 0},
    {"RF64", SF_FORMAT_RF64 | SF_FORMAT_PCM_16, 0},     {"W64", SF_FORMAT_W64 | SF_FORMAT_PCM_16, 0},
    {"FLAC", SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 0},     {"AIFF", SF_FORMAT_AIFF | SF_FORMAT_PCM_16, 0},
    {"AU", SF_FORMAT_AU | SF_FORMAT_PCM_16, 0},         {"CAF", SF_FORMAT_CAF | SF_FORMAT_PCM_16, 0},
    {"SPHERE", SF_FORMAT_NIST | SF_FORMAT_PCM_16, 0},   {"WAV A-law", SF_FORMAT_WAV | SF_FORMAT_ALAW, 30},
    {"WAV mu-law", SF_FORMAT_WAV | SF_FORMAT_ULAW, 30}, {"Ogg Vorbis", SF_FORMAT_OGG | SF_FORMAT_VORBIS, 10},
    {"Ogg Opus", SF_FORMAT_OGG | SF_FORMAT_OPUS, 10},   {"MP3", SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III, 10}};

static void check_format(size_t i, const float *signal, const float *expected) {
  struct file file = encode(formats[i].format, SECOND, 1, signal, SECOND);
  if (file.size == 0) {
    printf("%s: this libsndfile does not write it\n", formats[i].name);
    return;
  }
  for (enum way way = 0; way < WAYS; way++) {
    float *samples;
    size_t n;
    enum linnet_status status = read_way(way, file.data, (size_t)file.size, NULL, &samples, &n);
    CHECK(status == LINNET_OK, "%s by %s: %s", formats[i].name, way_names[way], linnet_context_error(context));
    bool exact = formats[i].min_snr == 0;
    CHECK(exact ? n == SECOND : n >= SECOND * 9 / 10 && n <= SECOND * 13 / 10, "%s by %s: %zu samples", formats[i].name,
          way_names[way], n);
    if (exact && n == SECOND)
      CHECK(memcmp(samples, expected, sizeof(float) * SECOND) == 0, "%s by %s: other samples", formats[i].name,
            way_names[way]);
    if (!exact && n >= SECOND) {
      double measured = snr(samples, expected, SECOND);
      CHECK(measured >= formats[i].min_snr, "%s: SNR %.1f dB, bound %.1f", formats[i].name, measured,
            formats[i].min_snr);
      if (way == 0)
        printf("%s: SNR %.1f dB, bound %.1f\n", formats[i].name, measured, formats[i].min_snr);
    }
    linnet_audio_release(context, samples);
  }
  free(file.data);
}

static void test_formats(const float *signal) {
  float *expected = malloc(sizeof(float) * SECOND);
  for (size_t i = 0; i < SECOND; i++)
    expected[i] = signal[i] * 32768;
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
    check_format(i, signal, expected);
  free(expected);
}

/* --- WAV headers written before the length was known ----------------------------------------------------------- */

static void put32(unsigned char *to, uint32_t value) {
  for (int i = 0; i < 4; i++)
    to[i] = (unsigned char)(value >> 8 * i);
}

static void test_unknown_sizes(const float *signal) {
  static const uint32_t sizes[] = {0, 0xffffffffu, 0x7ffff000u, 0x7fffffffu};
  struct file file = encode(SF_FORMAT_WAV | SF_FORMAT_PCM_16, 16000, 1, signal, 4000);
  REQUIRE(file.size == 44 + 8000 && memcmp(file.data + 36, "data", 4) == 0, "unexpected WAV of libsndfile");
  for (size_t i = 0; i < 4 * 4 * WAYS; i++) {
    put32(file.data + 4, sizes[i % 4]);
    put32(file.data + 40, sizes[i / 4 % 4]);
    float *samples;
    size_t n;
    enum linnet_status status = read_way(i / 16, file.data, (size_t)file.size, NULL, &samples, &n);
    CHECK(status == LINNET_OK && n == 4000, "RIFF size %x, data size %x by %s: %zu samples of 4000, %s", sizes[i % 4],
          sizes[i / 4 % 4], way_names[i / 16], n, linnet_context_error(context));
    linnet_audio_release(context, samples);
  }
  /* A length of zero is true where only other chunks follow. */
  put32(file.data + 4, 36 + 12);
  put32(file.data + 40, 0);
  memcpy(file.data + 44, "LIST\4\0\0\0INFO", 12);
  float *samples;
  size_t n;
  file.size = 44 + 12;
  CHECK(read_memory(&file, NULL, &samples, &n) == LINNET_OK && n == 0, "empty WAV with a LIST: %zu samples", n);
  linnet_audio_release(context, samples);
  free(file.data);
}

/* The same for WAV in big-endian order (RIFX), and for RF64, whose lengths of 64 bits are in "ds64". */
static void test_unknown_sizes_of_kinds(const float *signal) {
  static const int kinds[] = {SF_FORMAT_WAV | SF_ENDIAN_BIG, SF_FORMAT_RF64};
  for (size_t i = 0; i < 2; i++) {
    struct file file = encode(kinds[i] | SF_FORMAT_PCM_16, 16000, 1, signal, 4000);
    REQUIRE(memcmp(file.data, i == 0 ? "RIFX" : "RF64", 4) == 0, "unexpected file of libsndfile");
    memset(file.data + (i == 0 ? 4 : 20), 0, i == 0 ? 4 : 16);
    if (i == 0)
      memset(file.data + file.size - 8004, 0, 4);
    float *samples;
    size_t n;
    CHECK(read_memory(&file, NULL, &samples, &n) == LINNET_OK && n == 4000 && samples[1] == signal[1] * 32768,
          "%x: %zu samples of 4000", (unsigned)kinds[i], n);
    linnet_audio_release(context, samples);
    free(file.data);
  }
}

/* A chunk of 3 bytes and the byte that fills it up, before the data of unknown size. */
static void test_odd_chunk(const float *signal) {
  enum { HEAD = 36, ODD = 12 };
  struct file file = encode(SF_FORMAT_WAV | SF_FORMAT_PCM_16, 16000, 1, signal, 4000);
  struct file odd = {.data = malloc((size_t)file.size + ODD), .size = file.size + ODD};
  float *samples;
  size_t n;
  memcpy(odd.data, file.data, HEAD);
  memcpy(odd.data + HEAD, "junk\3\0\0\0abc", ODD);
  memcpy(odd.data + HEAD + ODD, file.data + HEAD, (size_t)file.size - HEAD);
  put32(odd.data + 4, 0);
  put32(odd.data + HEAD + ODD + 4, 0);
  CHECK(read_memory(&odd, NULL, &samples, &n) == LINNET_OK && n == 4000 && samples[1] == signal[1] * 32768,
        "%zu samples of 4000: %s", n, linnet_context_error(context));
  linnet_audio_release(context, samples);
  free(odd.data);
  free(file.data);
}

static const int with_lengths[] = {
    SF_FORMAT_WAV, SF_FORMAT_WAV | SF_ENDIAN_BIG, SF_FORMAT_RF64, SF_FORMAT_AIFF, SF_FORMAT_AU, SF_FORMAT_W64,
    SF_FORMAT_VOC};
static int incomplete;

static void count_warnings(void *user, enum linnet_log_level level, const char *message) {
  (void)user;
  incomplete += level == LINNET_LOG_WARNING && strstr(message, "announces 0.25 seconds") != NULL;
}

/* A file whose last bytes are missing gives the samples that are there, with a warning. */
static void test_incomplete(const float *signal, int format) {
  struct linnet_context_settings settings;
  struct linnet_context *watched;
  struct file file = encode(format | SF_FORMAT_PCM_16, 16000, 1, signal, 4000);
  incomplete = 0;
  linnet_context_settings_default(&settings);
  settings.log = count_warnings;
  REQUIRE(linnet_context_create(&settings, &watched) == LINNET_OK, "no context");
  for (sf_count_t missing = 0; missing <= 2000; missing += 2000) {
    struct linnet_audio *audio;
    float *samples;
    size_t n;
    REQUIRE(linnet_audio_open_memory(watched, file.data, (size_t)(file.size - missing), NULL, &audio) == LINNET_OK &&
                linnet_audio_read_all(audio, &samples, &n) == LINNET_OK,
            "%s", linnet_context_error(watched));
    CHECK((linnet_audio_check_end(audio) == LINNET_OK) == (missing == 0), "%x: %s", (unsigned)format,
          linnet_context_error(watched));
    linnet_audio_destroy(audio);
    CHECK(n == 4000 - (size_t)missing / 2 && incomplete == (missing > 0), "%x: %zu samples, %d warnings",
          (unsigned)format, n, incomplete);
    linnet_audio_release(watched, samples);
  }
  linnet_context_destroy(watched);
  free(file.data);
}

/* mpg123, which libsndfile reads MP3 with, prints about damaged frames: the standard error is turned away meanwhile. */
static int silence(void) {
  int saved = dup(STDERR_FILENO), null = open("/dev/null", O_WRONLY);
  fflush(stderr);
  dup2(null, STDERR_FILENO);
  close(null);
  return saved;
}

static void restore(int saved) {
  dup2(saved, STDERR_FILENO);
  close(saved);
}

static char last_warning[512];

static void keep_warning(void *user, enum linnet_log_level level, const char *message) {
  (void)user;
  if (level == LINNET_LOG_WARNING)
    snprintf(last_warning, sizeof last_warning, "%s", message);
}

/* A context whose warnings go to last_warning, which is empty now. */
static struct linnet_context *watched_context(void) {
  struct linnet_context_settings settings;
  struct linnet_context *watched = NULL;
  linnet_context_settings_default(&settings);
  settings.log = keep_warning;
  REQUIRE(linnet_context_create(&settings, &watched) == LINNET_OK, "no context");
  *last_warning = '\0';
  return watched;
}

/* linnet_audio_check_end of the first `size` bytes gives an error with `expected`; "": none. */
static void check_announced(const char *name, const struct file *file, size_t size, const char *expected) {
  struct linnet_audio *audio = NULL;
  int saved = silence();
  enum linnet_status status = linnet_audio_open_memory(context, file->data, size, NULL, &audio);
  if (status == LINNET_OK)
    status = linnet_audio_check_end(audio);
  restore(saved);
  CHECK(status == (*expected ? LINNET_ERROR_FORMAT : LINNET_OK) &&
            (!*expected || strstr(linnet_context_error(context), expected)),
        "%s of %zu bytes: status %d, %s", name, size, (int)status, linnet_context_error(context));
  linnet_audio_destroy(audio);
}

/* What decodes of the first `size` bytes from second `start` on is read, with a warning that contains `expected` and
 * names the second of the end ("": none). */
static void check_end_from(const char *name, const struct file *file, size_t size, double start, const char *expected) {
  struct linnet_context *watched = watched_context();
  struct linnet_audio *audio;
  float *samples;
  size_t n;
  int saved = silence();
  enum linnet_status status = linnet_audio_open_memory(watched, file->data, size, NULL, &audio);
  if (status == LINNET_OK && start > 0)
    status = linnet_audio_select(audio, start, -1);
  if (status == LINNET_OK)
    status = linnet_audio_read_all(audio, &samples, &n);
  restore(saved);
  REQUIRE(status == LINNET_OK, "%s of %zu bytes: %s", name, size, linnet_context_error(watched));
  linnet_audio_destroy(audio);
  linnet_audio_release(watched, samples);
  char seconds[64];
  snprintf(seconds, sizeof seconds, "no audio after %.2f seconds", start + (double)n / 16000);
  CHECK(*expected ? strstr(last_warning, expected) && strstr(last_warning, seconds) : !*last_warning,
        "%s of %zu bytes, %zu samples: \"%s\"", name, size, n, last_warning);
  linnet_context_destroy(watched);
}

static void check_end(const char *name, const struct file *file, size_t size, const char *expected) {
  check_end_from(name, file, size, 0, expected);
}

static enum linnet_status read_part(struct linnet_context *reader, const struct file *file, size_t size, double start,
                                    double end, size_t *count) {
  struct linnet_audio *audio = NULL;
  float *samples = NULL;
  int saved = silence();
  enum linnet_status status = linnet_audio_open_memory(reader, file->data, size, NULL, &audio);
  if (status == LINNET_OK)
    status = linnet_audio_select(audio, start, end);
  if (status == LINNET_OK)
    status = linnet_audio_read_all(audio, &samples, count);
  restore(saved);
  linnet_audio_destroy(audio);
  linnet_audio_release(reader, samples);
  return status;
}

static void check_part_count(const struct file *file, double start, double end, size_t expected) {
  size_t n = 0;
  CHECK(read_part(context, file, (size_t)file->size, start, end, &n) == LINNET_OK && n == expected,
        "%g to %g seconds: %zu samples of %zu: %s", start, end, n, expected, linnet_context_error(context));
}

/* A part after the end of a truncated MP3: nothing tells where the audio ends. */
static void check_part_after_end(const struct file *file) {
  struct linnet_context *watched = watched_context();
  size_t n = 0;
  CHECK(read_part(watched, file, (size_t)file->size / 2, 25, 26, &n) == LINNET_OK && n == 0 &&
            strstr(last_warning, "no audio from 25.00 seconds on: its header announces 30.00 seconds"),
        "%zu samples: %s, \"%s\"", n, linnet_context_error(watched), last_warning);
  linnet_context_destroy(watched);
}

/* A file with more bytes at its end. */
static void check_with_tail(const char *name, const struct file *file, const void *tail, size_t size,
                            const char *expected) {
  struct file whole = {.data = malloc((size_t)file->size + size), .size = file->size + (sf_count_t)size};
  memcpy(whole.data, file->data, (size_t)file->size);
  memcpy(whole.data + file->size, tail, size);
  check_end(name, &whole, (size_t)whole.size, expected);
  free(whole.data);
}

/* Tags after the audio: ID3v1, and APEv2 with a picture of 200 kB. */
static void check_tags(const char *name, const struct file *file) {
  enum { PICTURE = 200000, HEADER = 32 };
  static unsigned char tags[HEADER + PICTURE + HEADER + 128] = "APETAGEX\320\7";
  const size_t footer = HEADER + PICTURE;
  memcpy(tags + footer, "APETAGEX\320\7\0\0", 12);
  put32(tags + footer + 12, PICTURE + HEADER);
  tags[footer + 23] = 128;
  memcpy(tags + footer + HEADER, "TAG", 3);
  check_with_tail(name, file, tags + footer + HEADER, 128, "");
  if (strcmp(name, "MP3") == 0)
    check_with_tail(name, file, tags, sizeof tags, "");
}

/* Cuts an Ogg file before its last page. */
static size_t before_last_page(const struct file *file) {
  size_t at = (size_t)file->size - 4;
  while (at > 0 && memcmp(file->data + at, "OggS", 4) != 0)
    at--;
  return at;
}

/* Files that end early, or have more than the decoder reads. */
static void test_early_ends(void) {
  const size_t frames = 30 * SECOND;
  static const struct {
    const char *name, *warning, *end;
    int format;
  } kinds[] = {
      {"WAV", "its header announces 30.00 seconds", "no audio after 15.00 seconds", SF_FORMAT_WAV | SF_FORMAT_PCM_16},
      {"ADPCM", "its header announces 30.0", "no audio after 15.00 seconds", SF_FORMAT_WAV | SF_FORMAT_IMA_ADPCM},
      {"FLAC", "flac decoder lost sync: is the file complete?", "no audio after 14.",
       SF_FORMAT_FLAC | SF_FORMAT_PCM_16},
      {"Vorbis", "its last page is cut: is the file complete?", "no audio after 1", SF_FORMAT_OGG | SF_FORMAT_VORBIS},
      {"Opus", "its last page is cut: is the file complete?", "no audio after 1", SF_FORMAT_OGG | SF_FORMAT_OPUS},
      {"MP3", "its header announces 30.", "", SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III}};
  float *signal = make_signal(frames);
  struct test_random random = {3};
  for (size_t i = 0; i < frames; i++) /* noise: many bytes per second */
    signal[i] = (float)(0.25 * test_uniform(&random));
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    struct file file = encode(kinds[i].format, 16000, 1, signal, frames);
    if (file.size == 0)
      continue;
    check_end(kinds[i].name, &file, (size_t)file.size, "");
    check_end(kinds[i].name, &file, (size_t)file.size / 2, kinds[i].warning);
    check_announced(kinds[i].name, &file, (size_t)file.size, "");
    check_announced(kinds[i].name, &file, (size_t)file.size / 2, kinds[i].end);
    const int container = kinds[i].format & SF_FORMAT_TYPEMASK;
    if (container == SF_FORMAT_FLAC || container == SF_FORMAT_MPEG)
      check_tags(kinds[i].name, &file);
    if (container == SF_FORMAT_MPEG)
      check_part_after_end(&file);
    if (container == SF_FORMAT_WAV || container == SF_FORMAT_FLAC)
      check_end_from(kinds[i].name, &file, (size_t)file.size / 2, 10, kinds[i].warning);
    if (container == SF_FORMAT_WAV) {
      check_end(kinds[i].name, &file, (size_t)file.size - 20, "");
      check_announced(kinds[i].name, &file, (size_t)file.size - 20, "");
    }
    if (container == SF_FORMAT_OGG)
      check_end(kinds[i].name, &file, before_last_page(&file), "its last page does not end the stream");
    if (container == SF_FORMAT_OGG || container == SF_FORMAT_MPEG) { /* the file twice */
      struct file both = {.data = malloc(2 * (size_t)file.size), .size = 2 * file.size};
      memcpy(both.data, file.data, (size_t)file.size);
      memcpy(both.data + file.size, file.data, (size_t)file.size);
      check_end(kinds[i].name, &both, (size_t)both.size, "bytes cannot be decoded: convert the file to WAV");
      free(both.data);
    }
    free(file.data);
  }
  free(signal);
}

/* Reads a part of a file from second `start` on; release it with linnet_audio_release. */
static float *read_from(struct linnet_context *reader, const struct file *file, double start, size_t *count) {
  struct linnet_audio *audio = NULL;
  float *samples = NULL;
  int saved = silence();
  REQUIRE(linnet_audio_open_memory(reader, file->data, (size_t)file->size, NULL, &audio) == LINNET_OK &&
              (start == 0 || linnet_audio_select(audio, start, -1) == LINNET_OK) &&
              linnet_audio_read_all(audio, &samples, count) == LINNET_OK,
          "%s", linnet_context_error(reader));
  restore(saved);
  linnet_audio_destroy(audio);
  return samples;
}

/* A damaged file has as many samples as the whole one from second `start` on; all but `most` are equal, and these are
 * silence. */
static void compare_with_whole(struct linnet_context *reader, const struct file *whole, const struct file *damaged,
                               double start, size_t most) {
  size_t count = 0, n = 0, equal = 0, zeros = 0;
  float *expected = read_from(context, whole, start, &count), *samples = read_from(reader, damaged, start, &n);
  REQUIRE(n == count, "from %g: %zu samples of %zu", start, n, count);
  for (size_t i = 0; i < n; i++) {
    equal += samples[i] == expected[i];
    zeros += samples[i] == 0 && expected[i] != 0;
  }
  CHECK(equal + most >= n && equal + zeros == n, "from %g: %zu samples of %zu are equal, %zu are silence", start, equal,
        n, zeros);
  linnet_audio_release(context, expected);
  linnet_audio_release(reader, samples);
}

/* Silence takes the place of damaged frames of FLAC, up to 1024 samples too much; what follows keeps its time. */
static void test_damage(void) {
  enum { BLOCK = 4096, MORE = 1024 }; /* frames of libsndfile */
  const size_t frames = 20 * SECOND;
  struct linnet_context *watched = watched_context();
  struct test_random random = {5};
  float *signal = make_signal(frames);
  for (size_t i = 0; i < frames; i++)
    signal[i] = (float)(0.25 * test_uniform(&random));
  struct file whole = encode(SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 16000, 1, signal, frames);
  struct file damaged = {.data = malloc((size_t)whole.size), .size = whole.size};
  memcpy(damaged.data, whole.data, (size_t)whole.size);
  memset(damaged.data + whole.size / 4, 0x5A, 50);
  compare_with_whole(watched, &whole, &damaged, 0, BLOCK + MORE);
  CHECK(strstr(last_warning, "damaged: silence from "), "\"%s\"", last_warning);
  memset(damaged.data + whole.size / 2, 0x5A, (size_t)whole.size / 5);
  compare_with_whole(watched, &whole, &damaged, 0, frames / 5 + 3 * BLOCK + 2 * MORE);
  compare_with_whole(watched, &whole, &damaged, 9, frames / 5 + 2 * BLOCK + MORE);
  compare_with_whole(watched, &whole, &damaged, 15, 0);
  free(damaged.data);
  free(whole.data);
  free(signal);
  linnet_context_destroy(watched);
}

/* --- MP3 without a length ------------------------------------------------------------------------------------- */

/* Where the second frame of an MP3 begins; the first holds only the length. */
static size_t after_first_frame(const struct file *file) {
  size_t at = 4;
  while (at + 2 < (size_t)file->size && memcmp(file->data + at, file->data, 2) != 0) /* the same layer */
    at++;
  return at;
}

/* An MP3 without a length whose frames become larger, or smaller: its first frames do not tell how long it is. */
static void test_mp3_without_length(void) {
  enum { SECONDS = 4 };
  static const double qualities[2][2] = {{0.1, 0.9}, {0.9, 0.1}};
  float *signal = make_signal(SECONDS * SECOND);
  for (size_t i = 0; i < 2; i++) {
    struct file parts[2] = {encode_mp3(SF_BITRATE_MODE_VARIABLE, qualities[i][0], signal, SECONDS * SECOND),
                            encode_mp3(SF_BITRATE_MODE_VARIABLE, qualities[i][1], signal, SECONDS * SECOND)};
    if (parts[0].size == 0)
      break;
    struct file whole = {.data = malloc((size_t)(parts[0].size + parts[1].size))};
    for (size_t k = 0; k < 2; k++) {
      const size_t from = after_first_frame(&parts[k]), size = (size_t)parts[k].size - from;
      memcpy(whole.data + whole.size, parts[k].data + from, size);
      whole.size += (sf_count_t)size;
      free(parts[k].data);
    }
    float *samples;
    size_t n;
    check_end("MP3 without a length", &whole, (size_t)whole.size, "");
    CHECK(read_memory(&whole, NULL, &samples, &n) == LINNET_OK && n >= 2 * SECONDS * SECOND, "%zu: %zu samples", i, n);
    linnet_audio_release(context, samples);
    check_part_count(&whole, 2 * SECONDS - 1, 2 * SECONDS - 0.5, SECOND / 2);
    free(whole.data);
  }
  free(signal);
}

/* With a constant bit rate the size tells the length, so a part after the end is refused. */
static void test_mp3_of_constant_rate(const float *signal) {
  struct file file = encode_mp3(SF_BITRATE_MODE_CONSTANT, 0.5, signal, SECOND);
  if (file.size == 0)
    return;
  const size_t from = after_first_frame(&file);
  struct linnet_audio *audio = NULL;
  REQUIRE(linnet_audio_open_memory(context, file.data + from, (size_t)file.size - from, NULL, &audio) == LINNET_OK,
          "%s", linnet_context_error(context));
  CHECK(fabs(linnet_audio_seconds(audio) - 1) < 0.2, "%g seconds", linnet_audio_seconds(audio));
  CHECK(linnet_audio_select(audio, 3, 4) == LINNET_ERROR_ARGUMENT, "a part after the end");
  linnet_audio_destroy(audio);
  free(file.data);
}

/* --- Entries of archives -------------------------------------------------------------------------------------- */

/* Two entries of an archive of Kaldi. */
struct archive {
  size_t offsets[2];
};

static struct archive save_archive(const struct file *first, const struct file *second) {
  const struct file *files[2] = {first, second};
  struct archive archive;
  FILE *stream = fopen(scratch_path(), "wb");
  REQUIRE(stream, "%s: cannot write", scratch_path());
  for (size_t i = 0; i < 2; i++) {
    fprintf(stream, "utt%zu ", i);
    archive.offsets[i] = (size_t)ftell(stream);
    fwrite(files[i]->data, 1, (size_t)files[i]->size, stream);
  }
  REQUIRE(fclose(stream) == 0, "%s: cannot write", scratch_path());
  return archive;
}

/* Reads "FILE:OFFSET"; the last warning is in `last_warning`. */
static void check_entry(const char *name, size_t offset, size_t low, size_t high, const char *warning) {
  struct linnet_context *watched = watched_context();
  struct linnet_audio *audio = NULL;
  float *samples = NULL;
  size_t n = 0;
  char path[4300];
  snprintf(path, sizeof path, "%s:%zu", scratch_path(), offset);
  int saved = silence();
  enum linnet_status status = linnet_audio_open(watched, path, NULL, &audio);
  if (status == LINNET_OK)
    status = linnet_audio_read_all(audio, &samples, &n);
  restore(saved);
  CHECK(status == LINNET_OK && n >= low && n <= high, "%s, entry at %zu: %zu samples of %zu: %s", name, offset, n, low,
        linnet_context_error(watched));
  CHECK(*warning ? strstr(last_warning, warning) != NULL : !*last_warning, "%s, entry at %zu: \"%s\"", name, offset,
        last_warning);
  linnet_audio_destroy(audio);
  linnet_audio_release(watched, samples);
  linnet_context_destroy(watched);
}

/* An entry ends where the next one begins. That one is shorter and, in Ogg, has another serial number. */
static void test_entries(void) {
  static const size_t frames[2] = {4 * SECOND, 3 * SECOND};
  static const struct {
    const char *name;
    int format;
  } kinds[] = {
      {"WAV", SF_FORMAT_WAV | SF_FORMAT_PCM_16},         {"RIFX", SF_FORMAT_WAV | SF_ENDIAN_BIG | SF_FORMAT_PCM_16},
      {"RF64", SF_FORMAT_RF64 | SF_FORMAT_PCM_16},       {"W64", SF_FORMAT_W64 | SF_FORMAT_PCM_16},
      {"AIFF", SF_FORMAT_AIFF | SF_FORMAT_PCM_16},       {"AU", SF_FORMAT_AU | SF_FORMAT_PCM_16},
      {"VOC", SF_FORMAT_VOC | SF_FORMAT_PCM_16},         {"SPHERE", SF_FORMAT_NIST | SF_FORMAT_PCM_16},
      {"CAF", SF_FORMAT_CAF | SF_FORMAT_PCM_16},         {"FLAC", SF_FORMAT_FLAC | SF_FORMAT_PCM_16},
      {"Vorbis", SF_FORMAT_OGG | SF_FORMAT_VORBIS},      {"Opus", SF_FORMAT_OGG | SF_FORMAT_OPUS},
      {"MP3", SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III}};
  float *signal = make_signal(frames[0]);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    struct file files[2] = {encode(kinds[i].format, 16000, 1, signal, frames[0]),
                            encode(kinds[i].format, 16000, 1, signal, frames[1])};
    const size_t more = (kinds[i].format & SF_FORMAT_TYPEMASK) == SF_FORMAT_MPEG ? 4000 : 0;
    const struct archive archive = save_archive(&files[0], &files[1]);
    for (size_t k = 0; k < 2 && files[k].size > 0; k++)
      check_entry(kinds[i].name, archive.offsets[k], frames[k], frames[k] + more, "");
    free(files[0].data);
    free(files[1].data);
  }
  free(signal);
}

/* A VOC of one block, or of two with half of the samples each. The length of each is `lacks` bytes too small. */
static struct file make_voc(size_t blocks, size_t lacks) {
  enum { HEADER = 26, FORMAT = 12 };
  static const unsigned char header[] = "Creative Voice File\x1A\x1A\0\x14\1\x1F\x11", /* version 1.20 */
      format[FORMAT] = {0x80, 0x3E, 0, 0, 16, 1, 4};                                   /* 16000 Hz, 16 bits, mono */
  const size_t samples = 2 * SECOND / blocks;                                          /* bytes per block */
  struct file file = {0};
  file_write(header, HEADER, &file);
  for (size_t i = 0; i < blocks; i++) {
    const size_t length = samples + (i == 0 ? FORMAT : 0) - lacks;
    const unsigned char block[] = {i == 0 ? 9 : 2, length & 255, length >> 8 & 255, (unsigned char)(length >> 16)};
    file_write(block, sizeof block, &file);
    file_write(format, i == 0 ? FORMAT : 0, &file);
    for (size_t b = 0; b < samples; b++)
      file_write("\1", 1, &file);
  }
  file_write("", 1, &file); /* the block that ends the file */
  return file;
}

/* ffmpeg writes VOC in blocks, whose headers libsndfile decodes as two samples each. sox announces 8 bytes too few. */
static void test_voc_blocks(void) {
  struct file files[] = {make_voc(1, 0), make_voc(2, 0), make_voc(1, 8)};
  static const size_t frames[] = {SECOND, SECOND + 2, SECOND};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    struct file *file = &files[i];
    const size_t size = (size_t)file->size;
    const struct archive archive = save_archive(file, file);
    check_entry("VOC of blocks", archive.offsets[0], frames[i], frames[i], "");
    check_entry("VOC of blocks", archive.offsets[1], frames[i], frames[i], "");
    check_announced("VOC of blocks", file, size, "");
    check_announced("VOC of blocks", file, size - SECOND / 2, "its header announces 1.00 seconds");
  }
  files[1].size--;
  const struct archive endless = save_archive(&files[1], &files[1]);
  check_entry("VOC without its end", endless.offsets[0], frames[1], 3 * SECOND, "its header does not tell its length");
  check_end("VOC without its end", &files[1], (size_t)files[1].size, "");
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    free(files[i].data);
}

/* Entries whose header has a length of 0, or none. */
static void test_entries_without_length(const float *signal) {
  struct file empty = encode(SF_FORMAT_WAV | SF_FORMAT_PCM_16, 16000, 1, signal, 0);
  struct file file = encode(SF_FORMAT_WAV | SF_FORMAT_PCM_16, 16000, 1, signal, SECOND);
  struct archive archive = save_archive(&empty, &file);
  check_entry("empty WAV", archive.offsets[0], 0, 0, "");
  memset(file.data + 4, 0xff, 4);
  memset(file.data + 40, 0xff, 4);
  archive = save_archive(&file, &file);
  check_entry("WAV without a length", archive.offsets[1], SECOND, SECOND, "its header does not tell its length");
  put32(file.data + 4, 36 + 2 * SECOND);
  archive = save_archive(&file, &file);
  check_entry("WAV with the length of the file", archive.offsets[0], SECOND, SECOND, "");
  put32(file.data + 4, 0);
  put32(file.data + 40, 2 * SECOND);
  archive = save_archive(&file, &file);
  check_entry("WAV with the length of the samples", archive.offsets[0], SECOND, SECOND, "");
  free(empty.data);
  free(file.data);
}

/* --- Raw ------------------------------------------------------------------------------------------------------ */

static void check_raw(enum linnet_sample_format format, const void *data, size_t size, const float *expected,
                      size_t count) {
  struct linnet_audio_settings settings;
  linnet_audio_settings_default(&settings);
  settings.raw_format = format;
  for (enum way way = 0; way < WAYS; way++) {
    float *samples;
    size_t n;
    enum linnet_status status = read_way(way, data, size, &settings, &samples, &n);
    CHECK(status == LINNET_OK && n == count, "raw format %d by %s: %zu samples, %s", (int)format, way_names[way], n,
          linnet_context_error(context));
    for (size_t i = 0; i < n && i < count; i++)
      CHECK(samples[i] == expected[i], "raw format %d, sample %zu: %g, not %g", (int)format, i, samples[i],
            expected[i]);
    linnet_audio_release(context, samples);
  }
}

static void test_raw_formats(void) {
  static const float some[] = {1, -2, 32767, -32768};
  static const float fractions[] = {1.5f, -32768};
  check_raw(LINNET_SAMPLE_S16LE, "\1\0\xfe\xff\xff\x7f\0\x80", 8, some, 4);
  check_raw(LINNET_SAMPLE_S16BE, "\0\1\xff\xfe\x7f\xff\x80\0", 8, some, 4);
  check_raw(LINNET_SAMPLE_S16LE, "\1\0\xfe\xff\xff", 5, some, 2); /* half a sample at the end */
  check_raw(LINNET_SAMPLE_S24LE, "\x80\1\0\0\0\x80", 6, fractions, 2);
  check_raw(LINNET_SAMPLE_S32LE, "\0\x80\1\0\0\0\0\x80", 8, fractions, 2);
  check_raw(LINNET_SAMPLE_F32LE, "\0\0\x80\xbf\0\0\0\x3f", 8, (const float[]){-32768, 16384}, 2);
  check_raw(LINNET_SAMPLE_U8, "\x80\x81\0\xff", 4, (const float[]){0, 256, -32768, 127 * 256}, 4);
  check_raw(LINNET_SAMPLE_S16LE, "", 0, some, 0);
  CHECK(linnet_sample_format_find("f32le") == LINNET_SAMPLE_F32LE &&
            linnet_sample_format_find("alaw") == LINNET_SAMPLE_ALAW &&
            linnet_sample_format_find("mp3") == LINNET_SAMPLE_NONE &&
            linnet_sample_format_find(NULL) == LINNET_SAMPLE_NONE,
        "names of raw formats");
}

/* Half a sample at the end is no sample, and a warning. */
static void test_half_sample(void) {
  struct linnet_audio_settings settings;
  struct linnet_audio *audio = NULL;
  struct linnet_context *watched = watched_context();
  float *samples = NULL;
  size_t n = 0;
  linnet_audio_settings_default(&settings);
  settings.raw_format = LINNET_SAMPLE_S16LE;
  REQUIRE(linnet_audio_open_memory(watched, "\1\0\xfe\xff\xff", 5, &settings, &audio) == LINNET_OK &&
              linnet_audio_read_all(audio, &samples, &n) == LINNET_OK,
          "%s", linnet_context_error(watched));
  CHECK(n == 2 && strstr(last_warning, "ignores 1 byte after the last whole frame"), "%zu samples: \"%s\"", n,
        last_warning);
  linnet_audio_destroy(audio);
  linnet_audio_release(watched, samples);
  linnet_context_destroy(watched);
}

/* All 256 codes of G.711 as libsndfile decodes them. */
static void test_g711(void) {
  unsigned char codes[256];
  for (int i = 0; i < 256; i++)
    codes[i] = (unsigned char)i;
  for (int law = 0; law < 2; law++) {
    struct file file = {.data = codes, .size = 256};
    SF_VIRTUAL_IO io = {file_length, file_seek, file_read, file_write, file_tell};
    SF_INFO info = {
        .samplerate = 8000, .channels = 1, .format = SF_FORMAT_RAW | (law ? SF_FORMAT_ALAW : SF_FORMAT_ULAW)};
    SNDFILE *sound = sf_open_virtual(&io, SFM_READ, &info, &file);
    REQUIRE(sound, "libsndfile: %s", sf_strerror(NULL));
    float expected[256];
    REQUIRE(sf_readf_float(sound, expected, 256) == 256, "libsndfile reads less");
    sf_close(sound);
    for (int i = 0; i < 256; i++)
      expected[i] *= 32768;
    check_raw(law ? LINNET_SAMPLE_ALAW : LINNET_SAMPLE_ULAW, codes, 256, expected, 256);
  }
}

/* Raw samples of a pipe are delivered at once; half a sample waits for its other half. */
static void test_raw_is_not_held_back(void) {
  struct linnet_audio_settings settings;
  linnet_audio_settings_default(&settings);
  settings.raw_format = LINNET_SAMPLE_S16LE;
  int fds[2];
  REQUIRE(pipe(fds) == 0, "no pipe");
  struct linnet_audio *audio = NULL;
  REQUIRE(linnet_audio_open_fd(context, fds[0], "pipe", &settings, &audio) == LINNET_OK, "%s",
          linnet_context_error(context));
  float samples[100];
  size_t n = 0;
  CHECK(linnet_audio_seconds(audio) < 0, "a pipe has a length");
  REQUIRE(write(fds[1], "\1\0\2\0\3", 5) == 5, "pipe");
  CHECK(linnet_audio_read(audio, samples, 100, &n) == LINNET_OK && n == 2 && samples[1] == 2, "%zu samples", n);
  REQUIRE(write(fds[1], "\0", 1) == 1, "pipe");
  CHECK(linnet_audio_read(audio, samples, 100, &n) == LINNET_OK && n == 1 && samples[0] == 3, "%zu samples", n);
  close(fds[1]);
  CHECK(linnet_audio_read(audio, samples, 100, &n) == LINNET_END && n == 0, "no end");
  CHECK(linnet_audio_read(audio, samples, 100, &n) == LINNET_END && n == 0, "no end the second time");
  linnet_audio_destroy(audio);
  close(fds[0]);
}

struct late_bytes {
  const char *path; /* of a named pipe that is opened for writing; NULL: `fd` is there already */
  int fd;
  const char *bytes;
  size_t size;
};

/* Writes after a while. */
static void *write_late(void *user) {
  const struct late_bytes *late = user;
  usleep(150000);
  int fd = late->path ? open(late->path, O_WRONLY) : late->fd;
  if (late->size > 0 && write(fd, late->bytes, late->size) != (ssize_t)late->size)
    printf("the pipe is closed\n");
  close(fd);
  return NULL;
}

/* A descriptor that does not block is waited for, without a hook that cancels too. */
static void test_descriptor_without_blocking(void) {
  struct linnet_audio_settings settings;
  struct linnet_audio *audio = NULL;
  pthread_t thread;
  int fds[2];
  float *samples = NULL;
  size_t n = 0;
  linnet_audio_settings_default(&settings);
  settings.raw_format = LINNET_SAMPLE_S16LE;
  REQUIRE(pipe(fds) == 0 && fcntl(fds[0], F_SETFL, O_NONBLOCK) == 0, "no pipe");
  struct late_bytes late = {NULL, fds[1], "\1\0\2\0", 4};
  pthread_create(&thread, NULL, write_late, &late);
  CHECK(linnet_audio_open_fd(context, fds[0], "pipe", &settings, &audio) == LINNET_OK &&
            linnet_audio_read_all(audio, &samples, &n) == LINNET_OK && n == 2 && samples[1] == 2,
        "%zu samples: %s", n, linnet_context_error(context));
  pthread_join(thread, NULL);
  linnet_audio_release(context, samples);
  linnet_audio_destroy(audio);
  close(fds[0]);
}

/* Opening a named pipe waits for its first writer, who may write nothing, and can be cancelled meanwhile. */
static void test_named_pipe(void) {
  struct cancelling c;
  struct linnet_context *cancelled = cancelling_context(&c, 1);
  struct linnet_audio_settings settings;
  linnet_audio_settings_default(&settings);
  settings.raw_format = LINNET_SAMPLE_S16LE;
  remove(scratch_path());
  REQUIRE(mkfifo(scratch_path(), 0600) == 0, "%s: cannot make a pipe", scratch_path());
  struct linnet_audio *audio = NULL;
  cancelling_begin(&c, 3);
  CHECK(linnet_audio_open(cancelled, scratch_path(), NULL, &audio) == LINNET_ERROR_CANCELLED && !audio, "%s",
        linnet_context_error(cancelled));
  for (size_t size = 0; size <= 4; size += 4) {
    struct late_bytes late = {scratch_path(), -1, "\1\0\2\0", size};
    pthread_t thread;
    float *samples = NULL;
    size_t n = 0;
    cancelling_begin(&c, SIZE_MAX);
    pthread_create(&thread, NULL, write_late, &late);
    CHECK(linnet_audio_open(cancelled, scratch_path(), &settings, &audio) == LINNET_OK &&
              linnet_audio_read_all(audio, &samples, &n) == LINNET_OK && n == size / 2,
          "%zu samples of %zu: %s", n, size / 2, linnet_context_error(cancelled));
    pthread_join(thread, NULL);
    linnet_audio_release(cancelled, samples);
    linnet_audio_destroy(audio);
  }
  linnet_context_destroy(cancelled);
  remove(scratch_path());
}

/* --- Channels, rates, parts ----------------------------------------------------------------------------------- */

static void test_channels(void) {
  static const float stereo[] = {0.5f, -0.25f, 0.25f, 0.75f, -0.5f, 0.125f};
  static const float expected[3][3] = {
      {4096, 16384, -6144}, {16384, 8192, -16384}, {-8192, 24576, 4096}}; /* mix, left, right */
  struct file file = encode(SF_FORMAT_WAV | SF_FORMAT_PCM_16, 16000, 2, stereo, 3);
  struct linnet_audio_settings settings;
  linnet_audio_settings_default(&settings);
  for (int channel = -1; channel < 3; channel++) {
    float *samples;
    size_t n;
    settings.channel = channel;
    enum linnet_status status = read_memory(&file, &settings, &samples, &n);
    if (channel == 2)
      CHECK(status == LINNET_ERROR_ARGUMENT && strstr(linnet_context_error(context), "channel 2"), "%s",
            linnet_context_error(context));
    else
      CHECK(status == LINNET_OK && n == 3 && memcmp(samples, expected[channel + 1], 12) == 0, "channel %d", channel);
    linnet_audio_release(context, samples);
  }
  free(file.data);
}

static float *sine(size_t n, double rate, double hertz) {
  float *x = malloc((n + 1) * sizeof *x);
  for (size_t i = 0; i < n; i++)
    x[i] = (float)(0.25 * sin(2 * 3.14159265358979 * hertz * (double)i / rate));
  return x;
}

/* Reads in chunks of random sizes up to `max_piece`. */
static size_t read_pieces(const struct file *file, double rate, size_t max_piece, float *samples, size_t capacity) {
  struct linnet_audio_settings settings;
  linnet_audio_settings_default(&settings);
  settings.sample_rate = rate;
  struct linnet_audio *audio = NULL;
  struct test_random random = {max_piece};
  size_t total = 0, got;
  REQUIRE(linnet_audio_open_memory(context, file->data, (size_t)file->size, &settings, &audio) == LINNET_OK, "%s",
          linnet_context_error(context));
  while (total < capacity) {
    size_t piece = 1 + test_below(&random, max_piece);
    if (linnet_audio_read(audio, samples + total, piece < capacity - total ? piece : capacity - total, &got) !=
        LINNET_OK)
      break;
    total += got;
  }
  linnet_audio_destroy(audio);
  return total;
}

static void check_rate(int from, double to) {
  size_t n = (size_t)from, expected_count = (size_t)lround((double)n * to / from);
  float *x = sine(n, from, 440), *expected = sine(expected_count, to, 440);
  struct file file = encode(SF_FORMAT_WAV | SF_FORMAT_FLOAT, from, 1, x, n);
  size_t capacity = expected_count + 1000;
  float *whole = malloc(capacity * sizeof *whole), *pieces = malloc(capacity * sizeof *pieces);
  size_t got = read_pieces(&file, to, capacity, whole, capacity);
  CHECK(got + 1 >= expected_count && got <= expected_count + 1, "%d to %g Hz: %zu samples of %zu", from, to, got,
        expected_count);
  size_t edge = expected_count / 10;
  for (size_t i = 0; i < expected_count; i++)
    expected[i] *= 32768;
  double measured = snr(whole + edge, expected + edge, expected_count - 2 * edge);
  CHECK(measured >= 90, "%d to %g Hz: SNR %.1f dB, bound 90", from, to, measured);
  printf("%d to %g Hz: SNR %.1f dB, bound 90\n", from, to, measured);
  for (size_t max_piece = 7; max_piece < 3000; max_piece = max_piece * 5 + 3) {
    size_t again = read_pieces(&file, to, max_piece, pieces, capacity);
    CHECK(again == got && memcmp(pieces, whole, got * sizeof *whole) == 0, "%d to %g Hz in pieces of %zu", from, to,
          max_piece);
  }
  free(x), free(expected), free(whole), free(pieces), free(file.data);
}

static void test_rates(void) {
  check_rate(8000, 16000);
  check_rate(44100, 16000);
  check_rate(48000, 16000);
  check_rate(11025, 16000);
  check_rate(192000, 16000);
  check_rate(16000, 8000);
  check_rate(16000, 16000);
}

static void check_part(const char *name, const struct file *file, double start, double end, size_t first, size_t count,
                       const float *signal) {
  struct linnet_audio *audio = NULL;
  float *samples = NULL;
  size_t n = 0;
  REQUIRE(linnet_audio_open_memory(context, file->data, (size_t)file->size, NULL, &audio) == LINNET_OK, "%s",
          linnet_context_error(context));
  CHECK(linnet_audio_select(audio, start, end) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_audio_check_end(audio) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_audio_read_all(audio, &samples, &n) == LINNET_OK && n == count, "%s %g to %g s: %zu samples of %zu",
        name, start, end, n, count);
  for (size_t i = 0; i < n && i < count; i++)
    if (samples[i] != signal[first + i] * 32768) {
      CHECK(false, "%s %g to %g s: sample %zu", name, start, end, i);
      break;
    }
  CHECK(linnet_audio_select(audio, 0, 1) == LINNET_ERROR_STATE, "selected after reading");
  linnet_audio_release(context, samples);
  linnet_audio_destroy(audio);
}

static void test_parts(const float *signal) {
  static const int kinds[] = {SF_FORMAT_WAV | SF_FORMAT_PCM_16, SF_FORMAT_FLAC | SF_FORMAT_PCM_16};
  for (int i = 0; i < 2; i++) {
    struct file file = encode(kinds[i], 16000, 1, signal, SECOND);
    const char *name = i ? "FLAC" : "WAV";
    check_part(name, &file, 0.25, 0.5, 4000, 4000, signal);
    check_part(name, &file, 0, -1, 0, 16000, signal);
    check_part(name, &file, 0.9, 7, 14400, 1600, signal);
    check_part(name, &file, 0.1, 0.100125, 1600, 2, signal);
    struct linnet_audio *audio = NULL;
    linnet_audio_open_memory(context, file.data, (size_t)file.size, NULL, &audio);
    CHECK(linnet_audio_select(audio, 2, 3) == LINNET_ERROR_ARGUMENT, "selected beyond the end");
    CHECK(linnet_audio_select(audio, 2, -1) == LINNET_ERROR_ARGUMENT &&
              strstr(linnet_context_error(context), "has no part from 2.000 seconds on"),
          "%s", linnet_context_error(context));
    CHECK(linnet_audio_select(audio, 0.5, 0.5) == LINNET_ERROR_ARGUMENT, "selected nothing");
    CHECK(linnet_audio_select(audio, NAN, -1) == LINNET_ERROR_ARGUMENT, "selected from NaN");
    CHECK(fabs(linnet_audio_seconds(audio) - 1) < 1e-12 && linnet_audio_input_rate(audio) == 16000 &&
              linnet_audio_num_input_channels(audio) == 1,
          "%g s, %g Hz, %zu channels", linnet_audio_seconds(audio), linnet_audio_input_rate(audio),
          linnet_audio_num_input_channels(audio));
    linnet_audio_destroy(audio);
    free(file.data);
  }
}

/* A file without samples has a length, 0. */
static void test_parts_of_nothing(void) {
  static const float none[1];
  struct file file = encode(SF_FORMAT_WAV | SF_FORMAT_PCM_16, 16000, 1, none, 0);
  struct linnet_audio *audio = NULL;
  REQUIRE(linnet_audio_open_memory(context, file.data, (size_t)file.size, NULL, &audio) == LINNET_OK, "%s",
          linnet_context_error(context));
  CHECK(linnet_audio_seconds(audio) == 0, "%g seconds", linnet_audio_seconds(audio));
  CHECK(linnet_audio_select(audio, 5, 6) == LINNET_ERROR_ARGUMENT, "a part of nothing");
  CHECK(linnet_audio_check_end(audio) == LINNET_OK, "%s", linnet_context_error(context));
  linnet_audio_destroy(audio);
  free(file.data);
}

/* A part of an input without seeking: raw PCM on a pipe. */
static void test_part_of_pipe(void) {
  struct linnet_audio_settings settings;
  linnet_audio_settings_default(&settings);
  settings.raw_format = LINNET_SAMPLE_U8;
  settings.raw_rate = settings.sample_rate = 1000;
  int fds[2];
  REQUIRE(pipe(fds) == 0, "no pipe");
  unsigned char bytes[256];
  for (int i = 0; i < 256; i++)
    bytes[i] = (unsigned char)i;
  REQUIRE(write(fds[1], bytes, 256) == 256, "pipe");
  close(fds[1]);
  struct linnet_audio *audio = NULL;
  float *samples = NULL;
  size_t n = 0;
  REQUIRE(linnet_audio_open_fd(context, fds[0], NULL, &settings, &audio) == LINNET_OK, "%s",
          linnet_context_error(context));
  CHECK(linnet_audio_select(audio, 0.1, 0.2) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_audio_read_all(audio, &samples, &n) == LINNET_OK && n == 100 && samples[0] == (100 - 128) * 256,
        "%zu samples", n);
  linnet_audio_release(context, samples);
  linnet_audio_destroy(audio);
  close(fds[0]);
}

/* --- Failures ------------------------------------------------------------------------------------------------- */

static void expect_path(const char *path, enum linnet_status expected, const char *word) {
  struct linnet_audio *audio = (void *)&audio;
  enum linnet_status status = linnet_audio_open(context, path, NULL, &audio);
  CHECK(status == expected && !audio, "%s: %s", path, linnet_status_string(status));
  CHECK(strstr(linnet_context_error(context), word) && strstr(linnet_context_error(context), path), "%s: \"%s\"", path,
        linnet_context_error(context));
  linnet_audio_destroy(audio);
}

/* The suggested command must not write the file that it reads. */
static void check_conversion_of_wav(const void *data, size_t size) {
  char path[4300];
  struct linnet_audio *audio;
  save(data, size);
  snprintf(path, sizeof path, "%s.wav", scratch_path());
  REQUIRE(rename(scratch_path(), path) == 0, "%s: cannot rename", scratch_path());
  CHECK(linnet_audio_open(context, path, NULL, &audio) == LINNET_ERROR_UNSUPPORTED &&
            strstr(linnet_context_error(context), ".tmp-converted.wav"),
        "%s", linnet_context_error(context));
  remove(path);
}

static void test_bad_paths(void) {
  expect_path("/nonexistent/x.wav", LINNET_ERROR_IO, "No such file");
  expect_path(TEST_BINARY_DIR, LINNET_ERROR_IO, "folder");
  save("", 0);
  expect_path(scratch_path(), LINNET_ERROR_FORMAT, "empty");
  save("This is text and no sound.", 26);
  expect_path(scratch_path(), LINNET_ERROR_FORMAT, "FLAC");
  save("RIFF\1\2\3\4WAVEjunk", 16);
  expect_path(scratch_path(), LINNET_ERROR_FORMAT, "looks like WAV");
  static const char m4a[16] = "\0\0\0 ftypM4A ", webm[] = "\x1A\x45\xDF\xA3\x9F";
  save(m4a, sizeof m4a);
  expect_path(scratch_path(), LINNET_ERROR_UNSUPPORTED,
              "is MP4 or M4A, which is not supported: convert it, for example: ffmpeg -i ");
  check_conversion_of_wav(m4a, sizeof m4a);
  save(webm, sizeof webm);
  expect_path(scratch_path(), LINNET_ERROR_UNSUPPORTED, "is WebM or Matroska");
  static const char sphere[1024] = "NIST_1A\n   1024\nsample_rate -i 16000\nsample_n_bytes -i 2\nchannel_count -i 1\n"
                                   "sample_coding -s26 pcm,embedded-shorten-v2.00\nend_head\n";
  save(sphere, sizeof sphere);
  expect_path(scratch_path(), LINNET_ERROR_FORMAT, "ends before its end mark");
  static const char cut[1024 + 100] =
      "NIST_1A\n   1024\nsample_rate -i 16000\nsample_n_bytes -i 2\nchannel_count -i 1\n"
      "sample_count -i 51\nsample_coding -s3 pcm\nend_head\n";
  save(cut, sizeof cut);
  expect_path(scratch_path(), LINNET_ERROR_FORMAT, "ends at byte 1124 of 1126");
}

static void expect_settings(const struct linnet_audio_settings *settings) {
  static const short some[100];
  struct linnet_audio *audio = NULL;
  enum linnet_status status = linnet_audio_open_memory(context, some, sizeof some, settings, &audio);
  CHECK(status == LINNET_ERROR_ARGUMENT && !audio, "wrong settings accepted: %s", linnet_status_string(status));
  linnet_audio_destroy(audio);
}

static void test_bad_settings(void) {
  struct linnet_audio_settings good, s;
  linnet_audio_settings_default(&good);
  good.raw_format = LINNET_SAMPLE_S16LE;
#define BAD(change) (s = good, s.change, expect_settings(&s))
  BAD(size = 3);
  BAD(sample_rate = 999);
  BAD(sample_rate = 400000);
  BAD(sample_rate = NAN);
  BAD(max_seconds = -1);
  BAD(max_seconds = NAN);
  BAD(channel = -2);
  BAD(channel = 1);
  BAD(raw_format = 99);
  BAD(raw_rate = 10);
  BAD(num_raw_channels = 0);
  BAD(num_raw_channels = 65);
  struct linnet_audio *audio;
  CHECK(linnet_audio_open(context, NULL, NULL, &audio) == LINNET_ERROR_ARGUMENT, "NULL path");
  CHECK(linnet_audio_open(context, "x", NULL, NULL) == LINNET_ERROR_ARGUMENT, "NULL result");
  CHECK(linnet_audio_open_fd(context, -1, "x", NULL, &audio) == LINNET_ERROR_ARGUMENT, "no descriptor");
  CHECK(linnet_audio_open_memory(context, NULL, 0, NULL, &audio) == LINNET_ERROR_FORMAT && !audio &&
            strstr(linnet_context_error(context), "is empty"),
        "no bytes: %s", linnet_context_error(context));
  linnet_audio_destroy(NULL);
}

/* Samples that are no numbers, or so large that resampling and power spectra overflow. */
static void test_impossible_samples(void) {
  static const float values[] = {NAN, INFINITY, -1e30f};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    float bad[100] = {0};
    bad[50] = values[i];
    struct file file = encode(SF_FORMAT_WAV | SF_FORMAT_FLOAT, 16000, 1, bad, 100);
    float *samples;
    size_t n;
    CHECK(read_memory(&file, NULL, &samples, &n) == LINNET_ERROR_FORMAT && !samples &&
              strstr(linnet_context_error(context), "not audio"),
          "%g: %s", (double)values[i], linnet_context_error(context));
    CHECK(read_part(context, &file, (size_t)file.size, 0.003, -1, &n) == LINNET_ERROR_FORMAT &&
              strstr(linnet_context_error(context), "at 0.0031 seconds"),
          "%g: %s", (double)values[i], linnet_context_error(context));
    free(file.data);
  }
}

static void test_rates_of_files(void) {
  static const float some[100];
  struct file file = encode(SF_FORMAT_WAV | SF_FORMAT_PCM_16, 500, 1, some, 100);
  float *samples;
  size_t n;
  CHECK(read_memory(&file, NULL, &samples, &n) == LINNET_ERROR_UNSUPPORTED, "500 Hz: %zu samples", n);
  free(file.data);
}

static enum linnet_status read_silently(const unsigned char *data, size_t size, size_t *count) {
  int saved = silence();
  float *samples;
  enum linnet_status status = read_way(MEMORY, data, size, NULL, &samples, count);
  linnet_audio_release(context, samples);
  restore(saved);
  return status;
}

/* Every prefix, then single bytes overwritten: any status, no crash, no more samples than such a file can have. */
static void check_hostile(const char *name, int format, const float *signal, size_t frames) {
  struct file file = encode(format, 16000, 1, signal, frames);
  struct test_random random = {11};
  size_t n, good = 0, runs = 0;
  size_t step = file.size > 3000 ? (size_t)file.size / 1500 : 1;
  for (size_t cut = 0; cut < (size_t)file.size; cut += step, runs++) {
    unsigned char *copy = malloc(cut + 1); /* exactly as long, for the address sanitizer */
    memcpy(copy, file.data, cut);
    good += read_silently(copy, cut, &n) == LINNET_OK;
    CHECK(n <= frames * 2 + 4000, "%s cut at %zu: %zu samples", name, cut, n);
    free(copy);
  }
  for (int i = 0; i < 1500 && file.size > 0; i++, runs++) {
    size_t at = test_below(&random, i % 2 ? (size_t)file.size : (size_t)file.size < 100 ? (size_t)file.size : 100);
    unsigned char old = file.data[at];
    file.data[at] = (unsigned char)test_next(&random);
    good += read_silently(file.data, (size_t)file.size, &n) == LINNET_OK;
    file.data[at] = old;
  }
  CHECK(file.size == 0 || good < runs, "%s: no damage was ever noticed", name);
  printf("%s: %zu of %zu damaged files read\n", name, good, runs);
  free(file.data);
}

static void test_hostile(const float *signal) {
  check_hostile("WAV", SF_FORMAT_WAV | SF_FORMAT_PCM_16, signal, 200);
  check_hostile("WAV float", SF_FORMAT_WAV | SF_FORMAT_FLOAT, signal, 200);
  check_hostile("RF64", SF_FORMAT_RF64 | SF_FORMAT_PCM_16, signal, 200);
  check_hostile("AIFF", SF_FORMAT_AIFF | SF_FORMAT_PCM_16, signal, 200);
  check_hostile("SPHERE", SF_FORMAT_NIST | SF_FORMAT_PCM_16, signal, 200);
  check_hostile("FLAC", SF_FORMAT_FLAC | SF_FORMAT_PCM_16, signal, 2000);
  check_hostile("Vorbis", SF_FORMAT_OGG | SF_FORMAT_VORBIS, signal, 2000);
  check_hostile("Opus", SF_FORMAT_OGG | SF_FORMAT_OPUS, signal, 2000);
  check_hostile("MP3", SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III, signal, 2000);
}

/* --- Memory --------------------------------------------------------------------------------------------------- */

/* Ten minutes at 44.1 kHz in stereo, read from a path and resampled. */
static void test_constant_memory(void) {
  size_t frames = 600 * 44100, bound = 1 << 20, n, total = 0;
  short *zeros = calloc(frames, 4);
  SF_INFO info = {.samplerate = 44100, .channels = 2, .format = SF_FORMAT_WAV | SF_FORMAT_PCM_16};
  SNDFILE *sound = sf_open(scratch_path(), SFM_WRITE, &info);
  REQUIRE(sound && sf_writef_short(sound, zeros, (sf_count_t)frames) == (sf_count_t)frames, "cannot write");
  sf_close(sound);
  free(zeros);
  struct usage usage;
  struct linnet_context *counted = counting_context(&usage);
  struct linnet_audio *audio = NULL;
  REQUIRE(linnet_audio_open(counted, scratch_path(), NULL, &audio) == LINNET_OK, "%s", linnet_context_error(counted));
  static float samples[5000];
  while (linnet_audio_read(audio, samples, 5000, &n) == LINNET_OK)
    total += n;
  CHECK(total == 9600000, "%zu samples of 9600000", total);
  CHECK(usage.peak < bound, "%zu bytes, bound %zu", usage.peak, bound);
  printf("ten minutes: %zu bytes, bound %zu\n", usage.peak, bound);
  linnet_audio_destroy(audio);
  linnet_context_destroy(counted);
}

/* Input that never ends: of no format it is refused soon, of a format without a header after the seconds allowed. */
static void test_endless(void) {
  struct usage usage;
  struct linnet_audio_settings settings;
  struct linnet_audio *audio = NULL;
  static float samples[5000];
  size_t n, total = 0, bound = (size_t)64 << 20;
  if (access("/dev/zero", R_OK) != 0)
    return;
  struct linnet_context *counted = counting_context(&usage);
  CHECK(linnet_audio_open(counted, "/dev/zero", NULL, &audio) == LINNET_ERROR_FORMAT && !audio, "%s",
        linnet_context_error(counted));
  CHECK(usage.peak < bound, "%zu bytes, bound %zu", usage.peak, bound);
  linnet_audio_settings_default(&settings);
  settings.raw_format = LINNET_SAMPLE_S16LE;
  settings.max_seconds = 2;
  REQUIRE(linnet_audio_open(counted, "/dev/zero", &settings, &audio) == LINNET_OK, "%s", linnet_context_error(counted));
  enum linnet_status status;
  while ((status = linnet_audio_read(audio, samples, 5000, &n)) == LINNET_OK && total < 100000)
    total += n;
  CHECK(status == LINNET_ERROR_LIMIT && strstr(linnet_context_error(counted), "maximum of 2 seconds"),
        "%zu samples: %s", total, linnet_context_error(counted));
  linnet_audio_destroy(audio);
  linnet_context_destroy(counted);
}

static enum linnet_status torture_file(struct linnet_context *tortured) {
  struct linnet_audio *audio = NULL;
  float *samples = NULL;
  size_t n;
  enum linnet_status status = linnet_audio_open(tortured, scratch_path(), NULL, &audio);
  if (status == LINNET_OK)
    status = linnet_audio_read_all(audio, &samples, &n);
  linnet_audio_release(tortured, samples);
  linnet_audio_destroy(audio);
  return status;
}

static enum linnet_status torture_pipe(struct linnet_context *tortured) {
  int fds[2];
  char bytes[200] = {0};
  REQUIRE(pipe(fds) == 0 && write(fds[1], bytes, sizeof bytes) == sizeof bytes, "pipe");
  close(fds[1]);
  struct linnet_audio *audio = NULL;
  enum linnet_status status = linnet_audio_open_fd(tortured, fds[0], "pipe", NULL, &audio);
  linnet_audio_destroy(audio);
  close(fds[0]);
  return status == LINNET_ERROR_FORMAT ? LINNET_OK : status; /* zeros are no audio file */
}

static enum linnet_status torture_raw(struct linnet_context *tortured) {
  struct linnet_audio_settings settings;
  linnet_audio_settings_default(&settings);
  settings.raw_format = LINNET_SAMPLE_S16LE;
  static const short some[100];
  struct linnet_audio *audio = NULL;
  enum linnet_status status = linnet_audio_open_memory(tortured, some, sizeof some, &settings, &audio);
  linnet_audio_destroy(audio);
  return status;
}

static void test_torture(const float *signal) {
  struct file file = encode(SF_FORMAT_WAV | SF_FORMAT_PCM_16, 48000, 1, signal, SECOND);
  save(file.data, (size_t)file.size);
  torture("resampled file", torture_file);
  torture("pipe", torture_pipe);
  torture("raw", torture_raw);
  free(file.data);
}

int main(void) {
  context = test_context();
  float *signal = make_signal(SECOND);
  test_formats(signal);
  test_unknown_sizes(signal);
  test_unknown_sizes_of_kinds(signal);
  test_odd_chunk(signal);
  for (size_t i = 0; i < sizeof with_lengths / sizeof *with_lengths; i++)
    test_incomplete(signal, with_lengths[i]);
  test_early_ends();
  test_damage();
  test_mp3_without_length();
  test_mp3_of_constant_rate(signal);
  test_entries();
  test_voc_blocks();
  test_entries_without_length(signal);
  test_raw_formats();
  test_half_sample();
  test_g711();
  test_raw_is_not_held_back();
  test_descriptor_without_blocking();
  test_named_pipe();
  test_channels();
  test_rates();
  test_parts(signal);
  test_parts_of_nothing();
  test_part_of_pipe();
  test_bad_paths();
  test_bad_settings();
  test_impossible_samples();
  test_rates_of_files();
  test_hostile(signal);
  test_constant_memory();
  test_endless();
  test_torture(signal);
  remove(scratch_path());
  free(signal);
  linnet_context_destroy(context);
  return test_result();
}
