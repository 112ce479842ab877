/* Appends results to FILE.partial, finds those of an interrupted run, and sorts them at the end. */
#include "journal.h"

#include <linnet/output.h>

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/destination.h"
#include "tool.h"

static bool out_of_memory(const struct journal *journal) {
  return tool_fail("%s: out of memory for its results", journal->target) == TOOL_OK;
}

static struct journal_piece *append(struct journal *journal) {
  if (journal->count == journal->capacity) {
    size_t capacity = 2 * journal->capacity + 64;
    struct journal_piece *grown = realloc(journal->pieces, capacity * sizeof *grown);
    if (!grown)
      return NULL;
    journal->pieces = grown;
    journal->capacity = capacity;
  }
  struct journal_piece *piece = &journal->pieces[journal->count++];
  *piece = (struct journal_piece){.item = SIZE_MAX};
  return piece;
}

/* --- forms and keys ----------------------------------------------------------------------------------------------- */

struct journal_form journal_form(const char *format, bool files, bool ranks) {
  bool json = strcmp(format, "json") == 0, text = strcmp(format, "text") == 0;
  struct journal_form form = {.name = format, .begin = "", .end = ' ', .files = files};
  form.ranks = text && ranks;
  form.lines = form.ranks || strcmp(format, "ctm") == 0;
  if (json)
    form.begin = files ? "{\"file\":\"" : "{\"utterance\":\"";
  if (json || (text && files))
    form.end = json ? '"' : '\t';
  return form;
}

/* Removes "-RANK" from the end of a key; 0: there is none. */
static unsigned long cut_rank(char *key) {
  char *dash = strrchr(key, '-'), *end;
  unsigned long rank = dash ? strtoul(dash + 1, &end, 10) : 0;
  if (rank == 0 || *end)
    return 0;
  *dash = '\0';
  return rank;
}

/* The end of a key; within quotes a backslash escapes the next character. NULL: the key has no end. */
static char *key_end(char *key, char end) {
  while (*key && *key != end)
    key += end == '"' && *key == '\\' && key[1] ? 2 : 1;
  return *key ? key : NULL;
}

/* The key of a line, which is changed in place; NULL: no key. *first: the line begins a result. If a result has several
 * lines, its first line is the one whose key differs from that of the line before. */
static char *find_key(const struct journal_form *form, char *line, const char *last, bool *first) {
  size_t skip = strlen(form->begin);
  char *key = line + skip, *end = strncmp(line, form->begin, skip) == 0 ? key_end(key, form->end) : NULL;
  if (!end)
    return NULL;
  *end = '\0';
  unsigned long rank = form->ranks ? cut_rank(key) : 1;
  *first = rank == 1 && (form->ranks || !form->lines || !last || strcmp(last, key) != 0);
  return rank > 0 ? key : NULL;
}

/* A result with one symbol, as linnet_output_write writes it; the caller frees it. NULL without memory. */
static char *write_example(const struct journal_form *form, const char *name) {
  const struct linnet_span span = {.text = "-"};
  const struct linnet_alternative alternative = {.phones = &span, .num_phones = 1};
  const struct linnet_output output = {.size = sizeof output,
                                       .id = name,
                                       .file = form->files ? name : NULL,
                                       .phones = &span,
                                       .num_phones = 1,
                                       .alternatives = &alternative,
                                       .num_alternatives = form->ranks};
  char *text = NULL;
  size_t bytes = 0;
  FILE *stream = open_memstream(&text, &bytes);
  bool good = stream && linnet_output_write(linnet_output_format_find(form->name), &output, tool_write_piece, stream) ==
                            LINNET_OK;
  if (stream && fclose(stream) == 0 && good)
    return text;
  free(text);
  return NULL;
}

char *journal_key(const struct journal *journal, const char *name) {
  bool first;
  char *text = write_example(&journal->form, name), *key = text ? find_key(&journal->form, text, NULL, &first) : NULL;
  if (key)
    memmove(text, key, strlen(key) + 1);
  else
    out_of_memory(journal);
  return text;
}

/* --- an earlier run ----------------------------------------------------------------------------------------------- */

/* Registers a line of `bytes` bytes. */
static bool note_line(struct journal *journal, char *line, size_t bytes) {
  bool first;
  size_t count = journal->count;
  char *key = find_key(&journal->form, line, count > 0 ? journal->pieces[count - 1].key : NULL, &first);
  if (!key || (!first && count == 0))
    return tool_fail("%s: --resume: this line is not a result of --format %s: %.60s",
                     journal->there ? journal->path : journal->target, journal->form.name, line) == TOOL_OK;
  struct journal_piece *piece = first ? append(journal) : &journal->pieces[count - 1];
  if (!piece || (first && !(piece->key = strdup(key))))
    return out_of_memory(journal);
  if (first)
    piece->offset = journal->end;
  piece->bytes += bytes;
  journal->end += (long)bytes;
  return true;
}

/* Drops the last line, or the last result, if a killed run left it incomplete. */
static bool drop_incomplete(struct journal *journal, bool complete) {
  if (!complete && journal->form.lines && journal->count > 0) {
    struct journal_piece *last = &journal->pieces[--journal->count];
    journal->end = last->offset;
    free(last->key);
  }
  return (fflush(journal->stream) == 0 && ftruncate(fileno(journal->stream), journal->end) == 0 &&
          fseek(journal->stream, journal->end, SEEK_SET) == 0) ||
         tool_fail("%s: %s", journal->path, strerror(errno)) == TOOL_OK;
}

static int by_key(const void *a, const void *b) {
  const struct journal_piece *x = a, *y = b;
  int order = strcmp(x->key, y->key);
  return order != 0 ? order : (x->offset > y->offset) - (x->offset < y->offset);
}

static bool read_pieces(struct journal *journal, bool complete) {
  char *line = NULL;
  size_t capacity = 0;
  ssize_t bytes;
  bool good = true;
  while (good && (bytes = getline(&line, &capacity, journal->stream)) > 0 && line[bytes - 1] == '\n')
    good = note_line(journal, line, (size_t)bytes);
  free(line);
  if (!good || !drop_incomplete(journal, complete))
    return false;
  journal->old = journal->count;
  if (journal->old > 0)
    qsort(journal->pieces, journal->old, sizeof *journal->pieces, by_key);
  return true;
}

/* Copies the target of a completed run, if there is one. */
static bool copy_target(struct journal *journal) {
  char block[1 << 16];
  FILE *from = fopen(journal->target, "rb");
  if (!from)
    return errno == ENOENT || tool_fail("%s: %s", journal->target, strerror(errno)) == TOOL_OK;
  for (size_t got; (got = fread(block, 1, sizeof block, from)) > 0;)
    fwrite(block, 1, got, journal->stream);
  bool good = !ferror(from) && !ferror(journal->stream);
  fclose(from);
  rewind(journal->stream);
  return good || tool_fail("%s: cannot be copied: %s", journal->target, strerror(errno)) == TOOL_OK;
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

static bool open_partial(struct journal *journal, bool resume) {
  size_t size = strlen(journal->target) + sizeof ".partial";
  journal->path = malloc(size);
  if (!journal->path)
    return out_of_memory(journal);
  snprintf(journal->path, size, "%s.partial", journal->target);
  journal->there = access(journal->path, F_OK) == 0;
  int descriptor = open(journal->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0)
    return tool_fail("%s: cannot write: %s", journal->path, strerror(errno)) == TOOL_OK;
  bool locked = flock(descriptor, LOCK_EX | LOCK_NB) == 0;
  if (locked && (resume || ftruncate(descriptor, 0) == 0) && (journal->stream = fdopen(descriptor, "r+b")))
    return true;
  tool_fail("%s: %s", journal->path, locked ? strerror(errno) : "another linnet writes to this file");
  close(descriptor);
  return false;
}

static void release(struct journal *journal) {
  if (journal->stream)
    fclose(journal->stream);
  for (size_t i = 0; i < journal->count; i++)
    free(journal->pieces[i].key);
  free(journal->pieces);
  free(journal->path);
  pthread_mutex_destroy(&journal->mutex);
  *journal = (struct journal){.path = NULL};
}

bool journal_possible(const char *target) {
  struct stat status;
  return *target && strcmp(target, "-") != 0 && (lstat(target, &status) != 0 || S_ISREG(status.st_mode));
}

bool journal_open(struct journal *journal, const char *target, const struct journal_form *form, bool resume) {
  *journal = (struct journal){.target = target, .form = *form};
  pthread_mutex_init(&journal->mutex, NULL);
  bool opened = open_partial(journal, resume), good = opened;
  if (good && resume)
    good = (journal->there || copy_target(journal)) && read_pieces(journal, !journal->there);
  if (good)
    return true;
  if (opened && !journal->there)
    remove(journal->path);
  release(journal);
  return false;
}

/* --- results ------------------------------------------------------------------------------------------------------ */

/* The first result of the earlier run whose key is not less than this key. */
static size_t first_with(const struct journal *journal, const char *key) {
  size_t low = 0, high = journal->old;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (strcmp(journal->pieces[middle].key, key) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

bool journal_claim(struct journal *journal, const char *key, size_t item) {
  bool found = false;
  pthread_mutex_lock(&journal->mutex);
  for (size_t i = first_with(journal, key); !found && i < journal->old && strcmp(journal->pieces[i].key, key) == 0; i++)
    if ((found = journal->pieces[i].item == SIZE_MAX))
      journal->pieces[i].item = item;
  pthread_mutex_unlock(&journal->mutex);
  return found;
}

bool journal_is_claimed(const struct journal *journal) {
  for (size_t i = 0; i < journal->old; i++)
    if (journal->pieces[i].item == SIZE_MAX)
      return tool_fail("%s: --resume: the result of '%s' is not of an input: name all inputs of the "
                       "earlier run, or another --output",
                       journal->path, journal->pieces[i].key) == TOOL_OK;
  return true;
}

/* Not by the stream, which would keep what a full disk has refused, and write it later. */
static bool write_at(int descriptor, const char *text, size_t bytes, long offset) {
  for (size_t done = 0; done < bytes;) {
    ssize_t n = pwrite(descriptor, text + done, bytes - done, offset + (long)done);
    if (n < 0 && errno != EINTR)
      return false;
    done += n > 0 ? (size_t)n : 0;
  }
  return true;
}

bool journal_put(struct journal *journal, size_t item, const char *text, size_t bytes) {
  pthread_mutex_lock(&journal->mutex);
  struct journal_piece *piece = append(journal);
  const int descriptor = fileno(journal->stream);
  bool good = piece && write_at(descriptor, text, bytes, journal->end);
  int error = errno;
  if (good) {
    *piece = (struct journal_piece){.item = item, .offset = journal->end, .bytes = bytes};
    journal->end += (long)bytes;
  } else if (piece) {
    journal->count--;
    if (ftruncate(descriptor, journal->end) != 0)
      tool_warn("%s: ends in an incomplete result: %s", journal->path, strerror(errno));
  }
  pthread_mutex_unlock(&journal->mutex);
  return good || tool_fail("%s: cannot write: %s", journal->path, piece ? strerror(error) : "out of memory") == TOOL_OK;
}

/* --- the end ------------------------------------------------------------------------------------------------------ */

static int by_item(const void *a, const void *b) {
  const struct journal_piece *x = a, *y = b;
  return (x->item > y->item) - (x->item < y->item);
}

static bool copy_piece(struct journal *journal, const struct journal_piece *piece, FILE *to) {
  char block[1 << 14];
  bool good = true;
  for (size_t done = 0, n; good && done < piece->bytes; done += n) {
    const size_t left = piece->bytes - done;
    n = left < sizeof block ? left : sizeof block;
    good = pread(fileno(journal->stream), block, n, piece->offset + (long)done) == (ssize_t)n &&
           fwrite(block, 1, n, to) == n;
  }
  return good;
}

/* Whether the file has the sorted pieces one after the other. */
static bool is_ordered(const struct journal *journal) {
  long end = 0;
  size_t i = 0;
  for (; i < journal->count && journal->pieces[i].offset == end; i++)
    end += (long)journal->pieces[i].bytes;
  return i == journal->count && end == journal->end;
}

static bool rename_partial(struct journal *journal) {
  int error = linnet_destination_flush(journal->stream, true);
  if (error == 0 && rename(journal->path, journal->target) != 0)
    error = errno;
  return error == 0 || tool_fail("%s: cannot write: %s", journal->target, strerror(error)) == TOOL_OK;
}

/* Needs space for a second copy. */
static bool copy_ordered(struct journal *journal) {
  struct tool_output output;
  if (!tool_output_open(&output, journal->target))
    return false;
  bool good = true;
  for (size_t i = 0; good && i < journal->count; i++)
    good = copy_piece(journal, &journal->pieces[i], output.stream);
  if (good && tool_output_commit(&output)) {
    remove(journal->path);
    return true;
  }
  if (!good)
    tool_fail("%s: cannot write: %s", journal->target, strerror(errno));
  tool_output_abandon(&output);
  return false;
}

bool journal_commit(struct journal *journal) {
  if (journal->count > 0)
    qsort(journal->pieces, journal->count, sizeof *journal->pieces, by_item);
  bool good = is_ordered(journal) ? rename_partial(journal) : copy_ordered(journal);
  if (!good)
    tool_fail("%s: holds the results, in the order in which they were finished: make space, then run the command with "
              "--resume and without --lattice, to put them in order",
              journal->path);
  release(journal);
  return good;
}

size_t journal_keep(struct journal *journal) {
  size_t count = journal->count;
  if (count == 0 || (!journal->there && count == journal->old))
    remove(journal->path);
  release(journal);
  return count;
}
