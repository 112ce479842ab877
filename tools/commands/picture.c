/* Writes the gnuplot script of a picture: one panel each for waveform, features and posteriors, and rows of spans. */
#include "picture.h"

#include <math.h>
#include <stdlib.h>

#include "base/numbers.h"

enum {
  COLUMNS = 1600,   /* maximum, of an image and of the waveform; several frames share a column if needed */
  MAX_SYMBOLS = 45, /* rows of posteriors */
};
#define MIN_POSTERIOR 0.05 /* a symbol that never exceeds this is not shown */

/* The visible part of a matrix: rows [first, first + count); `step` rows become one column of the picture. */
struct view {
  size_t first, count, step, columns;
  double start, column_seconds; /* the middle of the first column */
};

static bool find_view(const struct picture *p, const struct rows *rows, double seconds, struct view *view) {
  double maximum =
      (double)rows->count; /* limit before converting: the value of --start may be too large for a size_t */
  size_t first = (size_t)fmin(fmax(p->start / seconds, 0), maximum),
         end = (size_t)ceil(fmin(p->end / seconds, maximum));
  if (rows->count == 0) {
    tool_fail("%s: is too short to draw: it has no frame", p->title);
    return false;
  }
  if (first >= end) {
    tool_fail("%s: the time from %.3f to %.3f s is too short to draw; the recording has %.3f s", p->title, p->start,
              p->end, (double)p->sample_count / p->sample_rate);
    return false;
  }
  *view = (struct view){.first = first, .count = end - first};
  view->step = linnet_divide_up(view->count, COLUMNS);
  view->columns = linnet_divide_up(view->count, view->step);
  view->column_seconds = (double)view->step * seconds;
  view->start = (double)first * seconds + view->column_seconds / 2;
  return true;
}

/* The maximum of one column of the matrix over the rows of one column of the picture. */
static float largest(const struct rows *rows, const struct view *view, size_t column, size_t value) {
  size_t first = view->first + column * view->step, end = view->first + view->count;
  float maximum = -INFINITY;
  for (size_t i = first; i < first + view->step && i < end; i++)
    maximum = fmaxf(maximum, rows->values[i * rows->cols + value]);
  return maximum;
}

/* --- data --------------------------------------------------------------------------------------------------------- */

/* Writes lines "SECONDS MINIMUM MAXIMUM"; the loudest sample is 1. */
static void put_waveform(const struct picture *p, FILE *script) {
  size_t first = (size_t)(p->start * p->sample_rate),
         end = (size_t)fmin(p->end * p->sample_rate, (double)p->sample_count);
  size_t step = linnet_divide_up(end - first, COLUMNS);
  float loudest = 1;
  for (size_t i = first; i < end; i++)
    loudest = fmaxf(loudest, fabsf(p->samples[i]));
  fputs("$waveform << END\n", script);
  for (size_t i = first; i < end; i += step) {
    float low = INFINITY, high = -INFINITY;
    for (size_t k = i; k < i + step && k < end; k++) {
      low = fminf(low, p->samples[k]);
      high = fmaxf(high, p->samples[k]);
    }
    fprintf(script, "%.6g %.4g %.4g\n", (double)i / p->sample_rate, (double)(low / loudest), (double)(high / loudest));
  }
  fputs("END\n", script);
}

/* Writes one line of an image. gnuplot needs at least two columns, so a single column is written twice. */
static void put_line(FILE *script, const struct rows *rows, const struct view *view, size_t value, bool probability) {
  for (size_t c = 0; c < view->columns || c < 2; c++) {
    double x = (double)largest(rows, view, c < view->columns ? c : 0, value);
    fprintf(script, " %.4g", probability ? exp(fmin(x, 0)) : fmax(x, -1e3));
  }
  putc('\n', script);
}

static void put_features(const struct picture *p, const struct view *view, FILE *script) {
  fputs("$features << END\n", script);
  for (size_t v = 0; v < p->features.cols; v++)
    put_line(script, &p->features, view, v, false);
  fputs("END\n", script);
}

/* A symbol that the picture shows. */
struct seen {
  size_t symbol, column; /* the time of its maximum */
  float maximum;
};

static int by_probability(const void *a, const void *b) {
  const struct seen *x = a, *y = b;
  if (x->maximum > y->maximum || x->maximum < y->maximum)
    return x->maximum > y->maximum ? -1 : 1;
  return x->symbol < y->symbol ? -1 : 1;
}

static int by_time(const void *a, const void *b) {
  const struct seen *x = a, *y = b;
  if (x->column != y->column)
    return x->column < y->column ? -1 : 1;
  return x->symbol < y->symbol ? -1 : 1;
}

/* Selects the most probable symbols, at least two, sorted by the time of their maximum; returns their number. */
static size_t choose_symbols(const struct picture *p, const struct view *view, struct seen *seen) {
  size_t count = 0;
  for (size_t v = 0; v < p->posteriors.cols; v++) {
    seen[v] = (struct seen){.symbol = v, .maximum = -INFINITY};
    for (size_t c = 0; c < view->columns; c++) {
      float value = largest(&p->posteriors, view, c, v);
      if (value > seen[v].maximum)
        seen[v] = (struct seen){v, c, value};
    }
  }
  qsort(seen, p->posteriors.cols, sizeof *seen, by_probability);
  while (count < p->posteriors.cols && count < MAX_SYMBOLS &&
         (count < 2 || exp((double)seen[count].maximum) >= MIN_POSTERIOR))
    count++;
  qsort(seen, count, sizeof *seen, by_time);
  return count;
}

/* --- panels ------------------------------------------------------------------------------------------------------- */

/* The position of a panel, as shares of the height, and the label of its axis. */
static void put_panel(FILE *script, double bottom, double top, const char *label) {
  fprintf(script, "unset object\nunset label\nset bmargin at screen %g\nset tmargin at screen %g\nset ylabel ", bottom,
          top);
  gnuplot_put_string(script, label);
  putc('\n', script);
}

static void put_image(FILE *script, const char *data, const struct view *view, size_t rows) {
  double half = view->columns < 2 ? 2 : 1; /* a column that was written twice is half as wide */
  fprintf(script, "set yrange [-0.5:%g]\nplot %s matrix using (%.9g+%.9g*$1):2:3 with image\n", (double)rows - 0.5,
          data, view->start - (half > 1 ? view->column_seconds / 4 : 0), view->column_seconds / half);
}

static void draw_waveform(const struct picture *p, FILE *script) {
  put_panel(script, 0.80, 0.94, "waveform");
  fputs("set title ", script);
  gnuplot_put_string(script, p->title);
  fputs("\nset yrange [-1.05:1.05]\nunset ytics\nplot $waveform using 1:2:3 with filledcurves lc rgb '#30608f'\n"
        "unset title\n",
        script);
}

static void draw_features(const struct picture *p, const struct view *view, FILE *script) {
  put_panel(script, 0.58, 0.78, "mel filter");
  fputs("set ytics auto\nset palette defined (0 '#000020', 1 '#3b1c71', 2 '#a52f72', 3 '#ee7a4f', 4 '#fdf6b0')\n"
        "set autoscale cb\n",
        script);
  put_image(script, "$features", view, p->features.cols);
}

static void draw_posteriors(const struct picture *p, const struct view *view, const struct seen *seen, size_t count,
                            FILE *script) {
  put_panel(script, 0.20, 0.56, "posterior");
  fputs("set palette defined (0 '#ffffff', 1 '#30608f')\nset cbrange [0:1]\nset ytics (", script);
  for (size_t i = 0; i < count; i++) {
    fputs(i > 0 ? ", " : "", script);
    gnuplot_put_string(script, p->name(p->user, (int)seen[i].symbol));
    fprintf(script, " %zu", i);
  }
  fputs(") font ',8'\nset ylabel offset 1\n", script);
  put_image(script, "$posteriors", view, count);
}

/* Draws boxes with texts between two heights. Texts that would overlap are alternately lower and higher. */
static void put_spans(const struct picture *p, const struct linnet_span *spans, size_t count, double low, double high,
                      bool stagger, FILE *script) {
  for (size_t i = 0; i < count; i++) {
    double start = fmax(spans[i].start, p->start), end = fmin(spans[i].end, p->end);
    if (start >= end)
      continue;
    fprintf(script, "set object rectangle from %.6g,%g to %.6g,%g fc rgb '#30608f' fs transparent solid %.3f border\n",
            start, low, end, high, 0.05 + 0.35 * (double)spans[i].confidence);
    fputs("set label ", script);
    gnuplot_put_string(script, spans[i].text);
    double position = stagger ? 0.3 + 0.4 * (double)(i % 2) : 0.5;
    fprintf(script, " at %.6g,%g center font ',9'\n", (start + end) / 2, low + position * (high - low));
  }
}

static void draw_spans(const struct picture *p, FILE *script) {
  put_panel(script, 0.07, 0.18, "phones");
  put_spans(p, p->phones, p->num_phones, 0.05, p->words ? 0.6 : 0.95, true, script);
  put_spans(p, p->words, p->words ? p->num_words : 0, 0.65, 0.95, false, script);
  fputs("set yrange [0:1]\nunset ytics\nset format x '%g'\nset xlabel 'seconds'\nplot 2\n", script);
}

/* ------------------------------------------------------------------------------------------------------------------ */

static void put_head(const struct picture *p, FILE *script) {
  fprintf(script, "set terminal %s size %d,%d noenhanced%s\n", p->bitmap ? "png" : "svg", p->width, p->height,
          p->bitmap ? " truecolor" : " background '#ffffff'");
  fprintf(script, "set encoding utf8\nset multiplot\nunset key\nunset colorbox\nset xrange [%.9g:%.9g]\n", p->start,
          p->end);
  fputs("set lmargin at screen 0.08\nset rmargin at screen 0.98\nset format x ''\nset tics out nomirror\n", script);
}

bool picture_write(const struct picture *p, FILE *script) {
  struct view features, posteriors;
  if (!find_view(p, &p->features, p->feature_seconds, &features) ||
      !find_view(p, &p->posteriors, p->posterior_seconds, &posteriors))
    return false;
  struct seen *seen = calloc(p->posteriors.cols, sizeof *seen);
  if (!seen) {
    tool_fail("out of memory for %zu symbols", p->posteriors.cols);
    return false;
  }
  size_t count = choose_symbols(p, &posteriors, seen);
  put_waveform(p, script);
  put_features(p, &features, script);
  fputs("$posteriors << END\n", script);
  for (size_t i = 0; i < count; i++)
    put_line(script, &p->posteriors, &posteriors, seen[i].symbol, true);
  fputs("END\n", script);
  put_head(p, script);
  draw_waveform(p, script);
  draw_features(p, &features, script);
  draw_posteriors(p, &posteriors, seen, count, script);
  draw_spans(p, script);
  fputs("unset multiplot\n", script);
  free(seen);
  return true;
}
