/* Wraps 16-bit mono samples (16 kHz, little-endian, standard input) into a NIST SPHERE file with Shorten inside
 * (standard output), as LDC discs have them. Written from the description of the format (Robinson 1994,
 * CUED/F-INFENG/TR.156); shares nothing with the decoder in frontend/.
 *
 *   make_sphere [1|2|pcm] [01|10]     version of Shorten, or none; byte order */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIFF0 = 0, QUIT = 4, BLOCKSIZE = 5, ZERO = 8 }; /* commands */
enum { S16HL = 3, S16LH = 5 };                         /* kinds of samples */
enum { BLOCK = 256, HISTORY = 3, MEANS = 4 };

struct encoder {
  int version, means;
  unsigned char byte;
  int bits;              /* in `byte` */
  size_t bytes;          /* written */
  long mean[MEANS];      /* of the last blocks */
  int32_t past[HISTORY]; /* samples before the block */
};

static void put_bit(struct encoder *e, unsigned bit) {
  e->byte = (unsigned char)(e->byte << 1 | bit);
  if (++e->bits < 8)
    return;
  putchar(e->byte);
  e->bytes++;
  e->bits = 0;
}

/* Rice codes: the high part in unary, n low bits. */
static void put_uvar(struct encoder *e, unsigned long value, int n) {
  for (unsigned long zeros = value >> n; zeros > 0; zeros--)
    put_bit(e, 0);
  put_bit(e, 1);
  for (int i = n - 1; i >= 0; i--)
    put_bit(e, (unsigned)(value >> i & 1));
}

static void put_var(struct encoder *e, long value, int n) {
  put_uvar(e, value >= 0 ? (unsigned long)value << 1 : (unsigned long)~value << 1 | 1, n + 1);
}

static void put_ulong(struct encoder *e, unsigned long value) {
  int n = 0;
  while (value >> (n + 1))
    n++;
  put_uvar(e, (unsigned long)n, 2);
  put_uvar(e, value, n);
}

static long mean_of_means(const struct encoder *e) {
  long sum = e->version > 1 ? e->means / 2 : 0;
  for (int i = 0; i < e->means; i++)
    sum += e->mean[i];
  return e->means ? sum / e->means : 0;
}

static void keep_mean(struct encoder *e, const int32_t *x, int count) {
  long sum = e->version > 1 ? count / 2 : 0;
  for (int i = 0; i < count; i++)
    sum += x[i];
  if (!e->means)
    return;
  memmove(e->mean, e->mean + 1, (size_t)(e->means - 1) * sizeof *e->mean);
  e->mean[e->means - 1] = sum / count;
}

/* The residuals of polynomial prediction of x (count), with HISTORY samples before it; returns the sum of their
 * magnitudes. */
static double predict(const struct encoder *e, const int32_t *x, int count, int order, long *residual) {
  double sum = 0;
  for (int t = 0; t < count; t++) {
    const int32_t *p = x + t;
    residual[t] = order == 0   ? p[0] - mean_of_means(e)
                  : order == 1 ? p[0] - p[-1]
                  : order == 2 ? p[0] - 2L * p[-1] + p[-2]
                               : p[0] - 3L * p[-1] + 3L * p[-2] - p[-3];
    sum += labs(residual[t]);
  }
  return sum;
}

static void put_block(struct encoder *e, const int32_t *x, int count) {
  long residual[BLOCK];
  int best = 0, zero = 1;
  for (int i = 0; i < count; i++)
    zero = zero && x[i] == 0;
  if (zero) {
    put_uvar(e, ZERO, 2);
    keep_mean(e, x, count);
    return;
  }
  double smallest = predict(e, x, count, 0, residual);
  for (int order = 1; order <= 3; order++) {
    double sum = predict(e, x, count, order, residual);
    best = sum < smallest ? order : best;
    smallest = sum < smallest ? sum : smallest;
  }
  predict(e, x, count, best, residual);
  int energy = (int)ceil(log2(1 + smallest / count)) - 1;
  energy = energy > 0 ? energy : 0;
  put_uvar(e, (unsigned long)(DIFF0 + best), 2);
  put_uvar(e, (unsigned long)energy, 3);
  for (int t = 0; t < count; t++)
    put_var(e, residual[t], energy);
  keep_mean(e, x, count);
}

/* x has HISTORY zeros before its first sample. */
static void put_shorten(const int32_t *x, size_t count, int version, int big) {
  struct encoder e = {.version = version, .means = version > 1 ? MEANS : 0};
  const unsigned long head[] = {big ? S16HL : S16LH, 1, BLOCK, 0, (unsigned long)e.means, 0};
  fwrite("ajkg", 1, 4, stdout);
  putchar(version);
  e.bytes = 5;
  for (size_t i = 0; i < sizeof head / sizeof *head; i++)
    put_ulong(&e, head[i]);
  for (size_t done = 0; done < count; done += BLOCK) {
    int size = count - done < BLOCK ? (int)(count - done) : BLOCK;
    if (size < BLOCK) {
      put_uvar(&e, BLOCKSIZE, 2);
      put_ulong(&e, (unsigned long)size);
    }
    put_block(&e, x + done, size);
  }
  put_uvar(&e, QUIT, 2);
  while (e.bits != 0 || (e.bytes - 5) % 4 != 0)
    put_bit(&e, 0);
}

/* As the header has it: the sum of the samples as unsigned numbers of 16 bits. */
static unsigned checksum(const int32_t *x, size_t count) {
  unsigned sum = 0;
  for (size_t i = 0; i < count; i++)
    sum = (sum + (uint16_t)x[i]) & 65535;
  return sum;
}

static void put_header(const int32_t *x, size_t count, int version, int big) {
  char text[1024], coding[48] = "pcm";
  if (version > 0)
    snprintf(coding, sizeof coding, "pcm,embedded-shorten-v%d.00", version);
  memset(text, ' ', sizeof text);
  int length = snprintf(
      text, sizeof text,
      "NIST_1A\n   1024\nchannel_count -i 1\nsample_count -i %zu\nsample_checksum -i %u\nsample_rate -i 16000\n"
      "sample_n_bytes -i 2\nsample_byte_format -s2 %s\nsample_sig_bits -i 16\nsample_coding -s%zu %s\n"
      "end_head\n",
      count, checksum(x, count), big ? "10" : "01", strlen(coding), coding);
  text[length] = '\n';
  fwrite(text, 1, sizeof text, stdout);
}

static void put_pcm(const int32_t *x, size_t count, int big) {
  for (size_t i = 0; i < count; i++) {
    putchar((big ? x[i] >> 8 : x[i]) & 255);
    putchar((big ? x[i] : x[i] >> 8) & 255);
  }
}

int main(int argc, char **argv) {
  int version = argc > 1 ? atoi(argv[1]) : 2, big = argc > 2 && strcmp(argv[2], "10") == 0; /* "pcm" is 0 */
  size_t count = 0, capacity = 1 << 16;
  int32_t *x = calloc(capacity, sizeof *x);
  unsigned char pair[2];
  while (x && fread(pair, 1, 2, stdin) == 2) {
    if (HISTORY + count == capacity)
      x = realloc(x, (capacity *= 2) * sizeof *x);
    if (x)
      x[HISTORY + count++] = (int16_t)(pair[0] | pair[1] << 8);
  }
  if (!x)
    return 1;
  put_header(x + HISTORY, count, version, big);
  if (version > 0)
    put_shorten(x + HISTORY, count, version, big);
  else
    put_pcm(x + HISTORY, count, big);
  free(x);
  return fflush(stdout) == 0 ? 0 : 1;
}
