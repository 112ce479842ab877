/* Reverberation: an utterance as a microphone elsewhere in a room records it. */
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "base/numbers.h"
#include "base/settings.h"
#include "frontend/augment/augment_draw.h"
#include "frontend/augment/room.h"
#include "frontend/features/fbank_kernel.h"

void(linnet_room_settings_default)(struct linnet_room_settings *settings, size_t size) {
  const struct linnet_room_settings defaults = {
      .size = sizeof(struct linnet_room_settings), .probability = 0.5, .time_low = 0.1, .time_high = 0.5};
  linnet_settings_fill(settings, size, &defaults, sizeof defaults);
}

/* The settings in full; false if they are NULL or out of range. */
static bool read_settings(const struct linnet_room_settings *given, struct linnet_room_settings *s) {
  return given && LINNET_READ_SETTINGS(NULL, room, given, s) == LINNET_OK && linnet_inside(s->probability, 0, 1) &&
         linnet_inside(s->time_low, 0.05, 2) && linnet_inside(s->time_high, s->time_low, 2);
}

enum linnet_status linnet_room_check(const struct linnet_room_settings *settings) {
  struct linnet_room_settings own;
  return read_settings(settings, &own) ? LINNET_OK : LINNET_ERROR_ARGUMENT;
}

/* A room of 3 to 8 by 3 to 8 by 2.4 to 3.5 m, source and microphone at least 0.3 m from its walls. */
static struct linnet_room draw_room(const struct linnet_room_settings *s, struct linnet_augment_key key,
                                    double *seconds) {
  static const double low[3] = {3, 3, 2.4}, high[3] = {8, 8, 3.5}, margin = 0.3;
  const struct linnet_philox random = linnet_draw(key, LINNET_DRAW_ROOM + 1),
                             positions[2] = {linnet_draw(key, LINNET_DRAW_ROOM + 2),
                                             linnet_draw(key, LINNET_DRAW_ROOM + 3)};
  struct linnet_room room;
  for (size_t axis = 0; axis < 3; axis++) {
    room.size[axis] = linnet_draw_between(random.word[axis], low[axis], high[axis]);
    room.source[axis] = linnet_draw_between(positions[0].word[axis], margin, room.size[axis] - margin);
    room.microphone[axis] = linnet_draw_between(positions[1].word[axis], margin, room.size[axis] - margin);
  }
  *seconds = linnet_draw_between(random.word[3], s->time_low, s->time_high);
  room.reflection = linnet_room_reflection(room.size, *seconds);
  return room;
}

/* Scales a response so that white noise keeps its power. */
static void normalise(float *response, size_t count) {
  double energy = 0;
  for (size_t i = 0; i < count; i++)
    energy += (double)response[i] * response[i];
  const float scale = energy > 0 ? (float)(1 / sqrt(energy)) : 0;
  for (size_t i = 0; i < count; i++)
    response[i] *= scale;
}

/* --- convolution (overlap-add) ------------------------------------------------------------------------------------ */

/* Transforms of `size` complex numbers from `in` to `out`, interleaved. Two real blocks are one complex block: the
 * response is real, so real and imaginary part do not mix. */
struct convolution {
  size_t size, block; /* block: samples of each of the two blocks */
  float *in, *out, *response;
  struct linnet_fft *fft;
};

static void convolution_release(struct linnet_context *context, struct convolution *c) {
  linnet_fft_destroy(c->fft);
  linnet_free(context, c->in);
}

/* One allocation holds in, out and the transform of the response. */
static enum linnet_status convolution_create(struct linnet_context *context, const float *response, size_t count,
                                             struct convolution *c) {
  const size_t size = linnet_power_of_two(linnet_max_size(4 * count, 1024));
  *c = (struct convolution){.size = size, .block = size - count + 1};
  c->in = linnet_calloc(context, 6 * size, sizeof *c->in);
  if (!c->in)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a room's response");
  c->out = c->in + 2 * size;
  c->response = c->in + 4 * size;
  LINNET_TRY(linnet_fft_create(context, size, c->in, c->out, &c->fft));
  for (size_t i = 0; i < count; i++)
    c->in[2 * i] = response[i];
  LINNET_TRY(linnet_fft_run(c->fft));
  memcpy(c->response, c->out, 2 * size * sizeof *c->out);
  return LINNET_OK;
}

/* in = conj(out * response): the transform of this is the conjugate of the inverse transform, times `size`. */
static void multiply(struct convolution *c) {
  for (size_t i = 0; i < 2 * c->size; i += 2) {
    const float re = c->out[i], im = c->out[i + 1], hr = c->response[i], hi = c->response[i + 1];
    c->in[i] = re * hr - im * hi;
    c->in[i + 1] = -(re * hi + im * hr);
  }
}

static void load_block(struct convolution *c, size_t part, const float *samples, size_t start, size_t count) {
  for (size_t i = 0; i < c->size; i++)
    c->in[2 * i + part] = i < c->block && start + i < count ? samples[start + i] : 0;
}

static void add_block(const struct convolution *c, size_t part, size_t start, float *out, size_t count) {
  const float scale = (part == 0 ? 1.0F : -1.0F) / (float)c->size;
  for (size_t i = 0; i < c->size && start + i < count; i++)
    out[start + i] += scale * c->out[2 * i + part];
}

/* out (num_out) = samples (count) * response, where out is zero at first. */
static enum linnet_status convolve(struct convolution *c, const float *samples, size_t count, float *out,
                                   size_t num_out) {
  for (size_t start = 0; start < count; start += 2 * c->block) {
    for (size_t part = 0; part < 2; part++)
      load_block(c, part, samples, start + part * c->block, count);
    LINNET_TRY(linnet_fft_run(c->fft));
    multiply(c);
    LINNET_TRY(linnet_fft_run(c->fft));
    for (size_t part = 0; part < 2; part++)
      add_block(c, part, start + part * c->block, out, num_out);
  }
  return LINNET_OK;
}

/* Replaces the samples by their convolution with the response, `delay` samples later. */
static enum linnet_status reverberate(struct linnet_context *context, const float *response, size_t length,
                                      size_t delay, float *samples, size_t count) {
  struct convolution convolution = {0};
  float *out = linnet_calloc(context, count + delay, sizeof *out);
  enum linnet_status status = out ? convolution_create(context, response, length, &convolution)
                                  : linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for reverberation");
  if (status == LINNET_OK)
    status = convolve(&convolution, samples, count, out, count + delay);
  if (status == LINNET_OK)
    memcpy(samples, out + delay, count * sizeof *samples);
  convolution_release(context, &convolution);
  linnet_free(context, out);
  return status;
}

enum linnet_status linnet_augment_room(struct linnet_context *context, const struct linnet_room_settings *settings,
                                       struct linnet_augment_key key, double sample_rate, float *samples,
                                       size_t count) {
  struct linnet_room_settings s;
  if (!context || !read_settings(settings, &s) || (count > 0 && !samples) || !linnet_inside(sample_rate, 1000, 192000))
    return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                       "linnet_augment_room: an argument is NULL, a setting is out of range, or the sample rate is not "
                       "1000 to 192000 Hz");
  if (count == 0 || linnet_philox_uniform(linnet_draw(key, LINNET_DRAW_ROOM).word[0]) >= s.probability)
    return LINNET_OK;
  double seconds;
  const struct linnet_room room = draw_room(&s, key, &seconds);
  const size_t delay = (size_t)(linnet_room_distance(&room) / LINNET_SPEED_OF_SOUND * sample_rate);
  const size_t length = delay + (size_t)(seconds * sample_rate);
  float *response = linnet_alloc(context, length, sizeof *response);
  if (!response)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a room's response");
  enum linnet_status status = linnet_room_response(context, &room, sample_rate, response, length);
  if (status == LINNET_OK) {
    normalise(response, length);
    status = reverberate(context, response, length, delay, samples, count);
  }
  linnet_free(context, response);
  return status;
}
