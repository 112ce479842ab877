/* The version of these headers, at compile time, and that of the library, at run time.
 *
 *   if (linnet_version_check(LINNET_VERSION_NUMBER) != LINNET_OK)
 *     fprintf(stderr, "made for Linnet %d, found %s\n", LINNET_VERSION_NUMBER, linnet_version());
 *
 * Threads: the functions may run in any number of threads at once.
 *
 * Stability: stable (linnet.h). */
#ifndef LINNET_VERSION_H
#define LINNET_VERSION_H

#include <linnet/status.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LINNET_VERSION_MAJOR 0
#define LINNET_VERSION_MINOR 1
#define LINNET_VERSION_PATCH 0

/* One number that grows with each version: 1.2.3 is 1002003. */
#define LINNET_VERSION_NUMBER (LINNET_VERSION_MAJOR * 1000000 + LINNET_VERSION_MINOR * 1000 + LINNET_VERSION_PATCH)

/* The version of the library at run time: as a string such as "0.1.0" (static storage), and as a number like
 * LINNET_VERSION_NUMBER. */
LINNET_API const char *linnet_version(void);
LINNET_API int linnet_version_number(void);

/* Checks whether a program that was compiled with the headers of version `number` may use this library. LINNET_OK if
 * the library has the same major version and is not older. Before 1.0 the minor version must be the same, too, and the
 * patch version has no effect. Otherwise LINNET_ERROR_UNSUPPORTED. Call it first; it needs no context. */
LINNET_API enum linnet_status linnet_version_check(int number);

#ifdef __cplusplus
}
#endif
#endif
