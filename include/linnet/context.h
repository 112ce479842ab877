/* A context carries what every object needs: allocator, log callback, threads, and the text of the last error.
 *
 * The library never exits, prints, spawns a shell or keeps global state. A failing function returns a status and
 * leaves a sentence in the context it was given (linnet_context_error). Files are written and read alike whatever
 * locale the program has set.
 *
 * Long calls can be cancelled and report their progress: see linnet_cancel_fn. These calls do: linnet_encoder_run,
 * linnet_encoder_compute, linnet_stream_accept, linnet_stream_accept_features, linnet_stream_finish,
 * linnet_fbank_compute, linnet_fbank_accept, linnet_audio_open, linnet_audio_read, linnet_audio_read_all,
 * linnet_beam_accept, linnet_word_search_accept, linnet_alignment_create and linnet_trainer_run, which says how it goes
 * on; and what calls these.
 *
 * NULL: a function that returns a status refuses it with LINNET_ERROR_ARGUMENT for every pointer, except for those that
 * its header says may be NULL, for arrays of no elements and for a callback's `user`. ..._destroy and ..._release do
 * nothing with NULL. Functions that return a value, ..._reset and ..._default need their objects.
 *
 * Threads: a context is used from one thread at a time. linnet_context_share makes a second handle on the same
 * allocator, log and thread pool, with an error text of its own, for use from another thread.
 *
 * Stability: stable; linnet_progress_fn and its stages are experimental (linnet.h). */
#ifndef LINNET_CONTEXT_H
#define LINNET_CONTEXT_H

#include <stddef.h>

#include <linnet/version.h>

#ifdef __cplusplus
extern "C" {
#endif

struct linnet_context;

enum linnet_log_level { LINNET_LOG_DEBUG = 0, LINNET_LOG_INFO = 1, LINNET_LOG_WARNING = 2, LINNET_LOG_ERROR = 3 };

/* `message` is one line without a newline and lives only during the call. May be called from any thread. */
typedef void (*linnet_log_fn)(void *user, enum linnet_log_level level, const char *message);

/* One hook shaped like realloc: `pointer` NULL allocates, `bytes` 0 frees and returns NULL. Must be callable from
 * every thread. Failing returns NULL and leaves `pointer` valid. The call that needed the memory then fails with
 * LINNET_ERROR_MEMORY, unless less is enough: a buffer that grows in training asks for an eighth more than it needs,
 * and then, if that fails, for no more than it needs; results are the same. jansson, FFTW, libsndfile, soxr and a BLAS
 * library take their memory from malloc. */
typedef void *(*linnet_reallocate_fn)(void *user, void *pointer, size_t bytes);

/* What the operands of matrix products may be rounded to where the processor then multiplies them faster. Weights and
 * sums are float32 in any case. BFLOAT16 keeps 8 bits of each operand (a relative error of at most 2^-9) and takes
 * effect on processors with AVX512-BF16 and on CUDA devices, where activations are stored so, too; TF32 keeps 11 bits
 * and takes effect on CUDA devices. INT8 is for recognition on processors with AVX512-VNNI: 8-bit
 * integers, scaled row by row of activations and column by column of weights as they are multiplied; a model needs no
 * preparation. CUDA devices refuse it. Elsewhere a precision is the next better one that there is. */
enum linnet_precision { LINNET_FLOAT32 = 0, LINNET_BFLOAT16 = 1, LINNET_TF32 = 2, LINNET_INT8 = 3 };

/* Whether the running call shall stop: non-zero cancels it. The calls that say so in their headers ask many times a
 * second and then fail with LINNET_ERROR_CANCELLED. Asked from the thread that made the call and from the threads that
 * work for it, several at once. It must be quick, such as reading an atomic flag, and must not call the library. Once
 * it has said yes, the call that asked stops, whatever it says later; the next call asks afresh. */
typedef int (*linnet_cancel_fn)(void *user);

/* The stages of long calls. */
enum linnet_stage {
  LINNET_STAGE_NETWORK = 0,    /* an encoder runs its layers */
  LINNET_STAGE_POSTERIORS = 1, /* its posteriors go to their receiver, such as a search, whose time is included */
  LINNET_STAGE_ALIGNMENT = 2   /* a text is aligned; begins again where a wider search is needed */
};

/* `share`, 0 to 1, of the stage is done; it need not reach 1. Called from the thread that made the call, often: it must
 * be quick, and must not call the library. */
typedef void (*linnet_progress_fn)(void *user, enum linnet_stage stage, double share);

/* The longest sentence of an error, with its final NUL. */
enum { LINNET_ERROR_BYTES = 512 };

struct linnet_context_settings {
  size_t size;         /* sizeof(struct linnet_context_settings), set by ..._default */
  size_t num_threads;  /* worker threads, the caller's included; 0: one per online processor (default) */
  const char *kernels; /* CPU kernels: "auto" (default, NULL), "reference", "generic", "cblas", "avx2", "avx512",
                          "avx512-bf16", "avx512-vnni"; "auto" is the fastest that runs here with the precision below */
  enum linnet_precision precision; /* default LINNET_FLOAT32 */
  const char *device; /* where networks run: "cpu" (default, NULL), "cuda" (the first), "cuda:1", or "auto": the first
                         CUDA device if there is one. */
  linnet_reallocate_fn reallocate; /* NULL: realloc and free */
  void *reallocate_user;
  linnet_log_fn log; /* NULL: silent */
  void *log_user;
  linnet_cancel_fn cancel; /* NULL: calls run to their end */
  void *cancel_user;
  linnet_progress_fn progress; /* NULL: none */
  void *progress_user;
  char
      *error; /* (error_bytes): where linnet_context_create leaves the sentence of a failure; NULL: nowhere (default) */
  size_t error_bytes;
};

LINNET_API void linnet_context_settings_default(struct linnet_context_settings *settings, size_t size);
#define linnet_context_settings_default(settings) linnet_context_settings_default(settings, sizeof *(settings))

/* Creates a context; `settings` NULL means the defaults. On failure *context is NULL, and a sentence is in
 * settings->error and goes to the log as an error:
 *
 *   char error[LINNET_ERROR_BYTES];
 *   settings.error = error, settings.error_bytes = sizeof error;
 *   if (linnet_context_create(&settings, &context) != LINNET_OK) fputs(error, stderr); */
LINNET_API enum linnet_status linnet_context_create(const struct linnet_context_settings *settings,
                                                    struct linnet_context **context);

/* A second handle for another thread. Handles may be destroyed in any order. */
LINNET_API enum linnet_status linnet_context_share(struct linnet_context *context, struct linnet_context **shared);

/* Destroys the handle; NULL is allowed. Objects made from it must be destroyed first. */
LINNET_API void linnet_context_destroy(struct linnet_context *context);

/* The sentence left by the last failing call on this handle, "" if none. Valid until the next call on the handle. */
LINNET_API const char *linnet_context_error(const struct linnet_context *context);

/* The device by name, such as "cpu" or "cuda:0 NVIDIA H200, 139 GiB". */
LINNET_API const char *linnet_context_device(const struct linnet_context *context);

/* The most memory of the device in use so far, in bytes; 0 on the CPU. */
LINNET_API size_t linnet_context_device_peak_bytes(const struct linnet_context *context);

/* The number of threads, the name of the CPU kernels that run ("avx512", ...) and the precision of their products. */
LINNET_API size_t linnet_context_num_threads(const struct linnet_context *context);
LINNET_API const char *linnet_context_kernels(const struct linnet_context *context);
LINNET_API enum linnet_precision linnet_context_precision(const struct linnet_context *context);

#ifdef __cplusplus
}
#endif
#endif
