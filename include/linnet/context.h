/* A context holds what every object needs: allocator, log callback, threads, and the text of the last error.
 *
 * The library never exits, prints, spawns a shell or keeps global state. A function that fails returns a status and
 * stores a sentence in its context (linnet_context_error). The locale of the program has no effect on how files are
 * read and written.
 *
 * Long calls can be cancelled and report their progress: see linnet_cancel_fn. These calls do: linnet_encoder_run,
 * linnet_encoder_compute, linnet_stream_accept, linnet_stream_accept_features, linnet_stream_finish,
 * linnet_fbank_compute, linnet_fbank_accept, linnet_audio_open, linnet_audio_read, linnet_audio_read_all,
 * linnet_beam_accept, linnet_word_search_accept, linnet_alignment_create, linnet_sample, linnet_trainer_run (whose
 * comment says how a cancelled training continues), and all functions that call these.
 *
 * FFTW: its planner belongs to the whole process and is not safe for threads. Before its first plan (fbank.h) the
 * library calls fftwf_make_planner_thread_safe, if the build found it, as it does where Debian's libfftw3-dev is
 * installed. From then on the program may plan at any time and in any thread. If a program may plan during that first
 * call, it must call the function itself when it starts. If the build did not find it, every program that plans by FFTW
 * must call it when it starts, or not plan while the library creates or destroys streams or filterbanks.
 *
 * Callbacks (hooks, sinks, the log and others) must return: an exception of C++ or a longjmp out of one leaks what the
 * library holds, and its threads could wait for ever. If such a call had taken only part of the audio of a stream, the
 * stream answers LINNET_ERROR_STATE until its reset.
 *
 * NULL: a function that returns a status answers a NULL pointer with LINNET_ERROR_ARGUMENT. Exceptions are pointers
 * that its header allows to be NULL, arrays without elements, and the `user` of a callback. ..._destroy and ..._release
 * do nothing with NULL. All other functions must not get NULL.
 *
 * Threads: a context is used from one thread at a time. For another thread, linnet_context_share creates a second
 * handle with the same allocator, log and thread pool, and with hooks and an error text of its own. The threads of the
 * pool block all signals but those of faults (SIGSEGV and the like), so handlers run in threads of the program.
 *
 * fork: the threads of a context are not there in the child. There its calls run in their own thread alone; the results
 * are the same. Do not fork while a call on the context or its objects runs in another thread.
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

/* `message` is one line without a newline. It is valid only during the call. The library may call this function from
 * any thread. */
typedef void (*linnet_log_fn)(void *user, enum linnet_log_level level, const char *message);

/* One hook that works like realloc: `pointer` NULL allocates; `bytes` 0 frees and returns NULL. It must be callable
 * from every thread. On failure it returns NULL and `pointer` stays valid. The call that needed the memory then usually
 * fails with LINNET_ERROR_MEMORY. But a buffer that grows in training first asks for an eighth more than it needs; if
 * that fails, it asks for the needed size. The results are the same. jansson, FFTW, libsndfile, soxr and a BLAS library
 * take their memory from malloc. */
typedef void *(*linnet_reallocate_fn)(void *user, void *pointer, size_t bytes);

/* The precision to which matrix products may round their operands, if this is faster on the processor. Stored weights
 * and sums are always float32. BFLOAT16 keeps 8 bits of each operand (a relative error of at most 2^-9). It takes
 * effect on processors with AVX512-BF16 and on CUDA devices, where activations are stored in bfloat16, too. TF32 keeps
 * 11 bits and takes effect on CUDA devices. INT8 is for recognition on processors with AVX512-VNNI, AVX-VNNI, AVX2 or
 * Arm's dot product (DotProd): the operands become integers of 8 bits (with AVX2 alone 7) with one scale per row of
 * activations and one per column of weights. They are converted during the product, so a model needs no preparation.
 * CUDA devices refuse INT8. Where a precision is not available, the next better one is used. */
enum linnet_precision { LINNET_FLOAT32 = 0, LINNET_BFLOAT16 = 1, LINNET_TF32 = 2, LINNET_INT8 = 3 };

/* Decides whether the running call stops: non-zero cancels it. The calls that are listed above call this hook many
 * times per second. After a non-zero result they fail with LINNET_ERROR_CANCELLED. The hook runs in the thread that
 * made the call and in its worker threads, in several at the same time. It must be fast, such as reading an atomic
 * flag, and must not call the library. After one non-zero result the running call stops, whatever the hook returns
 * later. The next call asks again. */
typedef int (*linnet_cancel_fn)(void *user);

/* The stages of long calls. */
enum linnet_stage {
  LINNET_STAGE_NETWORK = 0,    /* an encoder computes its layers */
  LINNET_STAGE_POSTERIORS = 1, /* the encoder passes its posteriors to their receiver, such as a search; the time of the
                                  receiver is included */
  LINNET_STAGE_ALIGNMENT = 2   /* a text is aligned; starts again at 0 if a wider search is needed */
};

/* Reports that `share` of the stage, 0 to 1, is done; the last report may be below 1. The hook runs often, in the
 * thread that made the call. It must be fast and must not call the library. Calls on two handles that have the same
 * hook may run it at the same time. */
typedef void (*linnet_progress_fn)(void *user, enum linnet_stage stage, double share);

/* The longest sentence of an error, with its final NUL. A longer one, such as with a long path, loses its middle. */
enum { LINNET_ERROR_BYTES = 512 };

struct linnet_context_settings {
  size_t size;         /* sizeof(struct linnet_context_settings), set by ..._default */
  size_t num_threads;  /* worker threads, including the caller's, at most 256; 0: one per processor that the process
                          may use (default) */
  const char *kernels; /* CPU kernels: "auto" (default, NULL), "reference", "generic", "cblas", "avx2", "avx512",
                          "avx512-bf16", "avx512-amx-bf16", or with products of integers "avx512-vnni",
                          "avx512-amx-int8", "avxvnni", "avx2-int8", "dotprod"; "auto" is the fastest that runs here
                          with the precision below */
  enum linnet_precision precision; /* default LINNET_FLOAT32 */
  const char *device; /* where training and inference run: "cpu" (default, NULL), "cuda" (the first), "cuda:1", or
                         "auto": the first CUDA device, or the CPU if there is none. */
  linnet_reallocate_fn reallocate; /* NULL: realloc and free */
  void *reallocate_user;
  linnet_log_fn log; /* NULL: silent */
  void *log_user;
  linnet_cancel_fn cancel; /* NULL: calls run to their end */
  void *cancel_user;
  linnet_progress_fn progress; /* NULL: none */
  void *progress_user;
  char *error; /* (error_bytes): linnet_context_create stores the sentence of a failure here; NULL: nowhere (default) */
  size_t error_bytes;
};

LINNET_API void linnet_context_settings_default(struct linnet_context_settings *settings, size_t size);
#define linnet_context_settings_default(settings) linnet_context_settings_default(settings, sizeof *(settings))

/* Creates a context. `settings` NULL means the defaults. On failure *context is NULL, and the function stores a
 * sentence in settings->error and logs it as an error:
 *
 *   char error[LINNET_ERROR_BYTES];
 *   settings.error = error, settings.error_bytes = sizeof error;
 *   if (linnet_context_create(&settings, &context) != LINNET_OK) fputs(error, stderr); */
LINNET_API enum linnet_status linnet_context_create(const struct linnet_context_settings *settings,
                                                    struct linnet_context **context);

/* Creates a second handle for another thread, with the hooks that `context` has now. Any thread may call it, also while
 * `context` is in use elsewhere. So it stores no sentence; the only failure is LINNET_ERROR_MEMORY. Handles may be
 * destroyed in any order. */
LINNET_API enum linnet_status linnet_context_share(struct linnet_context *context, struct linnet_context **shared);

/* Replaces a hook of this handle alone; NULL: none. So a server can cancel the calls of one stream: those of the handle
 * that the stream was created with. Not while a call on the handle or its objects runs. */
LINNET_API void linnet_context_set_cancel(struct linnet_context *context, linnet_cancel_fn cancel, void *user);
LINNET_API void linnet_context_set_progress(struct linnet_context *context, linnet_progress_fn progress, void *user);

/* Destroys the handle; NULL is allowed. Destroy the objects that were created with it first. */
LINNET_API void linnet_context_destroy(struct linnet_context *context);

/* The sentence of the last call on this handle that failed; "" if none did. Valid until the next call on the handle. */
LINNET_API const char *linnet_context_error(const struct linnet_context *context);

/* Stores a sentence for linnet_context_error and returns `status`. For callbacks that must do so, such as
 * linnet_corpus.features. */
LINNET_API enum linnet_status linnet_context_fail(struct linnet_context *context, enum linnet_status status,
                                                  const char *sentence);

/* The name of the device, such as "cpu" or "cuda:0 NVIDIA H200, 139 GiB". */
LINNET_API const char *linnet_context_device(const struct linnet_context *context);

/* The number of CUDA devices, "cuda:0" and following. 0: there is none, no driver, or this build has no CUDA backend.
 */
LINNET_API size_t linnet_num_cuda_devices(void);

/* The maximum memory of the device in use so far, in bytes; 0 on the CPU. */
LINNET_API size_t linnet_context_device_peak_bytes(const struct linnet_context *context);

/* The number of threads, the name of the CPU kernels in use ("avx512", ...) and the precision of their matrix
 * products. */
LINNET_API size_t linnet_context_num_threads(const struct linnet_context *context);
LINNET_API const char *linnet_context_kernels(const struct linnet_context *context);
LINNET_API enum linnet_precision linnet_context_precision(const struct linnet_context *context);

#ifdef __cplusplus
}
#endif
#endif
