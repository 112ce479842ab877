/* Impulse responses of rooms: lists of mirror images along each axis, and their sum (room.h). */
#include "frontend/augment/room.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

/* A delay is rounded to 1/FRACTIONS of a sample. */
enum { HALF = 40, TAPS = 2 * HALF + 1, FRACTIONS = 256 };

static const double pi = 3.14159265358979323846;

/* Row f: the sinc f / FRACTIONS samples later. */
struct delays {
  float taps[FRACTIONS][TAPS];
};

/* The mirror images along one axis, by their distance from the microphone on this axis. */
struct images {
  size_t count;
  struct image {
    double square, gain; /* of the distance; of the reflections */
  } * list;
};

double linnet_room_reflection(const double size[3], double seconds) {
  const double volume = size[0] * size[1] * size[2];
  const double surface = 2 * (size[0] * size[1] + size[1] * size[2] + size[2] * size[0]);
  return exp(-12 * log(10) * volume / (LINNET_SPEED_OF_SOUND * surface * seconds));
}

double linnet_room_distance(const struct linnet_room *room) {
  double square = 0;
  for (size_t axis = 0; axis < 3; axis++)
    square += pow(room->source[axis] - room->microphone[axis], 2);
  return sqrt(square);
}

static void make_delays(struct delays *delays) {
  for (int f = 0; f < FRACTIONS; f++)
    for (int i = -HALF; i <= HALF; i++) {
      double t = i - (double)f / FRACTIONS, window = 0.5 + 0.5 * cos(2 * pi * t / TAPS);
      delays->taps[f][i + HALF] = (float)(window * (fabs(t) < 1e-9 ? 1 : sin(pi * t) / (pi * t)));
    }
}

/* The images at 2 n size + source (2 |n| reflections) and 2 n size - source (|n| + |n - 1|), up to `radius` away. */
static enum linnet_status make_images(struct linnet_context *context, const struct linnet_room *room, size_t axis,
                                      double radius, struct images *images) {
  const double size = room->size[axis];
  const int last = (int)(radius / (2 * size)) + 2;
  images->count = 0;
  images->list = linnet_alloc(context, 2 * (2 * (size_t)last + 1), sizeof *images->list);
  if (!images->list)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for the images of a room");
  for (int n = -last; n <= last; n++)
    for (int mirrored = 0; mirrored < 2; mirrored++) {
      double position = 2 * n * size + (mirrored ? -room->source[axis] : room->source[axis]);
      double distance = position - room->microphone[axis];
      if (fabs(distance) <= radius)
        images->list[images->count++] =
            (struct image){distance * distance, pow(room->reflection, abs(n) + abs(n - mirrored))};
    }
  return LINNET_OK;
}

/* Adds an image at the distance sqrt(square), whose sinc may reach over both ends of the response. */
static void add_image(const struct delays *delays, double square, double gain, double samples_per_metre,
                      float *response, size_t count) {
  const double distance = fmax(sqrt(square), 1e-3), delay = distance * samples_per_metre;
  const size_t steps = (size_t)(delay * FRACTIONS + 0.5), centre = steps / FRACTIONS;
  const float *taps = delays->taps[steps % FRACTIONS], scale = (float)(gain / (4 * pi * distance));
  const size_t first = centre < HALF ? HALF - centre : 0;
  for (size_t i = first; i < TAPS && centre + i - HALF < count; i++)
    response[centre + i - HALF] += scale * taps[i];
}

static void add_images(const struct images axes[3], const struct delays *delays, double radius,
                       double samples_per_metre, float *response, size_t count) {
  const double limit = radius * radius;
  for (size_t x = 0; x < axes[0].count; x++)
    for (size_t y = 0; y < axes[1].count; y++) {
      const struct image *a = &axes[0].list[x], *b = &axes[1].list[y];
      for (size_t z = 0; a->square + b->square <= limit && z < axes[2].count; z++) {
        const struct image *c = &axes[2].list[z];
        const double square = a->square + b->square + c->square;
        if (square <= limit)
          add_image(delays, square, a->gain * b->gain * c->gain, samples_per_metre, response, count);
      }
    }
}

enum linnet_status linnet_room_response(struct linnet_context *context, const struct linnet_room *room,
                                        double sample_rate, float *response, size_t count) {
  const double samples_per_metre = sample_rate / LINNET_SPEED_OF_SOUND;
  const double radius = (double)(count + HALF) / samples_per_metre;
  struct images axes[3] = {{0}};
  struct delays *delays = linnet_alloc(context, 1, sizeof *delays);
  enum linnet_status status =
      delays ? LINNET_OK : linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for the delays of a room");
  for (size_t axis = 0; axis < 3 && status == LINNET_OK; axis++)
    status = make_images(context, room, axis, radius, &axes[axis]);
  if (status == LINNET_OK) {
    make_delays(delays);
    memset(response, 0, count * sizeof *response);
    add_images(axes, delays, radius, samples_per_metre, response, count);
  }
  for (size_t axis = 0; axis < 3; axis++)
    linnet_free(context, axes[axis].list);
  linnet_free(context, delays);
  return status;
}
