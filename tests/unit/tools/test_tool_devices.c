/* Which GPU a process takes that shares the GPUs of a machine with others: what --device means for a rank. For the code
 * of the command, tests/CMakeLists.txt gives linnet_num_cuda_devices and linnet_context_create the names of those
 * below.
 */
#include <string.h>

#include "common/tool.h"
#include "test.h"

static size_t num_devices;
static char chosen[32];

size_t linnet_num_cuda_devices(void) {
  return num_devices;
}

enum linnet_status linnet_context_create(const struct linnet_context_settings *settings,
                                         struct linnet_context **context) {
  snprintf(chosen, sizeof chosen, "%s", settings->device ? settings->device : "none");
  *context = NULL;
  return LINNET_OK;
}

int main(void) {
  static const struct {
    const char *option; /* NULL: there is none */
    size_t index, num_devices;
    const char *device;
  } rows[] = {{NULL, 1, 4, "none"},     {"cpu", 1, 4, "cpu"},     {"cuda", 0, 4, "cuda"},   {"cuda", 1, 4, "cuda:1"},
              {"cuda", 3, 4, "cuda:3"}, {"cuda", 6, 4, "cuda:2"}, {"cuda", 3, 1, "cuda:0"}, {"cuda", 1, 0, "cuda"},
              {"auto", 0, 2, "auto"},   {"auto", 3, 2, "cuda:1"}, {"auto", 1, 0, "auto"},   {"cuda:1", 2, 4, "cuda:1"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    *(const char **)tool_device_options[0].arg = rows[i].option; /* as popt does */
    num_devices = rows[i].num_devices;
    tool_share_devices(rows[i].index);
    CHECK(!tool_context(), "a context");
    CHECK(strcmp(chosen, rows[i].device) == 0, "--device %s, process %zu, %zu GPUs: %s, expected %s",
          rows[i].option ? rows[i].option : "(none)", rows[i].index, rows[i].num_devices, chosen, rows[i].device);
  }
  return test_result();
}
