/* Joint-sequence models: letters, units, the object. */
#include "decoder/g2p/g2p.h"

#include <stdio.h>
#include <string.h>

#include "decoder/base/characters.h"

/* --- letters ---------------------------------------------------------------------------------------------------- */

bool linnet_g2p_next_letter(const char **word, char letter[5]) {
  if (**word == '\0')
    return false;
  size_t bytes;
  linnet_utf8_decode(*word, &bytes);
  memcpy(letter, *word, bytes);
  letter[bytes] = '\0';
  linnet_utf8_capitals(letter);
  *word += bytes;
  return true;
}

const char *linnet_g2p_plain_letters(const char *letter) {
  size_t bytes;
  uint32_t code = linnet_utf8_decode(letter, &bytes);
  if (code == 0x2018 || code == 0x2019)
    return "'";
  return code == 0x2010 || code == 0x2011 ? "-" : linnet_utf8_plain(code);
}

/* --- the object ------------------------------------------------------------------------------------------------- */

void linnet_g2p_unit_name(uint32_t unit, char name[G2P_NAME_BYTES]) {
  snprintf(name, G2P_NAME_BYTES, "%05u", (unsigned)(unit % 100000));
}

enum linnet_status linnet_g2p_create(struct linnet_context *context, struct linnet_g2p **g2p) {
  *g2p = linnet_calloc(context, 1, sizeof **g2p);
  if (!*g2p)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a model of pronunciations");
  (*g2p)->context = (*g2p)->letters.context = (*g2p)->phones.context = context;
  return LINNET_OK;
}

enum linnet_status linnet_g2p_index(struct linnet_g2p *g2p) {
  size_t letters = g2p->letters.count;
  g2p->first_unit = linnet_alloc(g2p->context, letters + 2, sizeof *g2p->first_unit);
  if (!g2p->first_unit)
    return linnet_fail(g2p->context, LINNET_ERROR_MEMORY, "out of memory for %zu letters", letters);
  uint32_t unit = 0;
  for (size_t letter = 0; letter <= letters; letter++) {
    g2p->first_unit[letter] = unit;
    while (unit < g2p->unit_count && linnet_g2p_unit_letter(g2p->units[unit], 0) == letter)
      unit++;
  }
  g2p->first_unit[letters + 1] = unit;
  return LINNET_OK;
}

void linnet_g2p_destroy(struct linnet_g2p *g2p) {
  if (!g2p)
    return;
  linnet_ngram_destroy(g2p->ngram);
  linnet_names_clear(&g2p->letters);
  linnet_names_clear(&g2p->phones);
  linnet_free(g2p->context, g2p->units);
  linnet_free(g2p->context, g2p->first_unit);
  linnet_free(g2p->context, g2p);
}

unsigned linnet_g2p_order(const struct linnet_g2p *g2p) {
  return linnet_ngram_order(g2p->ngram);
}

size_t linnet_g2p_num_units(const struct linnet_g2p *g2p) {
  return g2p->unit_count;
}

size_t linnet_g2p_num_ngrams(const struct linnet_g2p *g2p) {
  return g2p->ngram->total - 1;
}

size_t linnet_g2p_num_phones(const struct linnet_g2p *g2p) {
  return g2p->phones.count;
}

const char *linnet_g2p_phone(const struct linnet_g2p *g2p, size_t index) {
  return index < g2p->phones.count ? linnet_names_text(&g2p->phones, index) : NULL;
}
