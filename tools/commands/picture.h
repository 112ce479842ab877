/* A recording as a picture, from top to bottom: waveform, filterbank, posteriors, words and phones. */
#ifndef LINNET_TOOL_PICTURE_H
#define LINNET_TOOL_PICTURE_H

#include <stdbool.h>
#include <stdio.h>

#include <linnet/output.h>

#include "common/rows.h"
#include "common/tool.h"

/* --- the picture -------------------------------------------------------------------------------------------------- */

struct picture {
  const char *title;
  bool bitmap;          /* PNG instead of SVG */
  int width, height;    /* pixels */
  double start, end;    /* seconds that are shown */
  const float *samples; /* (sample_count) */
  size_t sample_count;
  double sample_rate;
  struct rows features;     /* log-mel energies */
  double feature_seconds;   /* per row */
  struct rows posteriors;   /* logarithms */
  double posterior_seconds; /* per row */
  tool_symbol_fn name;      /* of the posteriors' columns: name(user, 0) ... */
  const void *user;
  const struct linnet_span *words, *phones; /* words NULL: none */
  size_t word_count, phone_count;
};

/* Writes the program of gnuplot that draws it to its standard output. False without memory or where there is nothing to
 * draw, after printing so. */
bool picture_write(const struct picture *picture, FILE *script);

/* --- gnuplot (gnuplot.c) ------------------------------------------------------------------------------------------ */

/* Drawing by gnuplot, a program of its own: it gets a script on its standard input, and what it draws comes out of its
 * standard output, so that it never sees a file's name. */

/* Runs a script, read from its beginning; both are files. False after printing why not. */
bool gnuplot_run(FILE *script, FILE *output);

/* Writes text as a string of gnuplot that means nothing but itself: 'text'. What is no printable UTF-8 becomes '?'. */
void gnuplot_put_string(FILE *script, const char *text);

#endif
