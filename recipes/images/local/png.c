/* A PNG of stored blocks, one for each row of pixels: no library is needed. */
#include "png.h"

#include <string.h>

#include "base/file.h"
#include "common/experiment.h"

struct png {
  FILE *file;
  struct linnet_crc32 crc; /* of the chunk */
  uint32_t a, b;           /* Adler-32 of the data */
};

static void put(struct png *png, const void *data, size_t bytes) {
  fwrite(data, 1, bytes, png->file);
  linnet_crc32_add(&png->crc, data, bytes);
}

static void put_u32(struct png *png, uint32_t value) {
  const unsigned char bytes[4] = {(unsigned char)(value >> 24), (unsigned char)(value >> 16),
                                  (unsigned char)(value >> 8), (unsigned char)value};
  put(png, bytes, sizeof bytes);
}

static void begin_chunk(struct png *png, const char *name, size_t bytes) {
  put_u32(png, (uint32_t)bytes);
  linnet_crc32_start(&png->crc);
  put(png, name, 4);
}

static void end_chunk(struct png *png) {
  put_u32(png, png->crc.value);
}

static void put_data(struct png *png, const unsigned char *data, size_t bytes) {
  put(png, data, bytes);
  for (size_t i = 0; i < bytes; i++) {
    png->a = (png->a + data[i]) % 65521;
    png->b = (png->b + png->a) % 65521;
  }
}

/* A stored block: its size, and the complement of the size; then the filter "none", and the pixels. */
static void put_row(struct png *png, const unsigned char *pixels, size_t bytes, bool last) {
  const size_t size = bytes + 1, other = ~size;
  const unsigned char head[5] = {last, (unsigned char)size, (unsigned char)(size >> 8), (unsigned char)other,
                                 (unsigned char)(other >> 8)};
  put(png, head, sizeof head);
  put_data(png, (const unsigned char *)"", 1);
  put_data(png, pixels, bytes);
}

void png_write(const char *path, const unsigned char *pixels, size_t height, size_t width, size_t channels) {
  struct png png = {.file = experiment_create(path), .a = 1};
  const size_t row = width * channels;
  const unsigned char kind[5] = {8, channels == 1 ? 0 : 2, 0, 0, 0};
  fwrite("\x89PNG\r\n\x1A\n", 1, 8, png.file);
  begin_chunk(&png, "IHDR", 13);
  put_u32(&png, (uint32_t)width);
  put_u32(&png, (uint32_t)height);
  put(&png, kind, sizeof kind);
  end_chunk(&png);
  begin_chunk(&png, "IDAT", 2 + height * (row + 6) + 4);
  put(&png, "\x78\x01", 2);
  for (size_t y = 0; y < height; y++)
    put_row(&png, pixels + y * row, row, y + 1 == height);
  put_u32(&png, png.b << 16 | png.a);
  end_chunk(&png);
  begin_chunk(&png, "IEND", 0);
  end_chunk(&png);
  experiment_finish(png.file, path);
}
