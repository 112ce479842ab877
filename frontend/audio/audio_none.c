/* Replaces audio_sndfile.c in a build without libsndfile. */
#include "frontend/audio/audio_decoder.h"

bool linnet_sndfile_found(struct linnet_bytes *bytes) {
  (void)bytes;
  return false;
}

enum linnet_status linnet_decoder_open_sndfile(struct linnet_bytes *bytes, struct linnet_decoder_info *info) {
  (void)info;
  return linnet_fail(
      bytes->context, LINNET_ERROR_UNSUPPORTED,
      "%s: this build has no libsndfile and cannot read audio files: install FFTW, libsndfile and soxr (Debian: "
      "libfftw3-dev, libsndfile1-dev, libsoxr-dev) and build with -DLINNET_AUDIO=ON",
      bytes->name);
}
