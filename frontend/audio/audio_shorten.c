/* Shorten, the lossless coding inside SPHERE files of the LDC (Robinson 1994, "SHORTEN: Simple lossless and
 * near-lossless waveform compression", Cambridge CUED/F-INFENG/TR.156), versions 1 and 2.
 *
 * A stream is "ajkg", a version byte, and bits, most significant first. Numbers are Rice codes: uvar(n) is zeros
 * counted up to a one, then n bits; var(n) is uvar(n + 1) with the sign in the lowest bit; ulong is uvar(uvar(2)). The
 * header (type, channels, block size, order, means, skipped bytes) is followed by commands; each block of a channel is
 * a command with residuals of a polynomial (DIFF) or linear (QLPC) predictor. Blocks of all channels take turns. */
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "frontend/audio/audio_decoder.h"

enum command { DIFF0, DIFF1, DIFF2, DIFF3, QUIT, BLOCKSIZE, BITSHIFT, QLPC, ZERO, VERBATIM };

/* ULAW: linear samples of 13 bits, converted from mu-law. ULAW_CODES and ULAW_CODES_ZEROS: mu-law codes. */
enum sample_type { ULAW_CODES, S8, U8, S16HL, U16HL, S16LH, U16LH, ULAW, ULAW_CODES_ZEROS, TYPES };

/* Widths of the codes. */
enum { ORDER_BITS = 2, ENERGY_BITS = 3, SHIFT_BITS = 2, COMMAND_BITS = 2 };
enum { COEFFICIENT_BITS = 5, VERBATIM_SIZE_BITS = 5, BYTE_BITS = 8 };

/* Limits of a stream's parameters. */
enum { MAX_BLOCK = 65536, MAX_ORDER = 64, MAX_MEANS = 128, MAX_SHIFT = 16, MAX_CHANNELS = 8, MAX_ENERGY = 31 };
enum { MAX_SAMPLE = 1 << 24, MAX_COEFFICIENT = 1 << 20, MAX_SKIPPED = 1 << 16, HISTORY = MAX_ORDER, BUFFER = 16384 };

/* --- mu-law ------------------------------------------------------------------------------------------------------- */

/* A shift of s bits says that all samples were multiples of 2^s in the 13 bits of mu-law, so that few codes occur:
 * those of the multiples. They are numbered from 0 (code 255, zero) up and from -1 down by magnitude; behind them come
 * the codes that do not occur: positive ones by magnitude, the negative zero (127), negative ones by magnitude. */

enum { CODES = 256, POSITIVE = 0x80, NEGATIVE_ZERO = 0x7f, RANGE = 1 << 12 /* of 13 bits */ };

static void find_codes(unsigned shift, bool occurs[CODES]) {
  for (int c = 0; c < CODES; c++)
    occurs[c] = false;
  for (int x = -RANGE; x < RANGE; x += 1 << shift)
    occurs[linnet_ulaw_encode(x * 8)] = true;
}

void linnet_shorten_ulaw(unsigned shift, float values[256]) {
  bool occurs[CODES];
  float *up = values + CODES / 2, *down = up;
  find_codes(shift, occurs);
  for (int wanted = 1; wanted >= 0; wanted--) /* those that occur first */
    for (int c = CODES - 1; c >= POSITIVE; c--)
      if (occurs[c] == wanted)
        *up++ = (float)linnet_ulaw_decode((unsigned char)c);
  for (int wanted = 1; wanted >= 0; wanted--) {
    if (!wanted)
      *--down = 0; /* NEGATIVE_ZERO */
    for (int c = NEGATIVE_ZERO - 1; c >= 0; c--)
      if (occurs[c] == wanted)
        *--down = (float)linnet_ulaw_decode((unsigned char)c);
  }
}

/* --- state -------------------------------------------------------------------------------------------------------- */

struct channel {
  int64_t history[HISTORY]; /* the samples before the block, newest last */
  int64_t means[MAX_MEANS]; /* of the last blocks, newest last */
};

struct linnet_decoder {
  struct linnet_bytes *bytes;
  /* bits */
  unsigned char buffer[BUFFER];
  size_t held, used; /* bytes */
  uint64_t window;   /* bits already taken from the buffer, in its low `bits` */
  unsigned bits;
  int64_t offset; /* in the input, of the byte after the window */
  enum linnet_status status;
  /* stream */
  int version;
  enum sample_type type;
  size_t channels, block, order, means, shift;
  struct channel *state; /* (channels) */
  int64_t *samples;      /* (HISTORY + block): of the running channel */
  float ulaw[256];       /* the samples of the codes, for the shift */
  float *frames;         /* (block, channels): decoded, on the int16 scale */
  size_t ready, taken;   /* of these */
  size_t running;        /* channel whose block comes next */
  bool ended;
  int64_t stated, decoded; /* frames: by the SPHERE header (-1: not said), so far */
};

/* --- bits: after a failure everything reads as 0, and `status` says so -------------------------------------------- */

static void fail(struct linnet_decoder *d, const char *what) {
  if (d->status == LINNET_OK)
    d->status = linnet_fail(d->bytes->context, LINNET_ERROR_FORMAT, "%s: Shorten stream, byte %" PRId64 ": %s",
                            d->bytes->name, d->offset, what);
}

static unsigned next_byte(struct linnet_decoder *d) {
  if (d->used == d->held) {
    d->held = linnet_bytes_read(d->bytes, d->buffer, BUFFER);
    d->used = 0;
    if (d->held == 0) {
      if (d->status == LINNET_OK)
        d->status = linnet_bytes_check(d->bytes);
      fail(d, "the stream ends before its end mark: copy the file again");
      return 0;
    }
  }
  d->offset++;
  return d->buffer[d->used++];
}

/* n <= 32 bits. */
static uint32_t read_bits(struct linnet_decoder *d, unsigned n) {
  for (; d->bits < n; d->bits += 8)
    d->window = d->window << 8 | next_byte(d);
  d->bits -= n;
  return (uint32_t)(d->window >> d->bits & ((UINT64_C(1) << n) - 1));
}

static uint32_t read_unsigned(struct linnet_decoder *d, unsigned n) {
  uint32_t high = 0;
  while (d->status == LINNET_OK && read_bits(d, 1) == 0)
    high++;
  if (n > 31 || high > UINT32_MAX >> n) {
    fail(d, "a number is out of range");
    return 0;
  }
  return high << n | read_bits(d, n);
}

static int64_t read_signed(struct linnet_decoder *d, unsigned n) {
  uint32_t code = read_unsigned(d, n + 1);
  return code & 1 ? -(int64_t)(code >> 1) - 1 : (int64_t)(code >> 1);
}

static uint32_t read_long(struct linnet_decoder *d) {
  uint32_t bits = read_unsigned(d, 2);
  return read_unsigned(d, bits);
}

/* A number of low to high. */
static size_t read_limited(struct linnet_decoder *d, uint32_t value, size_t low, size_t high, const char *what) {
  if (d->status == LINNET_OK && (value < low || value > high)) {
    fail(d, what);
    return low;
  }
  return value < low ? low : value;
}

/* --- the header --------------------------------------------------------------------------------------------------- */

static void read_header(struct linnet_decoder *d) {
  static const char magic[] = "ajkg";
  for (size_t i = 0; i < 4; i++)
    if (read_bits(d, 8) != (unsigned char)magic[i])
      fail(d, "the stream does not begin with \"ajkg\"");
  d->version = (int)read_limited(d, read_bits(d, 8), 1, 2, "only versions 1 and 2 are supported");
  d->type = (enum sample_type)read_limited(d, read_long(d), 0, TYPES - 1, "the sample type is not supported");
  d->channels = read_limited(d, read_long(d), 1, MAX_CHANNELS, "the number of channels is not 1 to 8");
  d->block = read_limited(d, read_long(d), 1, MAX_BLOCK, "the block size is not 1 to 65536");
  d->order = read_limited(d, read_long(d), 0, MAX_ORDER, "the order of the predictor is above 64");
  d->means = read_limited(d, read_long(d), 0, MAX_MEANS, "the number of means is above 128");
  for (size_t skipped = read_limited(d, read_long(d), 0, MAX_SKIPPED, "the number of bytes to skip is too large");
       skipped > 0; skipped--)
    read_bits(d, 8);
}

static enum linnet_status allocate(struct linnet_decoder *d) {
  struct linnet_context *context = d->bytes->context;
  int64_t middle = d->type == U8 ? 0x80 : d->type == U16HL || d->type == U16LH ? 0x8000 : 0;
  d->state = linnet_calloc(context, d->channels, sizeof *d->state);
  d->samples = linnet_alloc(context, HISTORY + MAX_BLOCK, sizeof *d->samples);
  d->frames = linnet_alloc(context, MAX_BLOCK * d->channels, sizeof *d->frames);
  if (!d->state || !d->samples || !d->frames)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "%s: out of memory", d->bytes->name);
  for (size_t c = 0; c < d->channels; c++)
    for (size_t i = 0; i < MAX_MEANS; i++)
      d->state[c].means[i] = middle;
  linnet_shorten_ulaw(0, d->ulaw);
  return LINNET_OK;
}

/* --- blocks ------------------------------------------------------------------------------------------------------- */

/* Division as C rounds it, towards 0; version 2 rounds to the nearest by adding half before. */
static int64_t mean_of(const struct linnet_decoder *d, const int64_t *x, size_t n) {
  int64_t sum = d->version < 2 ? 0 : (int64_t)(n / 2);
  for (size_t i = 0; i < n; i++)
    sum += x[i];
  return sum / (int64_t)n;
}

/* The mean that the encoder subtracted. */
static int64_t block_offset(const struct linnet_decoder *d, const struct channel *c) {
  if (d->means == 0)
    return c->means[0];
  int64_t mean = mean_of(d, c->means, d->means);
  return d->version < 2 ? mean : mean >> d->shift;
}

static void keep_mean(const struct linnet_decoder *d, struct channel *c, const int64_t *x) {
  if (d->means == 0)
    return;
  int64_t mean = mean_of(d, x, d->block);
  memmove(c->means, c->means + 1, (d->means - 1) * sizeof *c->means);
  c->means[d->means - 1] = d->version < 2 ? mean : mean * ((int64_t)1 << d->shift);
}

struct predictor {
  size_t order;
  int64_t coefficients[MAX_ORDER];
  unsigned quantised; /* bits of the coefficients after the point */
  int64_t rounding;
};

static int64_t read_coefficient(struct linnet_decoder *d) {
  int64_t value = read_signed(d, COEFFICIENT_BITS);
  if (value <= MAX_COEFFICIENT && value >= -MAX_COEFFICIENT)
    return value;
  fail(d, "a coefficient is out of range");
  return 0;
}

static struct predictor read_predictor(struct linnet_decoder *d, enum command command, int64_t offset) {
  static const struct predictor polynomials[] = {
      {0, {0}, 0, 0}, {1, {1}, 0, 0}, {2, {2, -1}, 0, 0}, {3, {3, -3, 1}, 0, 0}};
  if (command != QLPC) {
    struct predictor p = polynomials[command];
    p.rounding = command == DIFF0 ? offset : 0;
    return p;
  }
  struct predictor p = {.quantised = COEFFICIENT_BITS, .rounding = d->version > 1 ? 1 << COEFFICIENT_BITS : 0};
  p.order =
      read_limited(d, read_unsigned(d, ORDER_BITS), 0, d->order, "the order of a predictor is above the header's");
  for (size_t i = 0; i < p.order; i++)
    p.coefficients[i] = read_coefficient(d);
  return p;
}

/* x[-HISTORY] ... x[-1] are the samples before. The limits on samples, offset and coefficients keep sums within 2^52.
 */
static void predict(struct linnet_decoder *d, const struct predictor *p, unsigned energy, int64_t offset, int64_t *x) {
  for (size_t i = 0; p->quantised > 0 && i < p->order; i++)
    x[-(ptrdiff_t)i - 1] -= offset;
  for (size_t t = 0; t < d->block && d->status == LINNET_OK; t++) {
    int64_t sum = p->rounding;
    for (size_t i = 0; i < p->order; i++)
      sum += p->coefficients[i] * x[(ptrdiff_t)t - (ptrdiff_t)i - 1];
    x[t] = read_signed(d, energy) + (sum >> p->quantised);
    if (x[t] > MAX_SAMPLE || x[t] < -MAX_SAMPLE) {
      fail(d, "a sample is out of range");
      x[t] = 0;
    }
  }
  for (size_t t = 0; p->quantised > 0 && t < d->block; t++)
    x[t] += offset;
}

static bool is_codes(enum sample_type type) {
  return type == ULAW_CODES || type == ULAW_CODES_ZEROS;
}

/* With ULAW_CODES_ZEROS, -1 is the negative zero, and the other negative values are lower by 1. */
static float ulaw_value(struct linnet_decoder *d, int64_t x) {
  if (d->type == ULAW_CODES_ZEROS && x < 0 && ++x == 0)
    return 0;
  if (x >= -128 && x < 128)
    return d->ulaw[x + 128];
  fail(d, "a mu-law sample is out of range");
  return 0;
}

/* A sample of the stream's type on the int16 scale. */
static float scaled(struct linnet_decoder *d, int64_t x) {
  if (is_codes(d->type))
    return ulaw_value(d, x);
  x *= (int64_t)1 << d->shift;
  switch (d->type) {
  case S8:
    return (float)(x * 256);
  case U8:
    return (float)((x - 0x80) * 256);
  case U16HL:
  case U16LH:
    return (float)(x - 0x8000);
  case ULAW:
    return (float)(x * 8); /* coded as linear samples of 13 bits */
  default:
    return (float)x;
  }
}

static void read_block(struct linnet_decoder *d, enum command command) {
  struct channel *c = &d->state[d->running];
  int64_t *x = d->samples + HISTORY, offset = block_offset(d, c);
  if (offset > MAX_SAMPLE || offset < -MAX_SAMPLE)
    fail(d, "a mean is out of range");
  memcpy(d->samples, c->history, sizeof c->history);
  if (command == ZERO) {
    memset(x, 0, d->block * sizeof *x);
  } else {
    unsigned energy =
        (unsigned)read_limited(d, read_unsigned(d, ENERGY_BITS), 0, MAX_ENERGY - 1, "the residuals are too wide");
    struct predictor p = read_predictor(d, command, offset);
    predict(d, &p, energy, offset, x);
  }
  if (d->status != LINNET_OK)
    return;
  keep_mean(d, c, x);
  memcpy(c->history, x + d->block - HISTORY, sizeof c->history);
  for (size_t t = 0; t < d->block; t++)
    d->frames[t * d->channels + d->running] = scaled(d, x[t]);
  d->running = (d->running + 1) % d->channels;
  d->ready = d->running == 0 ? d->block : 0;
  d->decoded += (int64_t)d->ready;
}

static void read_shift(struct linnet_decoder *d) {
  const bool codes = is_codes(d->type);
  d->shift = read_limited(d, read_unsigned(d, SHIFT_BITS), 0, codes ? LINNET_SHORTEN_ULAW_SHIFTS - 1 : MAX_SHIFT,
                          codes ? "the shift is above 12 bits" : "the shift is above 16 bits");
  if (codes)
    linnet_shorten_ulaw((unsigned)d->shift, d->ulaw);
}

static void end(struct linnet_decoder *d) {
  d->ended = true;
  if (d->decoded < d->stated)
    d->status =
        linnet_fail(d->bytes->context, LINNET_ERROR_FORMAT,
                    "%s: Shorten stream, byte %" PRId64 ": the stream ends after %" PRId64
                    " samples, but its SPHERE header announces %" PRId64 ": copy it again, or correct sample_count",
                    d->bytes->name, d->offset, d->decoded, d->stated);
}

/* Executes commands until the next block of all channels is complete, or until the end. */
static void read_commands(struct linnet_decoder *d) {
  d->ready = d->taken = 0;
  while (d->ready == 0 && !d->ended && d->status == LINNET_OK) {
    uint32_t command = read_unsigned(d, COMMAND_BITS);
    if (d->status != LINNET_OK)
      return;
    if (d->running > 0 && (command == BLOCKSIZE || command == QUIT)) {
      fail(d, "the block of a channel is missing");
      return;
    }
    switch (command) {
    case QUIT:
      end(d);
      break;
    case BLOCKSIZE:
      d->block = read_limited(d, read_long(d), 1, MAX_BLOCK, "the block size is not 1 to 65536");
      break;
    case BITSHIFT:
      read_shift(d);
      break;
    case VERBATIM:
      for (uint32_t n = read_unsigned(d, VERBATIM_SIZE_BITS); n > 0 && d->status == LINNET_OK; n--)
        read_unsigned(d, BYTE_BITS);
      break;
    default:
      if (command > VERBATIM)
        fail(d, "a command is unknown");
      else
        read_block(d, (enum command)command);
    }
  }
}

/* --- the decoder -------------------------------------------------------------------------------------------------- */

static void shorten_destroy(struct linnet_decoder *d) {
  struct linnet_context *context = d->bytes->context;
  linnet_free(context, d->state);
  linnet_free(context, d->samples);
  linnet_free(context, d->frames);
  linnet_free(context, d);
}

static enum linnet_status shorten_read(struct linnet_decoder *d, float *interleaved, size_t frames, size_t *got) {
  *got = 0;
  if (d->taken == d->ready)
    read_commands(d);
  if (d->status != LINNET_OK)
    return d->status;
  size_t left = d->ready - d->taken;
  *got = left < frames ? left : frames;
  memcpy(interleaved, d->frames + d->taken * d->channels, *got * d->channels * sizeof *interleaved);
  d->taken += *got;
  return LINNET_OK;
}

static bool shorten_seek(struct linnet_decoder *d, int64_t frame) {
  (void)d;
  (void)frame;
  return false;
}

static const struct linnet_decoder_kind shorten_kind = {shorten_read, shorten_seek, NULL, shorten_destroy};

static enum linnet_status start(struct linnet_decoder *d, const struct linnet_sphere *sphere) {
  read_header(d);
  LINNET_TRY(d->status);
  if (d->channels != (size_t)sphere->channels)
    return linnet_fail(d->bytes->context, LINNET_ERROR_FORMAT,
                       "%s: the SPHERE header announces %d channels, but the samples have %zu", d->bytes->name,
                       sphere->channels, d->channels);
  return allocate(d);
}

enum linnet_status linnet_decoder_open_shorten(struct linnet_bytes *bytes, const struct linnet_sphere *sphere,
                                               struct linnet_decoder_info *info) {
  struct linnet_decoder *d = linnet_calloc(bytes->context, 1, sizeof *d);
  if (!d)
    return linnet_fail(bytes->context, LINNET_ERROR_MEMORY, "%s: out of memory", bytes->name);
  d->bytes = bytes;
  d->stated = sphere->frames;
  bytes->position = d->offset = (int64_t)sphere->header_bytes;
  enum linnet_status status = start(d, sphere);
  if (status != LINNET_OK) {
    shorten_destroy(d);
    return status;
  }
  *info = (struct linnet_decoder_info){&shorten_kind, d, sphere->rate, sphere->channels, sphere->frames};
  return LINNET_OK;
}
