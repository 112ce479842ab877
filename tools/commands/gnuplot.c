/* Runs gnuplot with a script on its standard input and quotes strings for it. */
#include "picture.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/utf8.h"
#include "common/tool.h"

extern char **environ;

/* The environment with a UTF-8 locale; without one, gnuplot warns about non-ASCII text. The caller frees it. */
static char **utf8_environment(void) {
  static char locale[] = "LC_ALL=C.UTF-8";
  size_t count = 0, kept = 0;
  while (environ[count])
    count++;
  char **copy = calloc(count + 2, sizeof *copy);
  for (size_t i = 0; copy && i < count; i++)
    if (strncmp(environ[i], "LC_ALL=", 7) != 0)
      copy[kept++] = environ[i];
  if (copy)
    copy[kept] = locale;
  return copy;
}

static int spawn(FILE *script, FILE *output, pid_t *pid) {
  static char name[] = "gnuplot", defaults[] = "-d"; /* no settings of the user */
  char *const arguments[] = {name, defaults, NULL};
  posix_spawn_file_actions_t actions;
  int error = posix_spawn_file_actions_init(&actions);
  if (error != 0)
    return error;
  char **environment = utf8_environment();
  error = environment ? posix_spawn_file_actions_adddup2(&actions, fileno(script), STDIN_FILENO) : ENOMEM;
  if (error == 0)
    error = posix_spawn_file_actions_adddup2(&actions, fileno(output), STDOUT_FILENO);
  if (error == 0)
    error = posix_spawnp(pid, name, &actions, NULL, arguments, environment);
  posix_spawn_file_actions_destroy(&actions);
  free(environment);
  return error;
}

/* Waits for gnuplot to end; stops it after an interrupt of the command. */
static bool wait_for(pid_t pid, int *status) {
  static const struct timespec pause = {0, 10000000};
  pid_t ended;
  while ((ended = waitpid(pid, status, WNOHANG)) == 0 || (ended < 0 && errno == EINTR)) {
    if (tool_interrupted())
      kill(pid, SIGTERM);
    nanosleep(&pause, NULL);
  }
  return ended == pid && WIFEXITED(*status) && WEXITSTATUS(*status) == 0;
}

bool gnuplot_run(FILE *script, FILE *output) {
  pid_t pid;
  int status = 0;
  if (fflush(output) != 0 || fflush(script) != 0 || ferror(script) || lseek(fileno(script), 0, SEEK_SET) != 0) {
    tool_fail("cannot pass the picture to gnuplot: %s", strerror(errno));
    return false;
  }
  int error = spawn(script, output, &pid);
  if (error == ENOENT)
    tool_fail("gnuplot is missing: install it, on Debian and Ubuntu with 'apt-get install gnuplot-nox'");
  else if (error != 0)
    tool_fail("cannot run gnuplot: %s", strerror(error));
  if (error != 0)
    return false;
  if (wait_for(pid, &status))
    return true;
  if (!tool_interrupted())
    tool_fail("gnuplot failed; see its message above");
  return false;
}

/* Bytes of the character at `text` if it is printable UTF-8, else 0. */
static size_t printable(const char *text) {
  const unsigned char *s = (const unsigned char *)text;
  const bool control = s[0] < 0x20 || s[0] == 0x7F || (s[0] == 0xC2 && s[1] < 0xA0);
  const bool none = s[0] == 0xEF && s[1] == 0xBF && s[2] >= 0xBE; /* U+FFFE, U+FFFF are not allowed in XML */
  return control || none ? 0 : linnet_utf8_length(text);
}

/* Within single quotes gnuplot takes every character literally, except the quote, which must be doubled. */
void gnuplot_put_string(FILE *script, const char *text) {
  putc('\'', script);
  while (*text) {
    size_t length = printable(text);
    if (*text == '\'')
      fputs("''", script);
    else if (length > 0)
      fwrite(text, 1, length, script);
    else
      putc('?', script);
    text += length > 0 ? length : 1;
  }
  putc('\'', script);
}
