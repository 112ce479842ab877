/* linnet average: one model from several of the same shape, or a float16 copy of one. */
#include <linnet/train.h>

#include "common/tool.h"

static struct {
  char *output;
  int half;
} options;

static int run(const char **paths, size_t count) {
  struct linnet_context *context = tool_context();
  if (!context)
    return TOOL_FAILURE;
  int code = TOOL_OK;
  if (linnet_model_average(context, paths, count, options.half, tool_output_path(options.output)) != LINNET_OK)
    code = tool_fail_context(context);
  linnet_context_destroy(context);
  return code;
}

int tool_average(int argc, const char **argv) {
  const struct poptOption table[] = {
      {"output", 'o', POPT_ARG_STRING, &options.output, 0, "model file to write (required)", "FILE"},
      {"half", 0, POPT_ARG_NONE, &options.half, 0, "store weights as float16 (default: float32)", NULL},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, tool_plain_options, 0, "Common options:", NULL},
      POPT_TABLEEND};
  poptContext parsed = tool_parse(argc, argv, table, "[OPTIONS] --output FILE MODEL...", NULL, NULL);
  size_t count = 0;
  const char **paths = parsed ? tool_arguments(parsed, "MODEL", 1000, &count) : NULL;
  int code = TOOL_USAGE;
  if (paths)
    code = options.output ? run(paths, count) : tool_usage("--output FILE is missing");
  poptFreeContext(parsed);
  return code;
}
