/* Files with a header, through libsndfile's virtual input. */
#include "frontend/audio/audio_decoder.h"

#include <pthread.h>
#include <sndfile.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/reader.h"

enum { MAX_CHANNELS = 1024 }; /* libsndfile's own limit */

/* libsndfile and its codecs crash, or report a damaged file, when an allocation fails. They need less than 2 MB; the
 * rest is a margin for other threads. */
enum { NEEDED_MEMORY = 16 << 20 };

static enum linnet_status check_memory(const struct linnet_bytes *bytes) {
  return linnet_memory_available(NEEDED_MEMORY)
             ? LINNET_OK
             : linnet_fail(bytes->context, LINNET_ERROR_MEMORY, "%s: out of memory for decoding", bytes->name);
}

/* Programs that write WAV to a pipe cannot go back to fill in the length. libsndfile accepts a length that is too
 * large, but trusts a length of 0. So the bytes at `offset` are replaced before libsndfile sees them. */
struct correction {
  int64_t offset;
  unsigned char length[8];
  size_t count; /* 4 or 8; 0: none */
};

struct linnet_decoder {
  struct linnet_bytes *bytes;
  struct correction correction;
  SNDFILE *file;
  SF_INFO info;
  int64_t present;  /* bytes of samples in a file whose header announces more */
  int64_t missing;  /* bytes that the header announces and the file lacks */
  int64_t position; /* of the next frame */
  int64_t sought;   /* the frame that the last seek made the next one */
  int64_t damaged;  /* frames from `position` on that cannot be decoded: libsndfile continues behind them */
  int64_t resumed;  /* the frame from which libsndfile continued behind damage; 0: it has not */
  enum linnet_ogg_end ogg_end;
  bool hides_length; /* the bytes have no end for libsndfile: see open_file */
  bool runs_on;      /* nothing tells where this entry of an archive ends */
  bool warned;
};

/* --- Virtual input -------------------------------------------------------------------------------------------- */

static sf_count_t virtual_length(void *user) {
  return ((struct linnet_decoder *)user)->bytes->size;
}

static sf_count_t virtual_tell(void *user) {
  return ((struct linnet_decoder *)user)->bytes->position;
}

static sf_count_t virtual_seek(sf_count_t offset, int whence, void *user) {
  const struct linnet_decoder *decoder = user;
  struct linnet_bytes *bytes = decoder->bytes;
  int64_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? bytes->position : bytes->size, to;
  if (whence == SEEK_END && decoder->hides_length)
    return -1;
  if (__builtin_add_overflow(from, (int64_t)offset, &to) || to < 0)
    return -1;
  return bytes->position = to;
}

static sf_count_t virtual_read(void *to, sf_count_t count, void *user) {
  struct linnet_decoder *decoder = user;
  if (count <= 0)
    return 0;
  int64_t from = decoder->bytes->position;
  size_t got = linnet_bytes_fill(decoder->bytes, to, (size_t)count);
  const struct correction *c = &decoder->correction;
  for (size_t i = 0; i < c->count; i++) {
    const int64_t at = c->offset + (int64_t)i - from;
    if (at >= 0 && at < (int64_t)got)
      ((unsigned char *)to)[at] = c->length[i];
  }
  return (sf_count_t)got;
}

static sf_count_t virtual_write(const void *from, sf_count_t count, void *user) {
  (void)from, (void)count, (void)user;
  return 0;
}

/* --- What the header announces -------------------------------------------------------------------------------- */

/* Other entries of the archive follow on an entry. Reads it only as far as its header announces. */
static void cut_entry(struct linnet_decoder *decoder, int64_t announced) {
  decoder->runs_on |= announced < 0 && decoder->bytes->base > 0;
  if (announced > 0)
    linnet_bytes_cut(decoder->bytes, announced);
}

/* In AIFF, AU, W64 and VOC nearly all bytes are samples. */
static void check_announced(struct linnet_decoder *decoder) {
  const struct linnet_bytes *bytes = decoder->bytes;
  const int64_t announced = linnet_announced_bytes(decoder->bytes);
  cut_entry(decoder, announced);
  if (announced > bytes->size) {
    decoder->present = bytes->size;
    decoder->missing = announced - bytes->size;
  }
}

static void correct_length(struct linnet_decoder *decoder, const struct linnet_wav *wav, int64_t length) {
  struct correction *c = &decoder->correction;
  const int64_t longest = wav->length_bytes == 4 ? UINT32_MAX - 1 : INT64_MAX;
  const uint64_t value = (uint64_t)(length < longest ? length : longest);
  c->offset = wav->length_at;
  c->count = wav->length_bytes;
  for (size_t i = 0; i < c->count; i++)
    c->length[wav->big_endian ? c->count - 1 - i : i] = (unsigned char)(value >> 8 * i);
}

static void check_wav(struct linnet_decoder *decoder) {
  struct linnet_bytes *bytes = decoder->bytes;
  struct linnet_wav wav;
  if (!linnet_wav_read(bytes, &wav))
    return;
  cut_entry(decoder, linnet_wav_end(&wav));
  const int64_t left = bytes->size - wav.data;
  if (wav.length > left) {
    decoder->present = left;
    decoder->missing = wav.length - left;
  }
  if (wav.length == 0 && left > 0 && !linnet_wav_is_empty(bytes, &wav))
    correct_length(decoder, &wav, left);
}

/* --- What a file that cannot be opened seems to be ------------------------------------------------------------ */

static const struct {
  const char *name, *magic;
} magics[] = {{"WAV", "RIFF"},  {"WAV", "RIFX"}, {"RF64", "RF64"},    {"AIFF", "FORM"},
              {"FLAC", "fLaC"}, {"Ogg", "OggS"}, {"AU", ".snd"},      {"CAF", "caff"},
              {"W64", "riff"},  {"MP3", "ID3"},  {"MP3", "\xff\xfb"}, {"SPHERE", "NIST_1A"}};

static const char *find_magic(const char *head, size_t n) {
  for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
    if (n >= strlen(magics[i].magic) && memcmp(head, magics[i].magic, strlen(magics[i].magic)) == 0)
      return magics[i].name;
  return NULL;
}

bool linnet_sndfile_found(struct linnet_bytes *bytes) {
  char head[16];
  bytes->position = 0;
  return find_magic(head, linnet_bytes_fill(bytes, head, sizeof head)) != NULL;
}

/* Containers of compressed audio that other programs turn into WAV. */
static const struct {
  const char *name, *magic;
  size_t offset;
} foreign[] = {{"MP4 or M4A", "ftyp", 4},
               {"WebM or Matroska", "\x1A\x45\xDF\xA3", 0},
               {"WMA or ASF", "\x30\x26\xB2\x75", 0},
               {"AAC", "\xff\xf1", 0},
               {"AAC", "\xff\xf9", 0},
               {"AMR", "#!AMR", 0},
               {"AC-3", "\x0B\x77", 0},
               {"APE", "MAC ", 0},
               {"WavPack", "wvpk", 0},
               {"TTA", "TTA1", 0},
               {"DSD", "DSD ", 0},
               {"RealMedia", ".RMF", 0},
               {"FLV", "FLV\x01", 0},
               {"DTS", "\x7F\xFE\x80\x01", 0}};

static const char *find_foreign(const char *head, size_t n) {
  for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
    size_t length = strlen(foreign[i].magic), at = foreign[i].offset;
    if (n >= at + length && memcmp(head + at, foreign[i].magic, length) == 0)
      return foreign[i].name;
  }
  return n >= 12 && memcmp(head, "RIFF", 4) == 0 && memcmp(head + 8, "AVI ", 4) == 0 ? "AVI" : NULL;
}

/* Appends a file name as a word of a command, quoted where a shell needs it, as far as there is room. */
static void add_word(char *text, size_t size, const char *name) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-";
  const char *mark = name[strspn(name, plain)] ? "'" : "";
  size_t used = strlen(text);
  used += (size_t)snprintf(text + used, size - used, " %s%s", mark, name[0] == '-' ? "./" : "");
  for (size_t i = 0; name[i] && used + 8 < size; i++)
    used += (size_t)snprintf(text + used, size - used, name[i] == '\'' ? "'\\''" : "%c", name[i]);
  snprintf(text + used, size - used, "%s", mark);
}

static enum linnet_status fail_foreign(const struct linnet_bytes *bytes, const char *name) {
  const char *slash = strrchr(bytes->name, '/'), *file = slash ? slash + 1 : bytes->name, *dot = strrchr(file, '.');
  const int length = dot && dot > file ? (int)(dot - file) : (int)strlen(file);
  char command[1024] = "ffmpeg -i", target[512];
  snprintf(target, sizeof target, "%.*s%s.wav", length, file, strcmp(file + length, ".wav") == 0 ? "-converted" : "");
  if (bytes->owns_fd) {
    add_word(command, sizeof command, bytes->name);
    add_word(command, sizeof command, target);
  } else { /* no file of that name */
    snprintf(command, sizeof command, "ffmpeg -i pipe:0 -f wav pipe:1");
  }
  return linnet_fail(bytes->context, LINNET_ERROR_UNSUPPORTED,
                     "%s: is %s, which is not supported: convert it, for example: %s", bytes->name, name, command);
}

/* libsndfile stores the reason in a variable that all threads share, so the message is made from the bytes instead. */
static enum linnet_status explain(struct linnet_bytes *bytes) {
  char head[1024];
  bytes->position = 0;
  size_t n = linnet_bytes_fill(bytes, head, sizeof head);
  LINNET_TRY(linnet_bytes_check(bytes));
  if (n == 0)
    return linnet_fail(bytes->context, LINNET_ERROR_FORMAT, "%s: is empty: record or copy it again", bytes->name);
  const char *other = find_foreign(head, n);
  if (other)
    return fail_foreign(bytes, other);
  const char *name = find_magic(head, n);
  if (name)
    return linnet_fail(bytes->context, LINNET_ERROR_FORMAT,
                       "%s: looks like %s, but is damaged or has an unsupported coding: copy it again, or convert it "
                       "to WAV",
                       bytes->name, name);
  /* The command adds its options to the end of this message (tools/common/inputs.c). */
  return linnet_fail(bytes->context, LINNET_ERROR_FORMAT,
                     "%s: not a supported audio format (WAV, FLAC, Ogg Vorbis and Opus, MP3, AIFF, AU, W64, CAF, "
                     "SPHERE, ...); for raw PCM, give its sample format, rate and channels",
                     bytes->name);
}

/* --- The decoder ---------------------------------------------------------------------------------------------- */

static void sndfile_destroy(struct linnet_decoder *decoder) {
  if (decoder->file)
    sf_close(decoder->file);
  linnet_free(decoder->bytes->context, decoder);
}

/* libsndfile writes to variables that all threads share when it opens a file. */
static SNDFILE *open_locked(struct linnet_decoder *decoder, SF_INFO *found) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  SF_VIRTUAL_IO input = {virtual_length, virtual_seek, virtual_read, virtual_write, virtual_tell};
  pthread_mutex_lock(&mutex);
  SNDFILE *file = sf_open_virtual(&input, SFM_READ, found, decoder);
  pthread_mutex_unlock(&mutex);
  return file;
}

static int container(const struct linnet_decoder *decoder) {
  return decoder->info.format & SF_FORMAT_TYPEMASK;
}

/* Decoded lengths differ a little from those of headers. */
static bool ends_early(const struct linnet_decoder *decoder) {
  const SF_INFO *info = &decoder->info;
  return info->frames < SF_COUNT_MAX && decoder->position < info->frames - info->samplerate / 2 &&
         (container(decoder) != SF_FORMAT_MPEG || linnet_mp3_has_length(decoder->bytes));
}

/* libsndfile reads only the first of several Ogg streams, and of several MP3 files with a length, in one file. After an
 * entry of an archive others may follow. */
static int64_t count_unread(const struct linnet_decoder *decoder) {
  struct linnet_bytes *bytes = decoder->bytes;
  const int64_t longest = 65536; /* tags that are not known */
  const bool mp3 = container(decoder) == SF_FORMAT_MPEG;
  const int64_t unread = (mp3 ? linnet_mp3_audio_end(bytes) : bytes->size) - bytes->position;
  const bool known = (mp3 || container(decoder) == SF_FORMAT_OGG) && bytes->base == 0;
  return known && unread > longest && unread > bytes->size / 10 ? unread : 0;
}

/* "no audio after 4.93 seconds". If nothing came after a seek, the audio may have ended before it. */
static void describe_end(const struct linnet_decoder *decoder, char *text, size_t size) {
  const double seconds = (double)decoder->position / decoder->info.samplerate;
  const bool nothing = decoder->sought > 0 && decoder->position == decoder->sought;
  snprintf(text, size, nothing ? "no audio from %.2f seconds on" : "no audio after %.2f seconds", seconds);
}

static void warn_unread(const struct linnet_decoder *decoder, const char *end, int64_t unread) {
  linnet_log(decoder->bytes->context, LINNET_LOG_WARNING,
             "%s: %s: the last %lld bytes cannot be decoded: convert the file to WAV, for example with ffmpeg",
             decoder->bytes->name, end, (long long)unread);
}

/* The error of libsndfile, "Error : flac decoder lost sync.", as a part of a sentence. */
static void describe_error(SNDFILE *file, char *text, size_t size) {
  static const char prefix[] = "Error : ";
  const char *error = sf_strerror(file);
  error += strncmp(error, prefix, strlen(prefix)) == 0 ? strlen(prefix) : 0;
  snprintf(text, size, "%.*s", (int)strcspn(error, "."), error);
}

/* Where the file has fewer bytes than its header announces: the length that it announces. */
static double announced_seconds(const struct linnet_decoder *decoder) {
  const double seconds = (double)decoder->info.frames / decoder->info.samplerate;
  return seconds * (double)(decoder->present + decoder->missing) / (double)decoder->present;
}

/* Whether the header announces more than the file has. The last samples may be missing. */
static bool lacks_samples(const struct linnet_decoder *decoder) {
  const double tolerated = 0.01, seconds = (double)decoder->info.frames / decoder->info.samplerate;
  return decoder->missing > 0 && (decoder->present == 0 || announced_seconds(decoder) > seconds + tolerated);
}

static bool has_length(const struct linnet_decoder *decoder) {
  return decoder->info.frames >= 0 && decoder->info.frames < SF_COUNT_MAX;
}

/* libFLAC reports tags after the audio as an error. */
static bool has_error(const struct linnet_decoder *decoder) {
  return sf_error(decoder->file) != SF_ERR_NO_ERROR &&
         !(has_length(decoder) && decoder->position >= decoder->info.frames);
}

/* Whether the file seems to be incomplete; `reason` says why. */
static bool find_reason(const struct linnet_decoder *decoder, char *reason, size_t size) {
  static const char *const ogg_reasons[] = {[LINNET_OGG_CUT] = "its last page is cut",
                                            [LINNET_OGG_OPEN] = "its last page does not end the stream",
                                            [LINNET_OGG_MORE_STREAMS] = "only the first of its streams is decoded"};
  const SF_INFO *info = &decoder->info;
  if (has_error(decoder))
    describe_error(decoder->file, reason, size);
  else if (lacks_samples(decoder) && decoder->present > 0)
    snprintf(reason, size, "its header announces %.2f seconds", announced_seconds(decoder));
  else if (lacks_samples(decoder))
    snprintf(reason, size, "its header announces %lld more bytes", (long long)decoder->missing);
  else if (ends_early(decoder))
    snprintf(reason, size, "its header announces %.2f seconds", (double)info->frames / info->samplerate);
  else if (decoder->ogg_end != LINNET_OGG_COMPLETE)
    snprintf(reason, size, "%s", ogg_reasons[decoder->ogg_end]);
  else
    return false;
  return true;
}

static enum linnet_status find_ogg_end(struct linnet_decoder *decoder) {
  return container(decoder) == SF_FORMAT_OGG ? linnet_ogg_find_end(decoder->bytes, &decoder->ogg_end) : LINNET_OK;
}

/* At the end of the audio. */
static void warn(struct linnet_decoder *decoder) {
  char reason[256], end[64];
  const int64_t unread = count_unread(decoder);
  if (decoder->warned)
    return;
  decoder->warned = true;
  describe_end(decoder, end, sizeof end);
  if (unread > 0)
    warn_unread(decoder, end, unread);
  else if (find_reason(decoder, reason, sizeof reason))
    linnet_log(decoder->bytes->context, LINNET_LOG_WARNING, "%s: %s: %s: is the file complete?", decoder->bytes->name,
               end, reason);
}

/* The same file again, from its first frame on; NULL: it cannot be opened again. */
static SNDFILE *open_again(struct linnet_decoder *decoder) {
  SF_INFO again = {0};
  decoder->bytes->position = 0;
  SNDFILE *file = open_locked(decoder, &again);
  if (!file || again.channels == decoder->info.channels)
    return file;
  sf_close(file);
  return NULL;
}

/* The same file again, from a frame on; NULL: that frame cannot be decoded. */
static SNDFILE *open_at(struct linnet_decoder *decoder, sf_count_t frame) {
  float samples[MAX_CHANNELS];
  SNDFILE *file = open_again(decoder);
  if (file && sf_seek(file, frame, SEEK_SET) == frame && sf_readf_float(file, samples, 1) == 1 &&
      sf_seek(file, frame, SEEK_SET) == frame)
    return file;
  if (file)
    sf_close(file);
  return NULL;
}

enum { DAMAGE_PRECISION = 1024 }; /* frames */

/* Opens the file at the first frame from `position` on that can be decoded, or at most DAMAGE_PRECISION frames later.
 * *frame is the number of that frame. NULL: there is none. The function tries longer and longer steps, and then divides
 * the last one. It tries `position` itself, too: after a seek, libFLAC may report damage that lies before. Only close
 * behind an earlier seek it does not, so that each call moves on. */
static SNDFILE *find_decodable(struct linnet_decoder *decoder, int64_t *frame) {
  const int64_t last = decoder->info.frames - 1;
  int64_t damaged = decoder->position, next = damaged;
  int64_t step = next - decoder->resumed < DAMAGE_PRECISION ? DAMAGE_PRECISION : 0;
  SNDFILE *found = NULL;
  do {
    next = last - decoder->position > step ? decoder->position + step : last;
    found = open_at(decoder, next);
    damaged = found ? damaged : next;
    step = step > 0 ? 2 * step : DAMAGE_PRECISION;
  } while (!found && next < last);
  *frame = next;
  while (found && *frame - damaged > DAMAGE_PRECISION) {
    const int64_t middle = damaged + (*frame - damaged) / 2;
    SNDFILE *earlier = open_at(decoder, middle);
    if (earlier)
      sf_close(found), found = earlier, *frame = middle;
    else
      damaged = middle;
  }
  return found;
}

/* Continues after damaged frames of FLAC, where libFLAC stops. The next reads give silence in their place. False: no
 * later frame can be decoded, or there is no damage. */
static bool skip_damage(struct linnet_decoder *decoder) {
  if (container(decoder) != SF_FORMAT_FLAC || !has_length(decoder) || !has_error(decoder))
    return false;
  const int64_t bytes_position = decoder->bytes->position, first = decoder->position;
  int64_t next = first;
  SNDFILE *file = find_decodable(decoder, &next);
  if (!file) {
    decoder->bytes->position = bytes_position;
    return false;
  }
  char reason[256];
  describe_error(decoder->file, reason, sizeof reason);
  sf_close(decoder->file);
  decoder->file = file;
  decoder->damaged = next - first;
  decoder->resumed = next;
  const double rate = decoder->info.samplerate;
  if (next > first)
    linnet_log(decoder->bytes->context, LINNET_LOG_WARNING, "%s: damaged: silence from %.2f to %.2f seconds: %s",
               decoder->bytes->name, (double)first / rate, (double)next / rate, reason);
  return true;
}

/* Silence in place of damaged frames; returns the number of frames. */
static size_t put_silence(struct linnet_decoder *decoder, float *interleaved, size_t frames) {
  const size_t count = decoder->damaged < (int64_t)frames ? (size_t)decoder->damaged : frames;
  memset(interleaved, 0, count * (size_t)decoder->info.channels * sizeof *interleaved);
  decoder->damaged -= (int64_t)count;
  return count;
}

static size_t decode_frames(struct linnet_decoder *decoder, float *interleaved, size_t frames) {
  const sf_count_t n = sf_readf_float(decoder->file, interleaved, (sf_count_t)frames);
  return n > 0 ? (size_t)n : 0;
}

static enum linnet_status sndfile_read(struct linnet_decoder *decoder, float *interleaved, size_t frames, size_t *got) {
  const size_t channels = (size_t)decoder->info.channels;
  LINNET_TRY(check_memory(decoder->bytes));
  if (!decoder->file)
    return explain(decoder->bytes);
  *got = 0;
  for (bool more = true; more && *got < frames;) {
    const bool silent = decoder->damaged > 0;
    const size_t count = (silent ? put_silence : decode_frames)(decoder, interleaved + *got * channels, frames - *got);
    *got += count;
    decoder->position += (int64_t)count;
    more = silent || *got == frames || skip_damage(decoder);
  }
  if (*got < frames) {
    LINNET_TRY(find_ogg_end(decoder));
    LINNET_TRY(linnet_bytes_check(decoder->bytes));
    warn(decoder);
  }
  for (size_t i = 0; i < *got * channels; i++)
    interleaved[i] *= 32768;
  return LINNET_OK;
}

/* The length of FLAC is that in its header: whether its last frame can be decoded. The position stays. */
static bool has_last_frame(const struct linnet_decoder *decoder) {
  float samples[MAX_CHANNELS];
  const sf_count_t last = decoder->info.frames - 1;
  const bool there = sf_seek(decoder->file, last, SEEK_SET) == last && sf_readf_float(decoder->file, samples, 1) == 1;
  return there && sf_seek(decoder->file, decoder->position, SEEK_SET) == decoder->position;
}

static bool seems_complete(const struct linnet_decoder *decoder) {
  if (container(decoder) == SF_FORMAT_FLAC)
    return !has_length(decoder) || has_last_frame(decoder);
  return decoder->ogg_end != LINNET_OGG_CUT && !lacks_samples(decoder);
}

/* libFLAC decodes nothing after a seek that failed, so the file is opened again. Without a file, reading fails. */
static void reopen(struct linnet_decoder *decoder) {
  if (decoder->file)
    sf_close(decoder->file);
  decoder->position = decoder->sought = decoder->damaged = decoder->resumed = 0;
  decoder->file = open_again(decoder);
}

/* Decodes from the start up to where the audio ends. */
static enum linnet_status find_end(struct linnet_decoder *decoder) {
  float samples[4 * MAX_CHANNELS];
  const sf_count_t block = 4 * MAX_CHANNELS / decoder->info.channels;
  reopen(decoder);
  if (!decoder->file)
    return explain(decoder->bytes);
  for (sf_count_t n; (n = sf_readf_float(decoder->file, samples, block)) > 0;) {
    decoder->position += n;
    LINNET_TRY(linnet_poll_check(decoder->bytes->context));
  }
  return linnet_bytes_check(decoder->bytes);
}

static enum linnet_status sndfile_check_end(struct linnet_decoder *decoder) {
  struct linnet_bytes *bytes = decoder->bytes;
  char reason[256];
  LINNET_TRY(check_memory(bytes));
  LINNET_TRY(find_ogg_end(decoder));
  const bool complete = seems_complete(decoder);
  LINNET_TRY(linnet_bytes_check(bytes));
  if (complete)
    return LINNET_OK;
  if (container(decoder) == SF_FORMAT_FLAC || !has_length(decoder))
    LINNET_TRY(find_end(decoder));
  else
    decoder->position = decoder->info.frames;
  if (!find_reason(decoder, reason, sizeof reason))
    snprintf(reason, sizeof reason, "its last samples cannot be decoded");
  return linnet_fail(bytes->context, LINNET_ERROR_FORMAT, "%s: no audio after %.2f seconds: %s", bytes->name,
                     (double)decoder->position / decoder->info.samplerate, reason);
}

/* In a damaged file a seek may fail and end anywhere: then decoding begins at the start. */
static bool sndfile_seek(struct linnet_decoder *decoder, int64_t frame) {
  const bool good = decoder->file && sf_seek(decoder->file, frame, SEEK_SET) == frame;
  decoder->damaged = decoder->resumed = 0;
  if (good)
    decoder->position = decoder->sought = frame;
  else
    reopen(decoder);
  return good;
}

static const struct linnet_decoder_kind sndfile_kind = {sndfile_read, sndfile_seek, sndfile_check_end, sndfile_destroy};

static enum linnet_status check_info(const struct linnet_bytes *bytes, const SF_INFO *info) {
  if (info->channels >= 1 && info->channels <= MAX_CHANNELS)
    return LINNET_OK;
  return linnet_fail(bytes->context, LINNET_ERROR_FORMAT, "%s: the header announces %d channels, which is not possible",
                     bytes->name, info->channels);
}

/* libsndfile estimates the length of an MP3 without one from its first frames, and reads no further. If it cannot find
 * the end of the bytes, it reads them all, but does not seek. So that is kept for variable bit rates. */
static void open_file(struct linnet_decoder *decoder) {
  decoder->bytes->position = 0;
  decoder->file = open_locked(decoder, &decoder->info);
  if (!decoder->file || container(decoder) != SF_FORMAT_MPEG || linnet_mp3_has_length(decoder->bytes))
    return;
  decoder->runs_on = decoder->bytes->base > 0;
  if (linnet_mp3_is_constant(decoder->bytes))
    return;
  sf_close(decoder->file);
  decoder->hides_length = true;
  decoder->info = (SF_INFO){0};
  decoder->bytes->position = 0;
  decoder->file = open_locked(decoder, &decoder->info);
}

static void warn_entry(const struct linnet_decoder *decoder) {
  if (decoder->runs_on)
    linnet_log(decoder->bytes->context, LINNET_LOG_WARNING,
               "%s: its header does not tell its length, so that the next entries of the archive may be read as audio: "
               "make the archive again from files with lengths",
               decoder->bytes->name);
}

enum linnet_status linnet_decoder_open_sndfile(struct linnet_bytes *bytes, struct linnet_decoder_info *info) {
  LINNET_TRY(check_memory(bytes));
  struct linnet_decoder *decoder = linnet_calloc(bytes->context, 1, sizeof *decoder);
  if (!decoder)
    return linnet_fail(bytes->context, LINNET_ERROR_MEMORY, "%s: out of memory", bytes->name);
  decoder->bytes = bytes;
  check_wav(decoder);
  check_announced(decoder);
  open_file(decoder);
  const SF_INFO *found = &decoder->info;
  enum linnet_status status = decoder->file ? check_info(bytes, found) : explain(bytes);
  if (status != LINNET_OK) {
    sndfile_destroy(decoder);
    return status;
  }
  warn_entry(decoder);
  int64_t frames = has_length(decoder) ? found->frames : -1;
  *info = (struct linnet_decoder_info){&sndfile_kind, decoder, found->samplerate, found->channels, frames};
  return LINNET_OK;
}
