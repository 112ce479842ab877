/* Locales for tests of functions that must not depend on the locale. */
#ifndef LINNET_TEST_LOCALES_H
#define LINNET_TEST_LOCALES_H

#include <locale.h>
#include <unistd.h>

#include "test.h"

/* Where decimal points are commas; where letters i have another case; where the decimal point has two bytes. */
static const char *const test_locales[] = {"de_DE.UTF-8", "tr_TR.UTF-8", "fa_IR.UTF-8"};
enum { TEST_LOCALES = sizeof test_locales / sizeof *test_locales };

/* Sets a locale. Makes one that is not installed with localedef, if its sources are installed (Debian: locales).
 * Returns false, with a notice, if there is none. */
static inline bool test_set_locale(const char *name) {
  static const char folder[] = TEST_BINARY_DIR "/locales";
  char path[sizeof folder + 32], command[sizeof folder + 256];
  unsetenv("LOCPATH");
  if (setlocale(LC_ALL, name))
    return true;
  snprintf(path, sizeof path, "%s/%.30s", folder, name);
  int language = (int)strcspn(name, "."); /* made under another name, so that programs may run side by side */
  snprintf(command, sizeof command,
           "mkdir -p '%s' && cd '%s' && n=%.30s && localedef -i %.*s -f %.16s ./$n.$$ > /dev/null 2>&1; "
           "mv -T $n.$$ $n || rm -rf $n.$$",
           folder, folder, name, language, name, name + language + 1);
  if (access(path, F_OK) != 0 && system(command) != 0)
    printf("%s was not made\n", path);
  setenv("LOCPATH", folder, 1); /* not before it is there: the C library would remember that it was not */
  if (setlocale(LC_ALL, name))
    return true;
  printf("no locale %s, and no localedef that makes it: not checked\n", name);
  return false;
}

#endif
