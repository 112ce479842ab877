/* Lattices as text: Kaldi's and Graphviz's. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "decoder/lattice/lattice.h"
#include "decoder/output/output.h"

/* The arguments of the formats. */
struct job {
  const struct linnet_lattice *lattice;
  const char *id;
  const char *const *names; /* NULL: symbols are numbers */
  struct linnet_sink sink;
};

struct linnet_lattice_format {
  const char *name;
  void (*write)(struct job *job);
};

static void put_size(struct job *job, size_t value) {
  linnet_put_integer(&job->sink, value, 1);
}

/* A number with its sign; 0 without one. Above 1e9, the limit of linnet_put_number, a whole number. */
static void put_signed(struct job *job, double value, int decimals) {
  char large[64];
  if (fabs(value) < 1e9) {
    linnet_put(&job->sink, value < -0.5 * pow(10, -decimals) ? "-" : "");
    linnet_put_number(&job->sink, fabs(value), decimals);
  } else {
    snprintf(large, sizeof large, "%.0f", value);
    linnet_put(&job->sink, large);
  }
}

/* --- Kaldi -------------------------------------------------------------------------------------------------------- */

/* "G,A,": costs of the graph and the acoustics, and no alignment. */
static void put_costs(struct job *job, double acoustic, double language) {
  put_signed(job, -language, 6);
  linnet_put(&job->sink, ",");
  put_signed(job, -acoustic, 6);
  linnet_put(&job->sink, ",\n");
}

static void put_kaldi_arc(struct job *job, const struct linnet_lattice_arc *arc) {
  put_size(job, arc->from);
  linnet_put(&job->sink, "\t");
  put_size(job, arc->to);
  linnet_put(&job->sink, "\t");
  if (job->names)
    linnet_put_field(&job->sink, job->names[arc->symbol]);
  else
    put_size(job, (size_t)arc->symbol);
  linnet_put(&job->sink, "\t");
  put_costs(job, arc->acoustic, arc->language);
}

/* The state of the first line is the start, so states come in order; a state's arcs come before its final costs. */
static void write_kaldi(struct job *job) {
  const struct linnet_lattice_graph *g = &job->lattice->graph;
  linnet_put_field(&job->sink, job->id);
  linnet_put(&job->sink, " \n");
  for (size_t s = 0; s < g->state_count; s++) {
    const struct linnet_lattice_state *state = &g->states[s];
    for (size_t i = 0; i < state->num_arcs; i++)
      put_kaldi_arc(job, &g->arcs[state->first_arc + i]);
    if (!state->is_final)
      continue;
    put_size(job, s);
    linnet_put(&job->sink, "\t");
    put_costs(job, state->acoustic, state->language);
  }
  linnet_put(&job->sink, "\n");
}

/* --- Graphviz ----------------------------------------------------------------------------------------------------- */

/* Escapes a string for dot; control characters become spaces. */
static void put_escaped(struct job *job, const char *text) {
  for (; *text; text++) {
    bool control = (unsigned char)*text < 0x20 || *text == 0x7F;
    linnet_put(&job->sink, *text == '"' || *text == '\\' ? "\\" : "");
    linnet_put_bytes(&job->sink, control ? " " : text, 1);
  }
}

/* A state with its frame and, if it is final, its score. */
static void put_dot_state(struct job *job, size_t s) {
  const struct linnet_lattice_state *state = &job->lattice->graph.states[s];
  linnet_put(&job->sink, "  ");
  put_size(job, s);
  linnet_put(&job->sink, state->is_final ? " [shape = doublecircle, label = \"" : " [label = \"");
  put_size(job, state->frame);
  if (state->is_final && (fabs(state->acoustic + state->language) >= 0.005)) {
    linnet_put(&job->sink, "\\n");
    put_signed(job, state->acoustic + state->language, 2);
  }
  linnet_put(&job->sink, "\"];\n");
}

/* An arc with its symbol, its score and its posterior. */
static void put_dot_arc(struct job *job, size_t i) {
  const struct linnet_lattice_arc *arc = &job->lattice->graph.arcs[i];
  linnet_put(&job->sink, "  ");
  put_size(job, arc->from);
  linnet_put(&job->sink, " -> ");
  put_size(job, arc->to);
  linnet_put(&job->sink, " [label = \"");
  if (job->names)
    put_escaped(job, job->names[arc->symbol]);
  else
    put_size(job, (size_t)arc->symbol);
  linnet_put(&job->sink, "\\n");
  put_signed(job, arc->acoustic + arc->language, 2);
  linnet_put(&job->sink, " (");
  linnet_put_number(&job->sink, linnet_lattice_posterior(job->lattice, i), 2);
  linnet_put(&job->sink, ")\"];\n");
}

static void write_dot(struct job *job) {
  const struct linnet_lattice_graph *g = &job->lattice->graph;
  linnet_put(&job->sink, "digraph \"");
  put_escaped(job, job->id);
  linnet_put(&job->sink, "\" {\n  rankdir = LR;\n  node [shape = circle];\n");
  for (size_t s = 0; s < g->state_count; s++)
    put_dot_state(job, s);
  for (size_t i = 0; i < g->num_arcs; i++)
    put_dot_arc(job, i);
  linnet_put(&job->sink, "}\n");
}

/* ------------------------------------------------------------------------------------------------------------------ */

static const struct linnet_lattice_format formats[] = {{"kaldi", write_kaldi}, {"dot", write_dot}};

enum { FORMATS = sizeof formats / sizeof *formats };

const struct linnet_lattice_format *linnet_lattice_format_at(size_t index) {
  return index < FORMATS ? &formats[index] : NULL;
}

const struct linnet_lattice_format *linnet_lattice_format_find(const char *name) {
  for (size_t i = 0; i < FORMATS; i++)
    if (strcmp(formats[i].name, name) == 0)
      return &formats[i];
  return NULL;
}

const char *linnet_lattice_format_name(const struct linnet_lattice_format *format) {
  return format->name;
}

enum linnet_status linnet_lattice_write(const struct linnet_lattice *lattice,
                                        const struct linnet_lattice_format *format, const char *id,
                                        const char *const *names, linnet_write_fn write, void *user) {
  if (!lattice || !format || !id || !write)
    return LINNET_ERROR_ARGUMENT;
  LINNET_TRY(linnet_lattice_check_finished(lattice, "linnet_lattice_write"));
  if (strncmp(id, "\037\213", 2) == 0)
    return linnet_fail(lattice->context, LINNET_ERROR_ARGUMENT,
                       "linnet_lattice_write: the id begins as gzip data do, so the text could not be read again");
  struct job job = {lattice, id, names, {.write = write, .user = user}};
  format->write(&job);
  return job.sink.failed ? linnet_fail(lattice->context, LINNET_ERROR_IO, "cannot write the lattice of '%.100s'", id)
                         : LINNET_OK;
}
