/* Decoding: bytes to interleaved float samples on the int16 scale, by libsndfile, from Shorten in SPHERE, or from raw
 * PCM. */
#ifndef LINNET_AUDIO_DECODER_H
#define LINNET_AUDIO_DECODER_H

#include <stdint.h>

#include <linnet/audio.h>

#include "frontend/audio/audio_bytes.h"

/* --- SPHERE headers (sphere.c) ------------------------------------------------------------------------------------ */

/* The header of NIST SPHERE files: "NIST_1A", its own size, lines "name -i 16000" or "name -s4 text", "end_head". */

struct linnet_sphere {
  size_t header_bytes; /* the samples begin here */
  int64_t frames;      /* sample_count; -1: missing */
  double rate;
  int channels;
  bool shortened; /* the samples are an embedded Shorten stream */
  bool coded;     /* the samples are coded, by Shorten or otherwise */
  int bytes;      /* sample_n_bytes of a sample that is not coded; 0: missing */
  int checksum;   /* sample_checksum: the sum of all samples of 16 bits, without their carry; -1: missing */
};

/* Whether the bytes begin like a SPHERE file. */
bool linnet_sphere_found(struct linnet_bytes *bytes);

/* Reads the header; `bytes` is seekable and its position changes. */
enum linnet_status linnet_sphere_read(struct linnet_bytes *bytes, struct linnet_sphere *sphere);

/* --- mu-law of G.711 ---------------------------------------------------------------------------------------------- */

/* ITU-T G.711, mu-law: sign, three bits of exponent, four of mantissa, all inverted; the int16 scale. */

static inline int linnet_ulaw_decode(unsigned char byte) {
  int code = ~byte & 0xff, magnitude = ((((code & 15) << 3) + 132) << (code >> 4 & 7)) - 132;
  return code & 0x80 ? -magnitude : magnitude;
}

/* |x| < 2^15 - 132 or the largest magnitude there is. */
static inline unsigned char linnet_ulaw_encode(int x) {
  int magnitude = (x < 0 ? -x : x) + 132, exponent = 7;
  if (magnitude > 0x7fff)
    magnitude = 0x7fff;
  while (exponent > 0 && magnitude < 128 << exponent)
    exponent--;
  return (unsigned char)~((x < 0 ? 0x80 : 0) | exponent << 4 | (magnitude >> (exponent + 3) & 15));
}

/* --- mu-law of Shorten -------------------------------------------------------------------------------------------- */

/* Shorten's lossless mu-law: its samples number the G.711 codes, in an order that depends on the shift. */

enum { LINNET_SHORTEN_ULAW_SHIFTS = 13 };

/* values[128 + x], on the int16 scale, for samples x from -128 to 127 at a shift below LINNET_SHORTEN_ULAW_SHIFTS. */
void linnet_shorten_ulaw(unsigned shift, float values[256]);

/* --- lengths (audio_length.c) ------------------------------------------------------------------------------------- */

/* The last page of an Ogg file: of the end of the stream; cut; not marked as the end; of a stream other than the first,
 * which is the one that is decoded. */
enum linnet_ogg_end { LINNET_OGG_COMPLETE, LINNET_OGG_CUT, LINNET_OGG_OPEN, LINNET_OGG_MORE_STREAMS };

/* `bytes` is seekable here and below; its position stays. */
enum linnet_status linnet_ogg_find_end(struct linnet_bytes *bytes, enum linnet_ogg_end *end);

/* Whether the first frame announces the number of frames. Without it, decoders estimate the length. */
bool linnet_mp3_has_length(struct linnet_bytes *bytes);

/* Whether the frames up to the end all have one bit rate, so that the estimate is good. */
bool linnet_mp3_is_constant(struct linnet_bytes *bytes);

/* Where the audio of an MP3 ends: before tags of ID3v1 and APEv2. */
int64_t linnet_mp3_audio_end(struct linnet_bytes *bytes);

/* The bytes of the file by the header of an AIFF, AU or W64, and by the blocks of a VOC; -1: they do not tell; 0:
 * another format. */
int64_t linnet_announced_bytes(struct linnet_bytes *bytes);

/* --- lengths of WAV, RIFX and RF64 (audio_wav.c) ------------------------------------------------------------------ */

/* A length is -1 if the header does not tell it. A length of 0 may also mean this. */
struct linnet_wav {
  int64_t data;        /* where the samples begin */
  int64_t length;      /* bytes of the samples */
  int64_t riff;        /* bytes of the file after the first 8 */
  int64_t length_at;   /* where the header has the length of the samples */
  size_t length_bytes; /* 4 or 8 */
  bool big_endian;
};

/* False if the bytes are no such file, or have no samples. */
bool linnet_wav_read(struct linnet_bytes *bytes, struct linnet_wav *wav);

/* The bytes of the file by its header; -1: the header does not tell. */
int64_t linnet_wav_end(const struct linnet_wav *wav);

/* Whether only named chunks follow where the samples should begin: then a length of 0 is true. */
bool linnet_wav_is_empty(struct linnet_bytes *bytes, const struct linnet_wav *wav);

/* --- decoders ----------------------------------------------------------------------------------------------------- */

/* Decoding: bytes to interleaved float samples on the int16 scale, by libsndfile, from Shorten in SPHERE, or from raw
 * PCM. */

struct linnet_decoder; /* the state of one kind of decoder */

struct linnet_decoder_kind {
  /* Reads up to `frames` frames of all channels; *got is 0 only at the end. */
  enum linnet_status (*read)(struct linnet_decoder *decoder, float *interleaved, size_t frames, size_t *got);
  /* Makes `frame` the next one to be read; false if the decoder cannot seek. */
  bool (*seek)(struct linnet_decoder *decoder, int64_t frame);
  /* linnet_audio_check_end; NULL: nothing tells where the audio should end. */
  enum linnet_status (*check_end)(struct linnet_decoder *decoder);
  void (*destroy)(struct linnet_decoder *decoder);
};

/* A decoder: its functions, and the properties of its input. */
struct linnet_decoder_info {
  const struct linnet_decoder_kind *kind;
  struct linnet_decoder *decoder;
  double rate;    /* Hz */
  int channels;   /* at least 1 */
  int64_t frames; /* -1: not known */
};

/* `bytes` must outlive the decoder and be seekable for libsndfile. On failure nothing needs destroying; a build without
 * libsndfile always fails here (audio_none.c). */
enum linnet_status linnet_decoder_open_sndfile(struct linnet_bytes *bytes, struct linnet_decoder_info *info);

/* Whether the bytes begin like a format of libsndfile. Some formats have no fixed beginning. */
bool linnet_sndfile_found(struct linnet_bytes *bytes);
/* `sphere` is the header of the input, which says that it holds Shorten. */
enum linnet_status linnet_decoder_open_shorten(struct linnet_bytes *bytes, const struct linnet_sphere *sphere,
                                               struct linnet_decoder_info *info);
enum linnet_status linnet_decoder_open_raw(struct linnet_bytes *bytes, const struct linnet_audio_settings *settings,
                                           struct linnet_decoder_info *info);

#endif
