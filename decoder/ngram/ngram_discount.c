/* Computes the discounts of modified Kneser-Ney smoothing from counts of counts. */
#include "decoder/ngram/ngram_discount.h"

/* With n_c n-grams of count c and Y = n1 / (n1 + 2 n2):
 *   D1 = 1 - 2 Y n2/n1,  D2 = 2 - 3 Y n3/n2,  D3+ = 3 - 4 Y n4/n3 */
bool linnet_ngram_discount(const uint32_t *counts, size_t count, struct ngram_discount *discount, int *lacking) {
  double n[5] = {0};
  for (size_t i = 0; i < count; i++)
    if (counts[i] < 5)
      n[counts[i]]++;
  *discount = (struct ngram_discount){{0}};
  for (*lacking = 1; *lacking <= 3; ++*lacking)
    if (n[*lacking] == 0)
      return false;
  *lacking = 0;
  double y = n[1] / (n[1] + 2 * n[2]);
  for (int c = 1; c <= 3; c++) {
    double amount = c - (c + 1) * y * n[c + 1] / n[c];
    if (!(amount >= 0 && amount <= c))
      return false;
    discount->amount[c] = amount;
  }
  return true;
}
