/* A recording as a picture, from top to bottom: waveform, filterbank, posteriors, words and phones. */
#ifndef LINNET_TOOL_PICTURE_H
#define LINNET_TOOL_PICTURE_H

#include <stdbool.h>
#include <stdio.h>

#include <linnet/output.h>

#include "common/collected.h"
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
  size_t num_words, num_phones;
};

/* Writes a gnuplot script that draws the picture to gnuplot's standard output. False, after printing why, without
 * memory or if there is nothing to draw. */
bool picture_write(const struct picture *picture, FILE *script);

/* --- gnuplot (gnuplot.c) ------------------------------------------------------------------------------------------ */

/* Runs gnuplot as a separate program. It reads the script from standard input and writes the picture to standard
 * output, so it never sees the name of a file. */

/* Runs a script, read from its beginning; both are files. False after printing why not. */
bool gnuplot_run(FILE *script, FILE *output);

/* Writes text as a quoted string of gnuplot, 'text', in which no character has a special meaning. Characters that are
 * not printable, and bytes that are not UTF-8, become '?'. */
void gnuplot_put_string(FILE *script, const char *text);

#endif
