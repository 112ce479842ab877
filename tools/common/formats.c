/* Lists the output formats of the library. */
#include "formats.h"

#include <linnet/output.h>
#include <stdio.h>

const char *format_names(bool single) {
  static char names[256];
  const struct linnet_output_format *format;
  size_t used = 0;
  for (size_t i = 0; (format = linnet_output_format_at(i)) && used < sizeof names; i++)
    if (single || !linnet_output_format_is_single(format))
      used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used > 0 ? ", " : "",
                               linnet_output_format_name(format));
  return names;
}

const char *format_help(bool single, const char *item) {
  static char help[512];
  snprintf(help, sizeof help, "%s (default: text); json writes one line per %s, with times", format_names(single),
           item);
  return help;
}
