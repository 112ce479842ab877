/* linnet average: one model from several of the same shape, or a float16 copy of one. */
#include <linnet/train.h>

#include "common/tool.h"

static struct {
  char *output;
  int half;
} options;

static int check_options(const char **paths, size_t count) {
  (void)paths, (void)count;
  return options.output ? TOOL_OK : tool_usage("--output FILE is missing");
}

static int run(struct linnet_context *context, const char **paths, size_t count) {
  tool_catch_interrupt();
  if (linnet_model_average(context, paths, count, options.half, tool_output_path(options.output)) != LINNET_OK)
    return tool_fail_context(context);
  return tool_interrupted() ? TOOL_INTERRUPTED : TOOL_OK;
}

int tool_average(int argc, const char **argv) {
  const struct poptOption table[] = {
      {"output", 'o', TOOL_OUTPUT, &options.output, 0, "model file to write (required)", "FILE"},
      {"half", 0, POPT_ARG_NONE, &options.half, 0, "store weights as float16 (default: float32)", NULL},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, tool_plain_options, 0, "Common options:", NULL},
      POPT_TABLEEND};
  const struct tool_command command = {.options = table,
                                       .usage = "[OPTIONS] --output FILE MODEL...",
                                       .needed = "MODEL",
                                       .max_arguments = 1000,
                                       .check = check_options,
                                       .run = run};
  return tool_run(argc, argv, &command);
}
