/* What every decoder of CTC log-posteriors gives: symbols with the frames that they span.
 *
 * Stability: stable (linnet.h). */
#ifndef LINNET_SEGMENT_H
#define LINNET_SEGMENT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One decoded symbol with the frames it spans. */
struct linnet_segment {
  int symbol;
  size_t start, end; /* frames, [start, end): from its first to after its last non-blank frame */
  float confidence;  /* mean posterior of the symbol over these frames, 0 to 1; calibrated where that was asked for */
};

#ifdef __cplusplus
}
#endif
#endif
