/* Ways to say a token: words, numbers, rules. */
#include "decoder/text/text_ways.h"

#include <string.h>

#include "base/c_locale.h"
#include "decoder/base/characters.h"

enum { MAX_DEPTH = 40 };

/* --- words -------------------------------------------------------------------------------------------------------- */

void linnet_text_put(struct linnet_text_way *way, const char *words, size_t bytes) {
  size_t space = way->bytes > 0;
  if (bytes == 0)
    return;
  if (way->too_long || bytes >= sizeof way->words - way->bytes - space) {
    way->too_long = true;
    return;
  }
  if (space)
    way->words[way->bytes++] = ' ';
  memcpy(way->words + way->bytes, words, bytes);
  way->bytes += bytes;
  way->words[way->bytes] = '\0';
}

bool linnet_text_next_word(const char **words, char word[LINNET_SPOKEN_MAX_BYTES]) {
  size_t length = strcspn(*words, " ");
  memcpy(word, *words, length);
  word[length] = '\0';
  *words += length + ((*words)[length] == ' ');
  return length > 0;
}

static bool all_known(struct linnet_text_speaker *speaker, const char *words) {
  char word[LINNET_SPOKEN_MAX_BYTES];
  while (linnet_text_next_word(&words, word))
    if (!speaker->known(speaker->user, word))
      return false;
  return true;
}

void linnet_text_ways_add(struct linnet_text_speaker *speaker, struct linnet_text_ways *ways,
                          struct linnet_text_way *way) {
  if (way->bytes == 0 || way->too_long || ways->count == LINNET_SPOKEN_MAX)
    return;
  for (size_t i = 0; i < ways->count; i++)
    if (strcmp(ways->way[i].words, way->words) == 0)
      return;
  way->known = all_known(speaker, way->words);
  ways->way[ways->count++] = *way;
}

size_t linnet_text_ways_sort(struct linnet_text_ways *ways) {
  size_t known = 0;
  for (size_t i = 0; i < ways->count; i++)
    if (ways->way[i].known) {
      struct linnet_text_way way = ways->way[i];
      memmove(&ways->way[known + 1], &ways->way[known], (i - known) * sizeof way);
      ways->way[known++] = way;
    }
  return known;
}

/* --- numbers ------------------------------------------------------------------------------------------------------ */

/* The largest base up to `value`, in the set or in the sets that it is like; NULL if there is none. */
static const struct linnet_text_base *find_base(const struct linnet_text_normalizer *n, size_t set, uint64_t value) {
  const struct linnet_text_base *best = NULL;
  for (; set != LINNET_NOT_FOUND; set = n->sets[set].like)
    for (size_t i = n->sets[set].count; i-- > 0;)
      if (n->sets[set].bases[i].base <= value) {
        if (!best || n->sets[set].bases[i].base > best->base)
          best = &n->sets[set].bases[i];
        break;
      }
  return best;
}

/* `set` is the set of the number, also if the base comes from a set that it is like. */
static void say_number(struct linnet_text_speaker *speaker, size_t set, uint64_t value, struct linnet_text_way *way,
                       unsigned depth) {
  const struct linnet_text_base *base = find_base(speaker->n, set, value);
  if (!base || depth == MAX_DEPTH || speaker->steps == 0) {
    way->too_long = true;
    return;
  }
  speaker->steps--;
  const struct linnet_text_phrase *phrase = value % base->divisor == 0 ? &base->even : &base->odd;
  for (size_t i = 0; i < phrase->count && !way->too_long; i++) {
    const struct linnet_text_part *part = &phrase->parts[i];
    uint64_t rest = part->kind == LINNET_TEXT_QUOTIENT ? value / base->divisor : value % base->divisor;
    if (part->kind == LINNET_TEXT_WORD)
      linnet_text_put(way, part->word, strlen(part->word));
    else
      say_number(speaker, *part->word ? part->set : set, rest, way, depth + 1);
  }
}

void linnet_text_say_number(struct linnet_text_speaker *speaker, size_t set, uint64_t value,
                            struct linnet_text_way *way) {
  say_number(speaker, set, value, way, 0);
}

/* --- patterns ----------------------------------------------------------------------------------------------------- */

/* The text that a field of a pattern matched. */
struct capture {
  const char *text;
  size_t length;
  const struct linnet_text_entry *entry;
};

static size_t match_literal(const char *literal, const char *text) {
  size_t i = 0;
  for (; literal[i]; i++)
    if (linnet_lower(literal[i]) != linnet_lower(text[i]))
      return 0;
  return i;
}

/* The length of the groups of a comma and three digits that the text begins with. */
static size_t match_groups(const char *text) {
  size_t length = 0;
  while (text[length] == ',' && strspn(text + length + 1, "0123456789") == 3)
    length += 4;
  return length;
}

/* The value of a Roman numeral or of digits, without commas; false if there are more than 18 digits. */
static bool value_of(const struct capture *capture, uint64_t *value) {
  size_t digits = 0;
  if (!linnet_is_digit(*capture->text))
    return linnet_text_read_roman(capture->text, value) > 0;
  *value = 0;
  for (size_t i = 0; i < capture->length; i++)
    if (linnet_is_digit(capture->text[i]) && digits++ < 18)
      *value = *value * 10 + (uint64_t)(capture->text[i] - '0');
  return digits > 0 && digits <= 18;
}

static size_t match_integer(const struct linnet_text_item *item, const char *text) {
  size_t digits = strspn(text, "0123456789");
  if (digits == 0 || (*text == '0' && digits > 1))
    return 0;
  bool limited = item->high != UINT64_MAX;
  size_t length = digits + (digits <= 3 && !limited ? match_groups(text + digits) : 0);
  uint64_t value;
  bool good = value_of(&(struct capture){text, length, NULL}, &value) && value >= item->low && value <= item->high;
  return good ? length : 0;
}

static size_t match_digits(const struct linnet_text_item *item, const char *text) {
  size_t digits = strspn(text, "0123456789");
  return item->count == 0 || digits == item->count ? digits : 0;
}

static size_t match_roman(const struct linnet_text_item *item, const char *text) {
  uint64_t value;
  size_t length = linnet_text_read_roman(text, &value);
  return length > 0 && value >= item->low && value <= item->high ? length : 0;
}

static size_t match_letters(const char *text) {
  size_t length = 0, bytes;
  for (; text[length]; length += bytes)
    if (!linnet_utf8_is_letter(linnet_utf8_decode(text + length, &bytes)) && text[length] != '\'')
      break;
  return length;
}

static size_t match_name(const char *text) {
  size_t bytes;
  uint32_t code = linnet_utf8_decode(text, &bytes);
  return linnet_utf8_lower(code) != code ? match_letters(text) : 0;
}

/* The length of what an item that is no key matches at the start of the text, 0 for none. */
static size_t match_item(const struct linnet_text_item *item, const char *text) {
  switch (item->kind) {
  case LINNET_TEXT_LITERAL:
    return match_literal(item->text, text);
  case LINNET_TEXT_INTEGER:
    return match_integer(item, text);
  case LINNET_TEXT_DIGITS:
    return match_digits(item, text);
  case LINNET_TEXT_ROMAN:
    return match_roman(item, text);
  case LINNET_TEXT_NAME:
    return match_name(text);
  default:
    return match_letters(text);
  }
}

static bool match(struct linnet_text_speaker *speaker, const struct linnet_text_rule *rule, size_t item,
                  const char *text, struct capture *captures);

/* A key of a table: tries each key that fits. */
static bool match_key(struct linnet_text_speaker *speaker, const struct linnet_text_rule *rule, size_t item,
                      const char *text, struct capture *captures) {
  const struct linnet_text_table *table = &speaker->n->tables[rule->items[item].table];
  for (size_t i = 0; i < table->count && speaker->steps > 0; i++) {
    size_t length = strlen(table->entries[i].key);
    if (strncmp(table->entries[i].key, text, length) != 0)
      continue;
    speaker->steps--;
    *captures = (struct capture){text, length, &table->entries[i]};
    if (match(speaker, rule, item + 1, text + length, captures + 1))
      return true;
  }
  return false;
}

/* Whether all of `text` fits the items from `item` on. */
static bool match(struct linnet_text_speaker *speaker, const struct linnet_text_rule *rule, size_t item,
                  const char *text, struct capture *captures) {
  if (item == rule->item_count)
    return *text == '\0';
  const struct linnet_text_item *piece = &rule->items[item];
  if (piece->kind == LINNET_TEXT_KEY)
    return match_key(speaker, rule, item, text, captures);
  size_t length = match_item(piece, text);
  if (length == 0)
    return false;
  bool field = piece->kind != LINNET_TEXT_LITERAL;
  if (field)
    *captures = (struct capture){text, length, NULL};
  return match(speaker, rule, item + 1, text + length, captures + field);
}

/* --- rules -------------------------------------------------------------------------------------------------------- */

static void say_each(struct linnet_text_speaker *speaker, const struct capture *capture, size_t set,
                     struct linnet_text_way *way) {
  for (size_t i = 0; i < capture->length; i++)
    if (linnet_is_digit(capture->text[i]))
      linnet_text_say_number(speaker, set, (uint64_t)(capture->text[i] - '0'), way);
}

static void say_capture(struct linnet_text_speaker *speaker, const struct linnet_text_saying *saying,
                        const struct capture *capture, struct linnet_text_way *way) {
  uint64_t value;
  size_t length;
  const char *column;
  switch (saying->kind) {
  case LINNET_TEXT_SAY_WORD:
    linnet_text_put(way, saying->word, strlen(saying->word));
    break;
  case LINNET_TEXT_SAY_NUMBER:
    way->too_long = way->too_long || !value_of(capture, &value);
    if (!way->too_long)
      linnet_text_say_number(speaker, saying->set, value, way);
    break;
  case LINNET_TEXT_SAY_EACH:
    say_each(speaker, capture, saying->set, way);
    break;
  case LINNET_TEXT_SAY_COLUMN:
    column = linnet_text_column(capture->entry->value, saying->column, &length);
    linnet_text_put(way, column, length);
    break;
  case LINNET_TEXT_SAY_FIELD:
    linnet_text_put(way, capture->text, capture->length);
    break;
  }
}

void linnet_text_apply_rules(struct linnet_text_speaker *speaker, const char *token, enum linnet_text_place place,
                             struct linnet_text_ways *ways) {
  struct capture captures[LINNET_TEXT_MAX_FIELDS + 1];
  for (size_t r = 0; r < speaker->n->rule_count && ways->count < LINNET_SPOKEN_MAX; r++) {
    const struct linnet_text_rule *rule = &speaker->n->rules[r];
    struct linnet_text_way way = {.bytes = 0};
    if (rule->place != place || !match(speaker, rule, 0, token, captures))
      continue;
    for (size_t i = 0; i < rule->saying_count; i++)
      say_capture(speaker, &rule->sayings[i], &captures[rule->sayings[i].field], &way);
    linnet_text_ways_add(speaker, ways, &way);
  }
}
