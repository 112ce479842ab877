/* Prepares one row of log-posteriors: subtracts the largest value and chooses the symbols to try. */
#include "decoder/ctc/beam_row.h"

#include "decoder/base/exp_array.h"

struct linnet_row linnet_row_read(const float *values, size_t symbols) {
  struct linnet_row row = {.values = values, .largest = -INFINITY};
  for (size_t v = 0; v < symbols && values; v++)
    row.largest = linnet_row_sane(values[v]) > row.largest ? values[v] : row.largest;
  if (row.largest == -INFINITY) {
    row.values = NULL;
    row.largest = 0;
  }
  double blank = row.values ? (double)linnet_row_sane(values[0]) - (double)row.largest : 0.0;
  linnet_exp_array(&blank, &row.blank, 1);
  row.posterior_scale = exp(fmin(row.largest, 700));
  return row;
}

void linnet_row_choice_lay_out(struct linnet_row_choice *choice, struct linnet_arena *arena) {
  choice->chosen = linnet_arena_take(arena, choice->symbols, sizeof *choice->chosen);
  choice->exponents = linnet_arena_take(arena, choice->symbols, sizeof *choice->exponents);
  choice->probability = linnet_arena_take(arena, choice->symbols, sizeof *choice->probability);
}

static float lowest_value(const struct linnet_row *row, const struct linnet_row_choice *choice, double least) {
  float lowest = least > 0 ? row->largest + (float)log(least) : -INFINITY;
  float pruned = row->largest - choice->threshold, slack = 1e-3f + 1e-6f * fabsf(row->largest);
  return lowest - slack > pruned ? lowest - slack : pruned;
}

void linnet_row_choose(const struct linnet_row *row, struct linnet_row_choice *choice, double least) {
  size_t count = 0;
  float lowest = row->values ? lowest_value(row, choice, least) : 0;
  for (uint32_t symbol = 1; symbol < choice->symbols && row->values; symbol++) {
    float value = row->values[symbol];
    if (value >= lowest && value < INFINITY && value > -INFINITY)
      choice->chosen[count++] = (struct linnet_candidate){(double)value, symbol, 0};
  }
  count = choice->count = linnet_candidates_rank(choice->chosen, count, choice->top);
  for (size_t i = 0; i < count; i++)
    choice->exponents[i] = choice->chosen[i].score - (double)row->largest;
  linnet_exp_array(choice->exponents, choice->exponents, count);
  for (size_t i = 0; i < count; i++)
    choice->probability[choice->chosen[i].symbol] = choice->exponents[i];
}
