/* tones FOLDER COUNT [SILENCE]: writes a small corpus that is easy to learn. FOLDER/0.wav ... hold one to five tones of
 * a fifth of a second with pauses between them, 16 kHz and 16 bits; FOLDER/list has a line "AUDIO PHONE PHONE ..." for
 * each, where A to D stand for 300, 700, 1500 and 3100 Hz. The first holds A B C D. Each recording ends with SILENCE
 * tenths of a second of silence, and all but the first begin with up to twice as much. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RATE = 16000, TONE = 3200, PAUSE = 1600, MAX_TONES = 5 };

static uint32_t next(uint32_t *state) {
  return (*state = *state * 1664525u + 1013904223u) >> 16;
}

static void put(FILE *file, uint32_t value, int bytes) {
  for (int i = 0; i < bytes; i++)
    fputc((int)(value >> 8 * i & 255), file);
}

static void write_header(FILE *file, uint32_t samples) {
  fputs("RIFF", file), put(file, 36 + 2 * samples, 4), fputs("WAVEfmt ", file);
  put(file, 16, 4), put(file, 1, 2), put(file, 1, 2), put(file, RATE, 4), put(file, 2 * RATE, 4), put(file, 2, 2);
  put(file, 16, 2), fputs("data", file), put(file, 2 * samples, 4);
}

static void write_samples(FILE *file, const int *tones, int count, int before, int after, uint32_t *noise) {
  static const double heights[] = {300, 700, 1500, 3100};
  for (int i = -before; i < count * (TONE + PAUSE) + after; i++) {
    const int tone = i / (TONE + PAUSE), inside = i % (TONE + PAUSE) - PAUSE;
    double sample = (double)(next(noise) % 41) - 20;
    if (tone < count && inside >= 0)
      sample += 8000 * sin(6.283185307 * heights[tones[tone]] * inside / RATE);
    put(file, (uint32_t)(int)sample & 65535, 2);
  }
}

int main(int argc, char **argv) {
  char path[4096];
  uint32_t random = 1, noise = 2;
  if (argc < 3)
    return 2;
  const int silence = argc > 3 ? atoi(argv[3]) * (RATE / 10) : PAUSE;
  snprintf(path, sizeof path, "%s/list", argv[1]);
  FILE *list = fopen(path, "w");
  for (int u = 0; list && u < atoi(argv[2]); u++) {
    int tones[MAX_TONES] = {0, 1, 2, 3}, count = u == 0 ? 4 : 1 + (int)(next(&random) % MAX_TONES);
    snprintf(path, sizeof path, "%s/%d.wav", argv[1], u);
    FILE *file = fopen(path, "wb");
    if (!file)
      return 1;
    fputs(path, list);
    for (int i = 0; i < count; i++) {
      tones[i] = u == 0 ? i : (int)(next(&random) % 4);
      fprintf(list, " %c", 'A' + tones[i]);
    }
    fputc('\n', list);
    const int before = argc > 3 && u > 0 ? (int)(next(&random) % (2 * (uint32_t)silence)) : 0;
    write_header(file, (uint32_t)(before + count * (TONE + PAUSE) + silence));
    write_samples(file, tones, count, before, silence, &noise);
    if (fclose(file) != 0)
      return 1;
  }
  return !list || fclose(list) != 0;
}
