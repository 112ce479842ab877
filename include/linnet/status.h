/* Status codes. Every function that can fail returns one, and returns its results through pointers.
 *
 * Stability: stable (linnet.h). */
#ifndef LINNET_STATUS_H
#define LINNET_STATUS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Marks the functions that programs may call. On Windows a program imports them from the shared library. It must define
 * LINNET_STATIC if it links the static library. LINNET_BUILD is only for building Linnet itself. */
#if defined(_WIN32) || defined(__CYGWIN__)
#if defined(LINNET_STATIC)
#define LINNET_API
#elif defined(LINNET_BUILD)
#define LINNET_API __declspec(dllexport)
#else
#define LINNET_API __declspec(dllimport)
#endif
#elif defined(__GNUC__)
#define LINNET_API __attribute__((visibility("default")))
#else
#define LINNET_API
#endif

/* Compilers of C++17 and C23 warn of a status that a program ignores. */
#if (defined(__cplusplus) && __cplusplus >= 201703L) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 202311L)
#define LINNET_NODISCARD [[nodiscard]]
#else
#define LINNET_NODISCARD
#endif

/* No index: functions named ..._find return it if there is no such entry. Functions that return a pointer return NULL
 * instead. */
#define LINNET_NOT_FOUND ((size_t)-1)

/* The values are frozen: their meaning never changes, and no value is reused. */
enum LINNET_NODISCARD linnet_status {
  LINNET_OK = 0,
  LINNET_ERROR_ARGUMENT = 1,    /* an argument is out of its documented range */
  LINNET_ERROR_MEMORY = 2,      /* the allocator returned NULL */
  LINNET_ERROR_IO = 3,          /* a file could not be opened, read, written or renamed */
  LINNET_ERROR_FORMAT = 4,      /* a file or text is malformed, truncated or inconsistent */
  LINNET_ERROR_UNSUPPORTED = 5, /* well-formed, but this build or version cannot do it */
  LINNET_ERROR_LIMIT = 6,       /* larger than a documented hard limit */
  LINNET_ERROR_NUMERIC = 7,     /* a loss or gradient that is not finite */
  LINNET_ERROR_CANCELLED = 8,   /* a callback or the context's hook cancelled the call */
  LINNET_ERROR_STATE = 9,       /* called in the wrong order */
  LINNET_AGAIN = 10,            /* not an error: the call needs more input first */
  LINNET_END = 11,              /* not an error: there are no more results */
  LINNET_ERROR_DEVICE = 12      /* a device such as a GPU is missing or failed */
};

/* A short English name of a status, such as "malformed input". Never NULL; static storage. */
LINNET_API const char *linnet_status_string(enum linnet_status status);

#ifdef __cplusplus
}
#endif
#endif
