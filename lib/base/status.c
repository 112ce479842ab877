/* The text of each status, and the version. */
#include <linnet/status.h>

const char *linnet_status_string(enum linnet_status status) {
  static const char *const names[] = {
      [LINNET_OK] = "success",
      [LINNET_ERROR_ARGUMENT] = "invalid argument",
      [LINNET_ERROR_MEMORY] = "out of memory",
      [LINNET_ERROR_IO] = "input/output error",
      [LINNET_ERROR_FORMAT] = "malformed input",
      [LINNET_ERROR_UNSUPPORTED] = "unsupported",
      [LINNET_ERROR_LIMIT] = "limit exceeded",
      [LINNET_ERROR_NUMERIC] = "value not finite",
      [LINNET_ERROR_CANCELLED] = "cancelled",
      [LINNET_ERROR_DEVICE] = "failure of a device",
      [LINNET_ERROR_STATE] = "called in the wrong order",
      [LINNET_AGAIN] = "more input needed",
      [LINNET_END] = "end of input",
  };
  unsigned index = (unsigned)status;
  return index < sizeof names / sizeof *names ? names[index] : "unknown status";
}

const char *linnet_version(void) {
  return LINNET_VERSION;
}
