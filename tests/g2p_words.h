/* Joint-sequence models for tests: a lexicon, and the layout of their files. */
#ifndef LINNET_TEST_G2P_WORDS_H
#define LINNET_TEST_G2P_WORDS_H

#include <string.h>

#include <linnet/g2p.h>

#include "decoder/g2p/g2p.h"

/* --- a lexicon ---------------------------------------------------------------------------------------------------- */

/* A lexicon for tests of joint-sequence models: silent letters, two letters for a phone, two phones for a letter. */

enum { G2P_WORDS_MAX_PHONES = 16 };

static const struct g2p_word {
  const char *word, *phones;
} G2P_WORDS[] = {{"phone", "F OW N"},    {"fox", "F AA K S"},      {"fix", "F IH K S"},   {"six", "S IH K S"},
                 {"phase", "F EY Z"},    {"graph", "G R AE F"},    {"grape", "G R EY P"}, {"gap", "G AE P"},
                 {"tap", "T AE P"},      {"tape", "T EY P"},       {"cap", "K AE P"},     {"cape", "K EY P"},
                 {"pat", "P AE T"},      {"hat", "HH AE T"},       {"hate", "HH EY T"},   {"that", "DH AE T"},
                 {"bath", "B AE TH"},    {"bathe", "B EY DH"},     {"tax", "T AE K S"},   {"box", "B AA K S"},
                 {"note", "N OW T"},     {"not", "N AA T"},        {"knot", "N AA T"},    {"knit", "N IH T"},
                 {"nit", "N IH T"},      {"site", "S AY T"},       {"sit", "S IH T"},     {"it's", "IH T S"},
                 {"photo", "F OW T OW"}, {"photos", "F OW T OW Z"}};

enum { G2P_WORD_COUNT = sizeof G2P_WORDS / sizeof *G2P_WORDS };

static inline size_t g2p_split(const char *phones, char text[128], const char *list[G2P_WORDS_MAX_PHONES]) {
  size_t count = 0;
  char *rest = NULL;
  strcpy(text, phones);
  for (char *phone = strtok_r(text, " ", &rest); phone; phone = strtok_r(NULL, " ", &rest))
    list[count++] = phone;
  return count;
}

static inline enum linnet_status g2p_add_word(struct linnet_g2p_trainer *trainer, const char *word,
                                              const char *phones) {
  char text[128];
  const char *list[G2P_WORDS_MAX_PHONES];
  size_t count = g2p_split(phones, text, list);
  return linnet_g2p_trainer_add(trainer, word, list, count);
}

/* A model of these words. */
static inline enum linnet_status g2p_train_words(struct linnet_context *context, unsigned order, double prune,
                                                 struct linnet_g2p **g2p) {
  struct linnet_g2p_settings settings;
  struct linnet_g2p_trainer *trainer = NULL;
  linnet_g2p_settings_default(&settings);
  settings.order = order;
  settings.prune = prune;
  enum linnet_status status = linnet_g2p_trainer_create(context, &settings, &trainer);
  for (size_t i = 0; i < G2P_WORD_COUNT && status == LINNET_OK; i++)
    status = g2p_add_word(trainer, G2P_WORDS[i].word, G2P_WORDS[i].phones);
  if (status == LINNET_OK)
    status = linnet_g2p_trainer_finish(trainer, g2p);
  linnet_g2p_trainer_destroy(trainer);
  return status;
}

/* --- the file ----------------------------------------------------------------------------------------------------- */

/* The layout of the file of joint-sequence models, for tests and fuzz targets (decoder/g2p/g2p_file.c). */

enum { G2P_HEADER = 80, G2P_BYTES = 64, G2P_SUM = 72 };

/* Makes the size and the checksum of a file (bytes) true again after a change. */
static inline void g2p_file_seal(void *file, size_t bytes) {
  if (bytes < G2P_HEADER)
    return;
  unsigned char *at = file;
  uint64_t sum = linnet_g2p_checksum(at + G2P_HEADER, bytes - G2P_HEADER);
  for (int i = 0; i < 8; i++) {
    at[G2P_BYTES + i] = (unsigned char)((uint64_t)bytes >> 8 * i);
    at[G2P_SUM + i] = (unsigned char)(sum >> 8 * i);
  }
}

#endif
