/* Segments, which every decoder of CTC log-posteriors returns: symbols with their frames.
 *
 * Stability: stable (linnet.h). */
#ifndef LINNET_SEGMENT_H
#define LINNET_SEGMENT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One decoded symbol with its frames. */
struct linnet_segment {
  int symbol;
  size_t start, end; /* frames, [start, end): from its first to after its last non-blank frame */
  float confidence;  /* mean posterior of the symbol over these frames, 0 to 1; calibrated if the decoder has
                        calibrations */
};

#ifdef __cplusplus
}
#endif
#endif
