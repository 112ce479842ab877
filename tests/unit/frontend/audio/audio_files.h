/* Audio files for tests: made in memory, and read from memory, paths, descriptors and pipes. */
#ifndef LINNET_TEST_AUDIO_FILES_H
#define LINNET_TEST_AUDIO_FILES_H

#include <linnet/audio.h>

#include <fcntl.h>
#include <pthread.h>
#include <sndfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

static struct linnet_context *context;

/* libsndfile 1.2.0 leaks when it refuses a damaged Vorbis file. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) {
  return "leak:vorbis_info_init\n";
}

/* --- Making files in memory ----------------------------------------------------------------------------------- */

struct file {
  unsigned char *data;
  sf_count_t size, position, capacity;
};

static sf_count_t file_length(void *user) {
  return ((struct file *)user)->size;
}
static sf_count_t file_tell(void *user) {
  return ((struct file *)user)->position;
}

static sf_count_t file_seek(sf_count_t offset, int whence, void *user) {
  struct file *file = user;
  sf_count_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? file->position : file->size;
  return file->position = from + offset;
}

static sf_count_t file_read(void *to, sf_count_t count, void *user) {
  struct file *file = user;
  sf_count_t left = file->size - file->position;
  count = count < left ? count : left > 0 ? left : 0;
  memcpy(to, file->data + file->position, (size_t)count);
  file->position += count;
  return count;
}

static sf_count_t file_write(const void *from, sf_count_t count, void *user) {
  struct file *file = user;
  if (file->position + count > file->capacity) {
    file->capacity = 2 * (file->position + count);
    file->data = realloc(file->data, (size_t)file->capacity);
  }
  memcpy(file->data + file->position, from, (size_t)count);
  file->position += count;
  file->size = file->position > file->size ? file->position : file->size;
  return count;
}

/* Integers pass unchanged into PCM; floats would be scaled by 32767. */
static void write_samples(SNDFILE *sound, int format, const float *samples, size_t count) {
  int subtype = format & SF_FORMAT_SUBMASK;
  if (subtype != SF_FORMAT_PCM_16 && subtype != SF_FORMAT_PCM_24) {
    sf_write_float(sound, samples, (sf_count_t)count);
    return;
  }
  int *integers = malloc((count + 1) * sizeof *integers);
  for (size_t i = 0; i < count; i++)
    integers[i] = (int)(samples[i] * 2147483648.0);
  sf_write_int(sound, integers, (sf_count_t)count);
  free(integers);
}

/* Of MP3: SF_BITRATE_MODE_..., and 0 to 1: the lower, the more bytes. */
struct compression {
  int mode;
  double level;
};

/* `compression` may be NULL. */
static struct file encode_info(SF_INFO info, struct compression *compression, const float *samples, size_t frames) {
  struct file file = {0};
  SF_VIRTUAL_IO io = {file_length, file_seek, file_read, file_write, file_tell};
  SNDFILE *sound = sf_open_virtual(&io, SFM_WRITE, &info, &file);
  if (!sound)
    return file;
  if (compression) {
    sf_command(sound, SFC_SET_BITRATE_MODE, &compression->mode, sizeof compression->mode);
    sf_command(sound, SFC_SET_COMPRESSION_LEVEL, &compression->level, sizeof compression->level);
  }
  write_samples(sound, info.format, samples, frames * (size_t)info.channels);
  sf_close(sound);
  return file;
}

/* Interleaved samples, +-1, as a file; size 0 if libsndfile does not write the format. */
static struct file encode(int format, int rate, int channels, const float *samples, size_t frames) {
  const SF_INFO info = {.samplerate = rate, .channels = channels, .format = format};
  return encode_info(info, NULL, samples, frames);
}

/* One channel at 16 kHz as MP3; size 0 as above. */
static struct file encode_mp3(int mode, double level, const float *samples, size_t frames) {
  const SF_INFO info = {.samplerate = 16000, .channels = 1, .format = SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III};
  return encode_info(info, &(struct compression){mode, level}, samples, frames);
}

/* A chirp with some noise on a grid of 1/32768, so that 16 bits can store it exactly. */
static float *make_signal(size_t n) {
  float *x = malloc((n + 1) * sizeof *x);
  struct test_random random = {7};
  for (size_t i = 0; i < n; i++) {
    double t = (double)i / 16000, value = 8000 * sin(2 * 3.14159265358979 * (200 + 300 * t) * t);
    x[i] = (float)(round(value + 100 * test_uniform(&random)) / 32768) + 0.0f; /* no negative zeros */
  }
  return x;
}

/* --- Ways in -------------------------------------------------------------------------------------------------- */

struct feed {
  int fd;
  const unsigned char *data;
  size_t size;
};

static void *feed_main(void *user) {
  struct feed *feed = user;
  for (size_t done = 0; done < feed->size;) {
    size_t now = feed->size - done < 777 ? feed->size - done : 777;
    ssize_t put = write(feed->fd, feed->data + done, now);
    if (put <= 0)
      break;
    done += (size_t)put;
  }
  close(feed->fd);
  return NULL;
}

enum way { MEMORY, PATH, DESCRIPTOR, PIPE, WAYS };
static const char *const way_names[] = {"memory", "path", "descriptor", "pipe"};

static const char *scratch_path(void) {
  static char path[4200];
  snprintf(path, sizeof path, "%s/test_audio_%ld.tmp", TEST_BINARY_DIR, (long)getpid());
  return path;
}

static void save(const void *data, size_t size) {
  FILE *stream = fopen(scratch_path(), "wb");
  REQUIRE(stream && fwrite(data, 1, size, stream) == size && fclose(stream) == 0, "%s: cannot write", scratch_path());
}

/* Opens and reads everything. */
static enum linnet_status read_way(enum way way, const unsigned char *data, size_t size,
                                   const struct linnet_audio_settings *settings, float **samples, size_t *count) {
  struct linnet_audio *audio = NULL;
  enum linnet_status status;
  int fds[2] = {-1, -1};
  pthread_t thread;
  struct feed feed = {.data = data, .size = size};
  *samples = NULL;
  *count = 0;
  if (way == MEMORY) {
    status = linnet_audio_open_memory(context, data, size, settings, &audio);
  } else if (way == PATH) {
    save(data, size);
    status = linnet_audio_open(context, scratch_path(), settings, &audio);
  } else if (way == DESCRIPTOR) {
    save(data, size);
    fds[0] = open(scratch_path(), O_RDONLY);
    status = linnet_audio_open_fd(context, fds[0], "descriptor", settings, &audio);
  } else {
    REQUIRE(pipe(fds) == 0, "no pipe");
    feed.fd = fds[1];
    pthread_create(&thread, NULL, feed_main, &feed);
    status = linnet_audio_open_fd(context, fds[0], "pipe", settings, &audio);
  }
  if (status == LINNET_OK)
    status = linnet_audio_read_all(audio, samples, count);
  linnet_audio_destroy(audio);
  if (fds[0] >= 0)
    close(fds[0]);
  if (way == PIPE)
    pthread_join(thread, NULL);
  return status;
}

static enum linnet_status read_memory(const struct file *file, const struct linnet_audio_settings *settings,
                                      float **samples, size_t *count) {
  return read_way(MEMORY, file->data, (size_t)file->size, settings, samples, count);
}

static double snr(const float *x, const float *y, size_t n) {
  double signal = 1e-30, noise = 1e-30;
  for (size_t i = 0; i < n; i++) {
    signal += (double)y[i] * y[i];
    noise += ((double)x[i] - y[i]) * ((double)x[i] - y[i]);
  }
  return 10 * log10(signal / noise);
}

#endif
