/* The version in the headers is that of CMake, and programs with other versions are detected. */
#include <linnet/version.h>

#include "test.h"

int main(void) {
  char text[32];
  snprintf(text, sizeof text, "%d.%d.%d", LINNET_VERSION_MAJOR, LINNET_VERSION_MINOR, LINNET_VERSION_PATCH);
  CHECK(strcmp(text, LINNET_VERSION) == 0, "version.h has %s, CMakeLists.txt %s", text, LINNET_VERSION);
  CHECK(strcmp(text, linnet_version()) == 0, "the library says %s", linnet_version());
  CHECK(linnet_version_number() == LINNET_VERSION_NUMBER, "%d", linnet_version_number());
  CHECK(linnet_version_check(LINNET_VERSION_NUMBER) == LINNET_OK, "its own headers");
  const int others[] = {LINNET_VERSION_NUMBER + 1000000, LINNET_VERSION_NUMBER + 1000, LINNET_VERSION_NUMBER - 1000000,
                        -1};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    CHECK(linnet_version_check(others[i]) == LINNET_ERROR_UNSUPPORTED, "%d", others[i]);
  if (LINNET_VERSION_MAJOR == 0)
    CHECK(linnet_version_check(LINNET_VERSION_NUMBER + 1) == LINNET_OK, "another patch");
  return test_result();
}
