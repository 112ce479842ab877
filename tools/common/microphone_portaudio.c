/* A microphone by PortAudio, which is loaded when a microphone is asked for, so that the command runs without it: its
 * thread writes samples to a pipe, which is read as raw audio. So resampling, interrupts and the end of the audio are
 * as for every pipe. */
#define _GNU_SOURCE
#include "microphone.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <portaudio.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { PIPE_BYTES = 1 << 20 };      /* half a minute at 16 kHz: for times when recognition is slower than speech */
static const double latency = 0.05; /* seconds in the buffers of the device */

struct microphone {
  PaStream *stream;
  int from, to; /* ends of the pipe */
  double rate;  /* of the samples in it, Hz */
  struct linnet_audio *audio;
  atomic_bool dropped; /* the pipe was full */
};

/* --- the library ------------------------------------------------------------------------------------------------ */

#define FUNCTIONS(X)                                                                                                   \
  X(CloseStream)                                                                                                       \
  X(GetDefaultInputDevice)                                                                                             \
  X(GetDeviceCount)                                                                                                    \
  X(GetDeviceInfo)                                                                                                     \
  X(GetErrorText)                                                                                                      \
  X(Initialize)                                                                                                        \
  X(IsFormatSupported)                                                                                                 \
  X(OpenStream)                                                                                                        \
  X(SetStreamFinishedCallback)                                                                                         \
  X(StartStream)                                                                                                       \
  X(Terminate)

#define MEMBER(name) __typeof__(&Pa_##name) name; /* NOLINT(bugprone-macro-parentheses): it declares `name` */
#define ROW(name) {"Pa_" #name, &portaudio.name},

/* Set by load_library. */
static struct { FUNCTIONS(MEMBER) } portaudio;

static bool load_library(void) {
  const struct {
    const char *name;
    void *function; /* a pointer to a function */
  } rows[] = {FUNCTIONS(ROW)};
  void *library = dlopen(LINNET_PORTAUDIO_LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  for (size_t i = 0; library && i < sizeof rows / sizeof *rows; i++) {
    void *symbol = dlsym(library, rows[i].name);
    memcpy(rows[i].function, &symbol, sizeof symbol);
    if (!symbol)
      library = NULL;
  }
  if (!library)
    tool_fail("a microphone needs PortAudio, which cannot be loaded: %s; install it (Debian: libportaudio2), or give "
              "audio by a pipe: arecord -f S16_LE -r 16000 -t raw | linnet listen --raw s16le -",
              dlerror());
  return library != NULL;
}

/* Libraries below PortAudio print to standard error which devices they lack. */
static PaError start_library(void) {
  const int saved = dup(STDERR_FILENO), nowhere = open("/dev/null", O_WRONLY);
  fflush(stderr);
  if (saved >= 0 && nowhere >= 0)
    dup2(nowhere, STDERR_FILENO);
  const PaError error = portaudio.Initialize();
  if (saved >= 0)
    dup2(saved, STDERR_FILENO);
  if (saved >= 0)
    close(saved);
  if (nowhere >= 0)
    close(nowhere);
  return error;
}

static bool has_started(void) {
  if (!load_library())
    return false;
  const PaError error = start_library();
  if (error != paNoError)
    tool_fail("cannot look for microphones: %s", portaudio.GetErrorText(error));
  return error == paNoError;
}

static const PaDeviceInfo *input_info(PaDeviceIndex index) {
  const PaDeviceInfo *info = index < 0 ? NULL : portaudio.GetDeviceInfo(index);
  return info && info->maxInputChannels > 0 ? info : NULL;
}

int microphone_list(void) {
  if (!has_started())
    return TOOL_FAILURE;
  size_t count = 0;
  for (PaDeviceIndex i = 0; i < portaudio.GetDeviceCount(); i++) {
    const PaDeviceInfo *info = input_info(i);
    if (!info)
      continue;
    char name[256];
    terminal_escape(info->name, name, sizeof name);
    count++;
    printf("%d\t%s\t%g Hz%s\n", i, name, info->defaultSampleRate,
           i == portaudio.GetDefaultInputDevice() ? "\tdefault" : "");
  }
  portaudio.Terminate();
  return count > 0 ? TOOL_OK : tool_fail("there is no microphone");
}

/* The device of a number, or the first whose name contains the text; paNoDevice if there is none. */
static PaDeviceIndex find_device(const char *device) {
  char *end;
  if (!device)
    return portaudio.GetDefaultInputDevice();
  const long number = strtol(device, &end, 10);
  if (*device && !*end)
    return number >= 0 && number < portaudio.GetDeviceCount() && input_info((PaDeviceIndex)number)
               ? (PaDeviceIndex)number
               : paNoDevice;
  for (PaDeviceIndex i = 0; i < portaudio.GetDeviceCount(); i++)
    if (input_info(i) && strstr(input_info(i)->name, device))
      return i;
  return paNoDevice;
}

/* --- recording -------------------------------------------------------------------------------------------------- */

/* Runs in a thread of PortAudio. A write to a pipe of at most PIPE_BUF bytes is whole or not done at all; a larger one
 * may be partial, but then the pipe is full and samples are dropped in any case. */
static int record(const void *input, void *output, unsigned long frames, const PaStreamCallbackTimeInfo *time,
                  PaStreamCallbackFlags flags, void *user) {
  struct microphone *m = user;
  const size_t bytes = frames * sizeof(int16_t);
  (void)output;
  (void)time;
  const ssize_t written = write(m->to, input, bytes);
  if ((flags & paInputOverflow) || written != (ssize_t)bytes)
    atomic_store(&m->dropped, true);
  return written < 0 && errno != EAGAIN && errno != EINTR ? paAbort : paContinue;
}

/* The device is gone: the reader of the pipe gets the end of the audio. */
static void end(void *user) {
  struct microphone *m = user;
  close(m->to);
  m->to = -1;
}

/* Opens the device at the wanted rate, or else at its own. */
static PaError open_stream(struct microphone *m, PaDeviceIndex device, double *rate) {
  const PaStreamParameters parameters = {
      .device = device, .channelCount = 1, .sampleFormat = paInt16, .suggestedLatency = latency};
  const double own = portaudio.GetDeviceInfo(device)->defaultSampleRate;
  if (portaudio.IsFormatSupported(&parameters, NULL, *rate) != paFormatIsSupported)
    *rate = own;
  PaError error =
      portaudio.OpenStream(&m->stream, &parameters, NULL, *rate, paFramesPerBufferUnspecified, paClipOff, record, m);
  if (error == paNoError)
    error = portaudio.SetStreamFinishedCallback(m->stream, end);
  return error == paNoError ? portaudio.StartStream(m->stream) : error;
}

static bool open_pipe(struct microphone *m) {
  int ends[2];
  if (pipe(ends) != 0) {
    tool_fail("no pipe for the microphone: %s", strerror(errno));
    return false;
  }
  m->from = ends[0];
  m->to = ends[1];
  fcntl(m->to, F_SETPIPE_SZ, PIPE_BYTES);
  fcntl(m->to, F_SETFL, O_NONBLOCK);
  return true;
}

static bool start(struct microphone *m, struct linnet_context *context, const char *device, double sample_rate) {
  const PaDeviceIndex index = find_device(device);
  double rate = sample_rate;
  if (index == paNoDevice) {
    tool_fail("there is no microphone%s%s; --list-microphones prints the microphones", device ? " " : "",
              device ? device : "");
    return false;
  }
  if (!open_pipe(m))
    return false;
  const PaError error = open_stream(m, index, &rate);
  if (error != paNoError) {
    tool_fail("microphone %s: %s", portaudio.GetDeviceInfo(index)->name, portaudio.GetErrorText(error));
    return false;
  }
  struct linnet_audio_settings settings;
  linnet_audio_settings_default(&settings);
  settings.sample_rate = sample_rate;
  settings.raw_format = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? LINNET_SAMPLE_S16LE : LINNET_SAMPLE_S16BE;
  settings.raw_rate = m->rate = rate;
  if (linnet_audio_open_fd(context, m->from, "microphone", &settings, &m->audio) == LINNET_OK)
    return true;
  tool_fail_context(context);
  return false;
}

struct microphone *microphone_open(struct linnet_context *context, const char *device, double sample_rate,
                                   struct linnet_audio **audio) {
  struct microphone *m = calloc(1, sizeof *m);
  if (!m) {
    tool_fail("out of memory");
    return NULL;
  }
  m->from = m->to = -1;
  if (!has_started()) {
    free(m);
    return NULL;
  }
  if (start(m, context, device, sample_rate)) {
    *audio = m->audio;
    return m;
  }
  microphone_close(m);
  return NULL;
}

double microphone_waiting(const struct microphone *m) {
  int bytes = 0;
  return ioctl(m->from, FIONREAD, &bytes) == 0 ? bytes / (sizeof(int16_t) * m->rate) : 0;
}

void microphone_close(struct microphone *m) {
  if (!m)
    return;
  if (m->stream)
    portaudio.CloseStream(m->stream);
  portaudio.Terminate();
  linnet_audio_destroy(m->audio);
  if (atomic_load(&m->dropped))
    tool_warn("some audio of the microphone is missing: recognition was slower than speech");
  if (m->to >= 0)
    close(m->to);
  if (m->from >= 0)
    close(m->from);
  free(m);
}
