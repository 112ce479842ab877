/* The impulse response from a source to a microphone in a room, by the image method (Allen and Berkley 1979): a wall
 * reflects as a mirror, so a response is the sum of the direct sounds of all mirror images of the source. */
#ifndef LINNET_ROOM_H
#define LINNET_ROOM_H

#include <linnet/context.h>

#define LINNET_SPEED_OF_SOUND 343.0 /* m/s */

/* A room with one corner at the origin. Lengths are in metres. */
struct linnet_room {
  double size[3], source[3], microphone[3];
  double reflection; /* a wall multiplies the pressure by this; 0 to below 1 */
};

/* The reflection with which sound decays by 60 dB in `seconds` (Eyring's formula). */
double linnet_room_reflection(const double size[3], double seconds);

/* Metres from the source to the microphone. */
double linnet_room_distance(const struct linnet_room *room);

/* Writes `count` samples from the moment of emission on. The image at distance d adds reflection^walls / (4 pi d) at
 * d / LINNET_SPEED_OF_SOUND, as a sinc with a Hann window of 81 samples (Peterson 1986). */
enum linnet_status linnet_room_response(struct linnet_context *context, const struct linnet_room *room,
                                        double sample_rate, float *response, size_t count);

#endif
