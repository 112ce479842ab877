/* Writing of ARPA files. */
#include <math.h>

#include "base/c_locale.h"
#include "base/file.h"
#include "decoder/ngram/ngram_model.h"

static const double LOG10_E = 0.43429448190325182765;

/* Writes a natural logarithm as one to base 10, with all digits of a float. */
static void write_value(FILE *stream, float value) {
  if (value == -INFINITY)
    fputs("-inf", stream);
  else
    fprintf(stream, "%.9g", value == 0 ? 0 : value * LOG10_E);
}

/* The nodes from the empty context down to one. */
struct path {
  uint32_t nodes[NGRAM_MAX_ORDER + 1];
};

/* Moves the path to the next node of a level. Nodes come in increasing order, so the context stays or increases. */
static void move_path(const struct linnet_ngram *m, struct path *path, unsigned level, uint32_t node) {
  path->nodes[level] = node;
  for (unsigned k = level; k-- > 0;) {
    if (path->nodes[k] < m->base[k])
      path->nodes[k] = m->base[k];
    while (linnet_ngram_children(m, path->nodes[k]).end <= path->nodes[k + 1])
      path->nodes[k]++;
  }
}

static void write_node(const struct linnet_ngram *m, const struct path *path, unsigned level, FILE *stream) {
  uint32_t node = path->nodes[level];
  write_value(stream, linnet_ngram_probability(m, node));
  for (unsigned k = 1; k <= level; k++) {
    putc(k == 1 ? '\t' : ' ', stream);
    fputs(linnet_ngram_word(m, linnet_ngram_last_word(m, path->nodes[k])), stream);
  }
  if (level < m->shape.order) {
    putc('\t', stream);
    write_value(stream, linnet_ngram_backoff(m, node));
  }
  putc('\n', stream);
}

static void write_model(const struct linnet_ngram *m, FILE *stream) {
  fputs("\\data\\\n", stream);
  for (unsigned k = 1; k <= m->shape.order; k++)
    fprintf(stream, "ngram %u=%zu\n", k, linnet_ngram_num_ngrams(m, k));
  for (unsigned k = 1; k <= m->shape.order; k++) {
    struct path path = {{0}};
    fprintf(stream, "\n\\%u-grams:\n", k);
    for (uint32_t node = m->base[k]; node < m->base[k + 1]; node++) {
      move_path(m, &path, k, node);
      write_node(m, &path, k, stream);
    }
  }
  fputs("\n\\end\\\n", stream);
}

enum linnet_status linnet_ngram_save_arpa(struct linnet_context *context, const struct linnet_ngram *m,
                                          const char *path) {
  if (!context || !m || !path)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_ngram_save_arpa: an argument is NULL");
  struct linnet_output_file output;
  struct linnet_c_locale locale;
  LINNET_TRY(linnet_output_file_open(context, path, &output));
  if (!linnet_c_locale_enter(&locale)) {
    linnet_output_file_abandon(&output);
    return linnet_fail(context, LINNET_ERROR_MEMORY, "%s: out of memory for a locale", path);
  }
  write_model(m, output.stream);
  linnet_c_locale_leave(&locale);
  return linnet_output_file_commit(&output);
}
