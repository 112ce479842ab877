/* Packed arrays of all widths: elements keep their values and do not touch their neighbours. */
#include "decoder/ngram/packed.h"
#include "test.h"

enum { ELEMENTS = 100 };

static void test_width(unsigned width) {
  size_t bytes = linnet_packed_bytes(ELEMENTS, width);
  unsigned char *data = calloc(bytes, 1); /* no more, so that a sanitizer sees what is read beyond the end */
  uint32_t values[ELEMENTS];
  REQUIRE(data, "no memory");
  struct packed array = {data, width};
  struct test_random random = {width};
  for (size_t i = 0; i < ELEMENTS; i++) {
    values[i] = (uint32_t)(i % 3 == 0 ? (UINT64_C(1) << width) - 1 : test_below(&random, (size_t)1 << width));
    linnet_packed_set(data, width, i, values[i]);
  }
  for (size_t i = 0; i < ELEMENTS; i++)
    CHECK(linnet_packed_get(&array, i) == values[i], "width %u, element %zu: %u instead of %u", width, i,
          linnet_packed_get(&array, i), values[i]);
  free(data);
}

int main(void) {
  for (unsigned width = 1; width <= 32; width++)
    test_width(width);
  static const struct {
    uint64_t largest;
    unsigned width;
  } widths[] = {{0, 1}, {1, 1}, {2, 2}, {3, 2}, {4, 3}, {0xFFFFFFFF, 32}};
  for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
    CHECK(linnet_packed_width(widths[i].largest) == widths[i].width, "%u bits for %llu",
          linnet_packed_width(widths[i].largest), (unsigned long long)widths[i].largest);
  return test_result();
}
