/* Probabilities of histories: counted in a text, or predicted by the model. */
#include "decoder/ngram/ngram_history.h"

#include <math.h>
#include <string.h>

/* --- of a text --------------------------------------------------------------------------------------------------- */

/* Counts the contexts that begin at words[0]; `count` words follow up to the end of the text. */
static void count_from(const struct linnet_ngram *m, const uint32_t *words, size_t count, double *histories) {
  uint32_t node = 1 + words[0];
  for (size_t i = 1; node != 0 && node < m->inner; i++) {
    histories[node]++;
    if (i == count || words[i - 1] == m->end)
      return;
    node = linnet_ngram_child(m, node, words[i]);
  }
}

void linnet_ngram_count_histories(const struct linnet_ngram *m, const uint32_t *text, size_t count, double *histories) {
  memset(histories, 0, m->inner * sizeof *histories);
  histories[0] = (double)count;
  for (size_t i = 0; i < count; i++)
    count_from(m, text + i, count - i, histories);
  for (uint32_t context = 0; context < m->inner; context++)
    histories[context] /= (double)count;
}

/* --- of the model ------------------------------------------------------------------------------------------------ */

/* Parents come before their children. */
void linnet_ngram_predict_histories(const struct linnet_ngram *m, double *histories) {
  histories[0] = 1;
  for (uint32_t context = 0; context < m->inner; context++)
    for (uint32_t node = m->first[context]; node < m->first[context + 1] && node < m->inner; node++) {
      bool begins = context == 0 && m->words[node] == m->start && m->end != LINNET_NGRAM_NO_WORD;
      histories[node] = histories[context] * exp((double)linnet_ngram_probability(m, begins ? 1 + m->end : node));
    }
}
