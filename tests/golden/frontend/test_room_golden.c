/* Impulse responses of rooms against pyroomacoustics. */
#include "frontend/augment/room.h"
#include "golden/golden.h"

static void read_three(const struct golden *g, const char *prefix, const char *name, double three[3]) {
  float *values = golden_floats(g, prefix, name, NULL);
  for (size_t i = 0; i < 3; i++)
    three[i] = values[i];
  free(values);
}

/* Both round delays: pyroomacoustics interpolates between sincs 1/20 of a sample apart. */
static void check(const struct golden *g, size_t index) {
  char prefix[32];
  size_t count;
  struct linnet_room room;
  snprintf(prefix, sizeof prefix, "%zu.", index);
  read_three(g, prefix, "size", room.size);
  read_three(g, prefix, "source", room.source);
  read_three(g, prefix, "microphone", room.microphone);
  float *reflection = golden_floats(g, prefix, "reflection", NULL);
  float *expected = golden_floats(g, prefix, "response", &count), *response = test_alloc(count, sizeof *response);
  room.reflection = reflection[0];
  REQUIRE(linnet_room_response(g->context, &room, 16000, response, count) == LINNET_OK, "%s",
          linnet_context_error(g->context));
  double energy = 0, error = 0;
  for (size_t i = 0; i < count; i++) {
    energy += (double)expected[i] * expected[i];
    error += ((double)response[i] - expected[i]) * ((double)response[i] - expected[i]);
  }
  CHECK(energy > 0 && sqrt(error / energy) < 5e-3, "room %zu: a relative error of %g", index, sqrt(error / energy));
  free(reflection);
  free(expected);
  free(response);
}

int main(void) {
  return golden_each_case("room.safetensors", check);
}
