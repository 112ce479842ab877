/* Ways to say a token, while they are found. */
#ifndef LINNET_TEXT_WAYS_H
#define LINNET_TEXT_WAYS_H

#include "decoder/text/text_rules.h"

struct linnet_text_way {
  char words[LINNET_SPOKEN_MAX_BYTES]; /* with a space between them */
  size_t bytes;
  bool too_long, known;
};

struct linnet_text_ways {
  struct linnet_text_way way[LINNET_SPOKEN_MAX];
  size_t count;
  bool too_long; /* the parts of a token are too long together */
};

/* `steps` for one token, and the usual `longest_acronym` (texts in capitals only have another). */
enum { LINNET_TEXT_STEPS = 4096, LINNET_TEXT_ACRONYM_LETTERS = 5 };

/* The rules and the lexicon, and how much work is still allowed. */
struct linnet_text_speaker {
  const struct linnet_text_normalizer *n;
  linnet_known_word_fn known;
  void *user;
  size_t steps;           /* of numbers and divisions that remain: a limit against endless rules */
  size_t longest_acronym; /* the maximum number of letters that are said one by one */
};

/* Appends a space and words. With too many bytes the form becomes too long, and linnet_text_ways_add refuses it. */
void linnet_text_put(struct linnet_text_way *way, const char *words, size_t bytes);

/* The next word of *words, which are separated by spaces; *words then points after it. False at the end. */
bool linnet_text_next_word(const char **words, char word[LINNET_SPOKEN_MAX_BYTES]);

/* Adds a spoken form, and whether its words are known. Ignores a form that is present already, empty or too long, and
 * those above LINNET_SPOKEN_MAX. */
void linnet_text_ways_add(struct linnet_text_speaker *speaker, struct linnet_text_ways *ways,
                          struct linnet_text_way *way);

/* Moves the ways whose words are all known to the front; returns their number. */
size_t linnet_text_ways_sort(struct linnet_text_ways *ways);

/* Says a number by a set of the rules. */
void linnet_text_say_number(struct linnet_text_speaker *speaker, size_t set, uint64_t value,
                            struct linnet_text_way *way);

/* Adds the words of all rules of a place whose pattern matches the whole token; for rules that do not stand alone, two
 * tokens with a space between them. */
void linnet_text_apply_rules(struct linnet_text_speaker *speaker, const char *token, enum linnet_text_place place,
                             struct linnet_text_ways *ways);

/* Finds the spoken forms of a token; none if it is punctuation. False if it is too long. */
bool linnet_text_speak(struct linnet_text_speaker *speaker, const char *token, struct linnet_text_ways *ways);

/* Adds the spoken forms that one of two neighbours has only beside the other: the second, such as "million" after "$5",
 * or the first, such as "5" before "January". */
void linnet_text_speak_pair(struct linnet_text_speaker *speaker, const char *first, const char *second,
                            enum linnet_text_place place, struct linnet_text_ways *ways);

/* The number of tokens from tokens[0] on that are together a mark of something that is not said, such as "[music]";
 * 0 if there is none. */
size_t linnet_text_silent(const struct linnet_text_speaker *speaker, const char *const *tokens, size_t count);

#endif
