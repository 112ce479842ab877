/* Status codes. Every fallible function returns one; results come back through out-parameters. */
#ifndef LINNET_STATUS_H
#define LINNET_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define LINNET_API __attribute__((visibility("default")))
#else
#define LINNET_API
#endif

/* The values are frozen: they never change meaning and none is reused. */
enum linnet_status {
  LINNET_OK = 0,
  LINNET_ERROR_ARGUMENT = 1,    /* a public function was called with an argument out of its documented range */
  LINNET_ERROR_MEMORY = 2,      /* the allocator returned NULL */
  LINNET_ERROR_IO = 3,          /* a file could not be opened, read, written or renamed */
  LINNET_ERROR_FORMAT = 4,      /* a file or text is malformed, cut short or contradicts itself */
  LINNET_ERROR_UNSUPPORTED = 5, /* well-formed, but this build or version cannot do it */
  LINNET_ERROR_LIMIT = 6,       /* larger than a documented hard limit */
  LINNET_ERROR_NUMERIC = 7,     /* a loss or gradient that is not finite */
  LINNET_ERROR_CANCELLED = 8,   /* a callback or the context's hook asked to stop */
  LINNET_ERROR_STATE = 9,       /* called in the wrong order */
  LINNET_AGAIN = 10,            /* not an error: feed more input, then ask again */
  LINNET_END = 11,              /* not an error: nothing more will come */
  LINNET_ERROR_DEVICE = 12      /* a device such as a GPU is not there, or failed */
};

/* A short English name of a status, such as "malformed input". Never NULL; static storage. */
LINNET_API const char *linnet_status_string(enum linnet_status status);

/* The version of the library that runs, such as "0.1.0". Static storage. */
LINNET_API const char *linnet_version(void);

#ifdef __cplusplus
}
#endif
#endif
