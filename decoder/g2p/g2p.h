/* Internals of the joint-sequence model.
 *
 * A unit is one or two letters with zero, one or two phones: "ph" with F, "x" with K S, "e" with nothing. One sequence
 * of units spells a word and its pronunciation, and an n-gram model gives the probability of the sequence. Letters and
 * phones have numbers from 1; 0 means none. Units are sorted by their keys, so the units that begin with the same
 * letter are one range. Unit u is word u of the n-gram model; its name there is u in decimal digits
 * (linnet_g2p_unit_name). */
#ifndef LINNET_G2P_INTERNAL_H
#define LINNET_G2P_INTERNAL_H

#include <linnet/g2p.h>
#include <linnet/lexicon.h>
#include <linnet/source.h>

#include "decoder/base/names.h"
#include "decoder/ngram/ngram_model.h"

enum {
  G2P_UNIT_LETTERS = 2,
  G2P_UNIT_PHONES = 2,
  G2P_MAX_SYMBOLS = 65535, /* letters, and phones */
  G2P_MAX_UNITS = 65000,   /* together with </s>, <s> and <unk> they have numbers of 16 bits */
  G2P_SPECIAL_WORDS = 3,
  G2P_NAME_BYTES = 8,                      /* of a unit in the n-gram model, with its NUL */
  G2P_MAX_LETTERS = LINNET_G2P_MAX_LETTERS /* of a word */
};

struct linnet_g2p {
  struct linnet_context *context;
  struct linnet_names letters, phones; /* number - 1; a letter is a code point in UTF-8, as a capital */
  uint64_t *units;                     /* (unit_count) keys, rising */
  uint32_t unit_count;
  uint32_t *first_unit; /* (letters + 2) by the number of the first letter */
  struct linnet_ngram *ngram;
};

/* --- units ------------------------------------------------------------------------------------------------------ */

static inline uint64_t linnet_g2p_key(const uint16_t letters[2], const uint16_t phones[2]) {
  return (uint64_t)letters[0] << 48 | (uint64_t)letters[1] << 32 | (uint64_t)phones[0] << 16 | phones[1];
}

static inline unsigned linnet_g2p_unit_letter(uint64_t unit, int index) {
  return unit >> (index == 0 ? 48 : 32) & 0xFFFF;
}

static inline unsigned linnet_g2p_unit_phone(uint64_t unit, int index) {
  return unit >> (index == 0 ? 16 : 0) & 0xFFFF;
}

static inline unsigned linnet_g2p_unit_letters(uint64_t unit) {
  return linnet_g2p_unit_letter(unit, 1) != 0 ? 2 : 1;
}

/* A constant number of digits, so that names sort as numbers do, and before "</s>", "<s>" and "<unk>". */
void linnet_g2p_unit_name(uint32_t unit, char name[G2P_NAME_BYTES]);

/* --- the object ------------------------------------------------------------------------------------------------- */

/* An empty model. */
enum linnet_status linnet_g2p_create(struct linnet_context *context, struct linnet_g2p **g2p);

/* Computes first_unit from the sorted units. */
enum linnet_status linnet_g2p_index(struct linnet_g2p *g2p);

/* Takes the next letter from a word, and moves *word past it. False at the end. A letter has at most 4 bytes and a NUL.
 * A byte that is not UTF-8 counts as a letter. */
bool linnet_g2p_next_letter(const char **word, char letter[5]);

/* The plain letters, in either case, that replace a letter which the model lacks: "e" for an E with an accent, "'" for
 * a curly apostrophe. NULL if there are none. */
const char *linnet_g2p_plain_letters(const char *letter);

/* What a file begins with, with its NUL; and the failure of one that does not. */
#define LINNET_G2P_MAGIC "LinG2P\n"
enum { LINNET_G2P_MAGIC_BYTES = sizeof LINNET_G2P_MAGIC };
enum linnet_status linnet_g2p_fail_kind(struct linnet_context *context, const char *name);

/* Loads the model that a setting names. */
enum linnet_status linnet_g2p_load_source(struct linnet_context *context, const struct linnet_source *source,
                                          struct linnet_g2p **g2p);

/* Guesses pronunciations of a word as labels of `symbols`, whose names have stress digits or not. put(user, ...) gets
 * them, the most probable first; a failure of it ends the call. There are none for a word with letters that the model
 * lacks, because a guess would skip these letters, and none for a word that is too long. */
enum { LINNET_G2P_GUESSES = 3 };
typedef enum linnet_status (*linnet_guess_fn)(void *user, const int *labels, size_t count, double probability);
enum linnet_status linnet_g2p_guess(const struct linnet_g2p *g2p, struct linnet_context *context, const char *word,
                                    const struct linnet_symbols *symbols, linnet_guess_fn put, void *user);

/* The checksum of the file format: FNV-1a of 64 bits. */
uint64_t linnet_g2p_checksum(const void *data, size_t bytes);

/* --- training ----------------------------------------------------------------------------------------------------- */

/* Training of joint-sequence models: what its parts share. */

/* A word with one pronunciation: numbers in the trainer's pool, letters first. */
struct g2p_entry {
  size_t first;
  uint16_t letters, phones;
};

struct g2p_data {
  struct linnet_context *context;
  struct linnet_names letters, phones;
  struct g2p_entry *entries;
  size_t count, capacity;
  uint16_t *pool;
  size_t pool_count, pool_capacity;
};

/* Sequences of units, one for each entry; that of entry e is units[begin[e]] ... units[begin[e + 1] - 1]. It is empty
 * if the entry has more phones than its letters can produce. */
struct g2p_alignments {
  uint64_t *units; /* keys */
  size_t *begin;   /* (entries + 1) */
};

/* The best alignments, after `iterations` of expectation-maximisation. */
enum linnet_status linnet_g2p_align(const struct g2p_data *data, unsigned iterations,
                                    struct g2p_alignments *alignments);

void linnet_g2p_alignments_clear(struct linnet_context *context, struct g2p_alignments *alignments);

#endif
