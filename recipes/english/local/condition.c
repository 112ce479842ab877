/* linnet-condition: the recordings of a list under another condition (silence around them, noise, level, band), as
 * 16-bit WAV files, to measure recognition. */
#include <math.h>
#include <popt.h>
#include <sndfile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linnet/audio.h>
#include <linnet/augment.h>
#include <linnet/lexicon.h>

enum { RATE = 16000, MAX_CLIPS = 4096 };

static const double pi = 3.14159265358979323846;

static struct {
  const char *list, *out, *noise;
  double pad, pad_level, snr, gain, offset, low, high;
  int music;
} options = {.pad_level = -200, .snr = 1000};

static const struct poptOption option_table[] = {
    {"list", 0, POPT_ARG_STRING, &options.list, 0, "Recordings: lines \"ID PATH\"", "FILE"},
    {"out", 0, POPT_ARG_STRING, &options.out, 0, "Folder to write ID.wav to; it must exist", "DIR"},
    {"pad", 0, POPT_ARG_DOUBLE, &options.pad, 0, "Silence before and after each", "SECONDS"},
    {"pad-level", 0, POPT_ARG_DOUBLE, &options.pad_level, 0,
     "dB of white noise in it, relative to the recording; default: digital silence", "DB"},
    {"noise", 0, POPT_ARG_STRING, &options.noise, 0, "Clips to mix with: lines \"ID PATH\"", "FILE"},
    {"music", 0, POPT_ARG_NONE, &options.music, 0, "Mix with chords of plucked strings instead", NULL},
    {"snr", 0, POPT_ARG_DOUBLE, &options.snr, 0, "Signal-to-noise ratio of the mixture", "DB"},
    {"gain", 0, POPT_ARG_DOUBLE, &options.gain, 0, "Change of level, with clipping to 16 bits", "DB"},
    {"offset", 0, POPT_ARG_DOUBLE, &options.offset, 0, "Offset to add to all samples (full scale: 1)", "X"},
    {"low", 0, POPT_ARG_DOUBLE, &options.low, 0, "Lower edge of a band", "HZ"},
    {"high", 0, POPT_ARG_DOUBLE, &options.high, 0, "Upper edge of the band", "HZ"},
    POPT_AUTOHELP POPT_TABLEEND};

static struct linnet_context *context;

static void die(const char *what, const char *why) {
  fprintf(stderr, "linnet-condition: %s: %s\n", what, why);
  exit(1);
}

/* --- input, output ----------------------------------------------------------------------------------------------- */

static float *read_file(const char *path, size_t *count) {
  struct linnet_audio *audio = NULL;
  float *samples = NULL;
  if (linnet_audio_open(context, path, NULL, &audio) != LINNET_OK ||
      linnet_audio_read_all(audio, &samples, count) != LINNET_OK)
    die(path, linnet_context_error(context));
  linnet_audio_destroy(audio);
  return samples;
}

static short to_short(float sample) {
  return (short)lrintf(fminf(fmaxf(sample, -32768), 32767));
}

static void write_file(const char *id, const float *samples, size_t count) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.wav", options.out, id);
  SF_INFO info = {.samplerate = RATE, .channels = 1, .format = SF_FORMAT_WAV | SF_FORMAT_PCM_16};
  SNDFILE *file = sf_open(path, SFM_WRITE, &info);
  short *rounded = malloc((count + 1) * sizeof *rounded);
  if (!file || !rounded)
    die(path, file ? "out of memory" : sf_strerror(NULL));
  for (size_t i = 0; i < count; i++)
    rounded[i] = to_short(samples[i]);
  if (sf_write_short(file, rounded, (sf_count_t)count) != (sf_count_t)count || sf_close(file) != 0)
    die(path, "cannot write");
  free(rounded);
}

/* The tokens with a space between each two. Stays until the end. */
static const char *join(const char *const *tokens, size_t count) {
  size_t bytes = 1;
  for (size_t i = 0; i < count; i++)
    bytes += strlen(tokens[i]) + 1;
  char *joined = calloc(bytes, 1);
  if (!joined)
    die("list", "out of memory");
  for (size_t i = 0, at = 0; i < count; i++)
    at += (size_t)snprintf(joined + at, bytes - at, "%s%s", i > 0 ? " " : "", tokens[i]);
  return joined;
}

/* The paths of a list "ID PATH" in `paths`, ids in `ids`. A path may have single spaces. */
static size_t read_list(const char *name, const char **ids, const char **paths, size_t capacity) {
  struct linnet_transcripts *list = NULL; /* stays until the end: it holds the texts */
  if (linnet_transcripts_load(context, name, &list) != LINNET_OK)
    die(name, linnet_context_error(context));
  size_t total = linnet_transcripts_num_utterances(list), tokens;
  if (total > capacity)
    die(name, "has too many lines");
  for (size_t i = 0; i < total; i++) {
    const char *const *token = linnet_transcripts_tokens(list, i, &tokens);
    if (tokens < 1)
      die(name, "its lines must be \"ID PATH\"");
    ids[i] = linnet_transcripts_id(list, i);
    paths[i] = tokens == 1 ? token[0] : join(token, tokens);
  }
  return total;
}

/* --- noises ------------------------------------------------------------------------------------------------------- */

static struct linnet_noise_clip clips[MAX_CLIPS];
static size_t num_clips;

static void add_clip(const float *samples, size_t count) {
  int16_t *rounded = malloc((count + 1) * sizeof *rounded);
  if (!rounded)
    die("noise", "out of memory");
  for (size_t i = 0; i < count; i++)
    rounded[i] = to_short(samples[i]);
  clips[num_clips++] = (struct linnet_noise_clip){rounded, count};
}

static void read_clips(void) {
  static const char *ids[MAX_CLIPS], *paths[MAX_CLIPS];
  size_t total = read_list(options.noise, ids, paths, MAX_CLIPS), count;
  for (size_t i = 0; i < total; i++) {
    float *samples = read_file(paths[i], &count);
    add_clip(samples, count);
    linnet_audio_release(context, samples);
  }
}

/* A string plucked at `start`: six partials that fade. */
static void pluck(float *samples, size_t count, size_t start, double hertz) {
  for (size_t i = start; i < count; i++) {
    double t = (double)(i - start) / RATE, sum = 0;
    for (int k = 1; k <= 6; k++)
      sum += exp(-t * (1.5 + k)) / k * sin(2 * pi * hertz * k * t);
    samples[i] += (float)(2000 * sum);
  }
}

/* Eight bars of four broken chords, in all 16 s. */
static void make_music(void) {
  enum { COUNT = 16 * RATE, NOTES = 64 };
  static float samples[COUNT];
  static const int chords[4][4] = {{0, 4, 7, 12}, {-3, 0, 4, 9}, {-7, -3, 0, 5}, {-5, -1, 2, 7}};
  for (size_t n = 0; n < NOTES; n++) {
    const int *chord = chords[n / 16];
    pluck(samples, COUNT, n * COUNT / NOTES, 220 * pow(2, chord[n % 4] / 12.0));
  }
  add_clip(samples, COUNT);
}

/* White noise that depends on the sample's index only. */
static void make_white(void) {
  static float samples[7 * RATE];
  uint64_t state = 1;
  for (size_t i = 0; i < 7 * RATE; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    samples[i] = (float)((double)(state >> 40) / (1 << 23) - 1) * 8000;
  }
  add_clip(samples, 7 * RATE);
}

/* --- conditions --------------------------------------------------------------------------------------------------- */

static double level_of(const float *samples, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; i++)
    sum += (double)samples[i] * samples[i];
  return sqrt(sum / (double)(count + 1));
}

/* The recording between two paddings: noise at a level, or silence. */
static float *pad(const float *samples, size_t count, size_t padding) {
  float *padded = calloc(count + 2 * padding + 1, sizeof *padded);
  if (!padded)
    die("padding", "out of memory");
  float gain = (float)(level_of(samples, count) * pow(10, options.pad_level / 20) / (8000 / sqrt(3)));
  for (size_t i = 0; i < count + 2 * padding && options.pad_level > -200; i++)
    padded[i] = gain * clips[0].samples[i % clips[0].num_samples];
  memcpy(padded + padding, samples, count * sizeof *samples);
  return padded;
}

static void change(float *samples, size_t count, size_t index) {
  const struct linnet_augment_key key = {1, 1, index};
  struct linnet_noise_settings noise;
  struct linnet_band_settings band;
  linnet_noise_settings_default(&noise), linnet_band_settings_default(&band);
  noise.probability = band.probability = 1;
  noise.snr_low = noise.snr_high = options.snr;
  if (options.snr < 1000)
    linnet_augment_noise(&noise, key, clips, num_clips, samples, count);
  band.min_high = band.max_high = options.high;
  band.max_low = options.low;
  if (options.high > 0 && linnet_augment_band(&band, key, RATE, samples, count) != LINNET_OK)
    die("--low, --high", "the band is not possible");
  for (size_t i = 0; i < count; i++)
    samples[i] = samples[i] * (float)pow(10, options.gain / 20) + (float)(32768 * options.offset);
}

static void convert(const char *id, const char *path, size_t index) {
  size_t count, padding = (size_t)(options.pad * RATE);
  float *samples = read_file(path, &count), *padded = pad(samples, count, padding);
  change(padded, count + 2 * padding, index);
  write_file(id, padded, count + 2 * padding);
  free(padded);
  linnet_audio_release(context, samples);
}

int main(int argc, const char **argv) {
  poptContext parsed = poptGetContext("linnet-condition", argc, argv, option_table, 0);
  int code = poptGetNextOpt(parsed);
  if (code < -1)
    die(poptBadOption(parsed, 0), poptStrerror(code));
  if (!options.list || !options.out)
    die("--list, --out", "both are required; see --help");
  if (linnet_context_create(NULL, &context) != LINNET_OK)
    die("start", "cannot create a context");
  enum { MAX_RECORDINGS = 100000 };
  static const char *ids[MAX_RECORDINGS], *paths[MAX_RECORDINGS];
  size_t total = read_list(options.list, ids, paths, MAX_RECORDINGS);
  if (options.noise)
    read_clips();
  else if (options.music)
    make_music();
  else
    make_white();
  for (size_t i = 0; i < total; i++)
    convert(ids[i], paths[i], i);
  poptFreeContext(parsed);
  return 0;
}
