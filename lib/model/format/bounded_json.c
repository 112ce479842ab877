/* Checks the size and depth of JSON before it is parsed, reads values by key, and writes JSON. */
#include "model/format/bounded_json.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/c_locale.h"

/* --- messages ------------------------------------------------------------------------------------------------- */

/* The length of a prefix of at most `max_bytes` bytes that does not end within a UTF-8 character. */
static size_t prefix_length(const char *text, size_t max_bytes) {
  size_t n = strnlen(text, max_bytes + 1);
  if (n <= max_bytes)
    return n;
  n = max_bytes;
  while (n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80)
    n--;
  return n;
}

struct linnet_excerpt linnet_excerpt(const char *text) {
  struct linnet_excerpt excerpt = {""};
  size_t n = prefix_length(text, sizeof excerpt.text - 4);
  for (size_t i = 0; i < n; i++) {
    unsigned char c = (unsigned char)text[i];
    bool c1 = c == 0xC2 && (unsigned char)text[i + 1] < 0xA0; /* U+0080 to U+009F; terminals interpret them as controls,
                                                                 too */
    excerpt.text[i] = c < 0x20 || c == 0x7F || c1 ? '?' : (char)c;
    if (c1)
      excerpt.text[++i] = '?';
  }
  if (text[n] != '\0')
    memcpy(excerpt.text + n, "...", 4);
  return excerpt;
}

/* Joins names with ", " into a message; "..." stands for those that do not fit. Without room for that, none. */
static void join_names(char *text, size_t capacity, const char *const *names, size_t count) {
  static const char rest[] = ", ...";
  size_t length = 0;
  text[0] = '\0';
  if (capacity < sizeof rest)
    return;
  for (size_t i = 0; i < count; i++) {
    if (names[i] && length + strlen(names[i]) + 2 + sizeof rest > capacity) {
      memcpy(text + length, length > 0 ? rest : rest + 2, length > 0 ? sizeof rest : sizeof rest - 2);
      return;
    }
    if (names[i])
      length += (size_t)snprintf(text + length, capacity - length, "%s%s", length > 0 ? ", " : "", names[i]);
  }
}

static size_t count_keys(const char *const *keys) {
  size_t count = 0;
  while (keys[count])
    count++;
  return count;
}

/* --- memory --------------------------------------------------------------------------------------------------- */

/* Near the memory limit, a thread may have no malloc arena. Each of the first blocks then takes one or two pages. */
enum { JSON_VALUE_BYTES = 256, JSON_PAGED_VALUES = 4096, JSON_PAGES = 8192, JSON_SPARE_BYTES = 1 << 20 };

enum linnet_status linnet_json_reserve(struct linnet_context *context, const char *name, size_t values, size_t bytes) {
  size_t needed, paged = values < JSON_PAGED_VALUES ? values : JSON_PAGED_VALUES;
  if (linnet_mul_size(values, JSON_VALUE_BYTES, &needed) && linnet_add_size(needed, 4 * bytes, &needed) &&
      linnet_add_size(needed, paged * JSON_PAGES + JSON_SPARE_BYTES, &needed) && linnet_memory_available(needed))
    return LINNET_OK;
  return linnet_fail(context, LINNET_ERROR_MEMORY, "%s: out of memory for JSON of %zu values", name, values);
}

/* --- parsing -------------------------------------------------------------------------------------------------- */

/* Returns the index of the closing quote of the string that starts after `position`, or `bytes` if there is none. */
static size_t skip_string(const char *text, size_t bytes, size_t position) {
  while (position < bytes && text[position] != '"')
    position += text[position] == '\\' ? 2 : 1;
  return position < bytes ? position : bytes;
}

/* Counts without parsing: `depth` the deepest nesting, `values` an upper bound on the values. */
static void measure(const char *text, size_t bytes, size_t *depth, size_t *values) {
  size_t level = 0;
  *depth = 0;
  *values = 1;
  for (size_t i = 0; i < bytes; i++) {
    char c = text[i];
    if (c == '"') {
      i = skip_string(text, bytes, i + 1);
    } else if (c == '{' || c == '[') {
      level++;
      *values += 1; /* the first value inside; each comma adds another */
      *depth = level > *depth ? level : *depth;
    } else if ((c == '}' || c == ']') && level > 0) {
      level--;
    } else if (c == ',') {
      *values += 1;
    }
  }
}

static enum linnet_status check_limits(struct linnet_context *context, const char *text, size_t bytes, const char *name,
                                       struct linnet_json_limits limits) {
  if (bytes > limits.bytes)
    return linnet_fail(context, LINNET_ERROR_LIMIT, "%s: the JSON has %zu bytes; at most %zu are read", name, bytes,
                       limits.bytes);
  size_t depth, values;
  measure(text, bytes, &depth, &values);
  if (depth > limits.depth)
    return linnet_fail(context, LINNET_ERROR_LIMIT, "%s: the JSON is nested %zu levels deep; at most %zu are read",
                       name, depth, limits.depth);
  if (values > limits.values)
    return linnet_fail(context, LINNET_ERROR_LIMIT, "%s: the JSON has %zu values; at most %zu are read", name, values,
                       limits.values);
  return linnet_json_reserve(context, name, values, bytes);
}

enum linnet_status linnet_json_parse(struct linnet_context *context, const char *text, size_t bytes, const char *name,
                                     struct linnet_json_limits limits, json_t **root) {
  *root = NULL;
  LINNET_TRY(check_limits(context, text, bytes, name, limits));
  json_error_t error;
  struct linnet_c_locale locale;
  if (!linnet_c_locale_enter(&locale))
    return linnet_fail(context, LINNET_ERROR_MEMORY, "%s: out of memory for a locale", name);
  *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
  linnet_c_locale_leave(&locale);
  if (*root)
    return LINNET_OK;
  if (json_error_code(&error) == json_error_out_of_memory)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "%s: out of memory while parsing JSON", name);
  return linnet_fail(context, LINNET_ERROR_FORMAT, "%s: malformed JSON at byte %d: %s", name, error.position,
                     linnet_excerpt(error.text).text);
}

/* --- objects -------------------------------------------------------------------------------------------------- */

static bool is_known(const char *key, const char *const *keys) {
  for (; *keys; keys++)
    if (strcmp(key, *keys) == 0)
      return true;
  return false;
}

/* The number of insertions, deletions and substitutions between two keys, of which only the first 63 bytes count. */
static unsigned edit_distance(const char *a, const char *b) {
  unsigned row[64];
  const size_t length = strnlen(b, 63);
  for (size_t j = 0; j <= length; j++)
    row[j] = (unsigned)j;
  for (size_t i = 0; a[i] && i < 63; i++) {
    unsigned diagonal = row[0];
    row[0]++;
    for (size_t j = 0; j < length; j++) {
      const unsigned replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      const unsigned shorter = 1 + (row[j] < diagonal ? row[j] : diagonal);
      row[j + 1] = replaced < shorter ? replaced : shorter;
    }
  }
  return row[length];
}

/* The key that `key` resembles, as if it was misspelt: about one of three letters is wrong. NULL: there is none. */
static const char *nearest(const char *key, const char *const *keys, size_t count) {
  const size_t length = strnlen(key, 63);
  const char *best = NULL;
  unsigned least = length < 4 ? 2 : length < 9 ? 3 : (unsigned)length / 3 + 1;
  for (size_t i = 0; i < count; i++) {
    const unsigned distance = edit_distance(key, keys[i]);
    if (distance < least) {
      least = distance;
      best = keys[i];
    }
  }
  return best;
}

/* The list of the known keys gets what room the rest of the sentence leaves, and less than half, because callers may
 * put their own words in front. */
static enum linnet_status fail_unknown(const struct linnet_json_object *object, const char *key,
                                       const char *const *keys) {
  char start[LINNET_ERROR_BYTES], known[LINNET_ERROR_BYTES / 2];
  const size_t count = count_keys(keys);
  const char *meant = nearest(key, keys, count);
  const int bytes = snprintf(start, sizeof start, "%s: %s: unknown key \"%s\"; %s%s%s", object->name, object->what,
                             linnet_excerpt(key).text, meant ? "do you mean \"" : "known are: ", meant ? meant : "",
                             meant ? "\"? Known are: " : "");
  const size_t room = bytes >= 0 && (size_t)bytes < sizeof start ? sizeof start - (size_t)bytes : 0;
  join_names(known, room < sizeof known ? room : sizeof known, keys, count);
  return linnet_fail(object->context, LINNET_ERROR_FORMAT, "%s%s", start, known);
}

static enum linnet_status check_unknown_keys(const struct linnet_json_object *object, const char *const *keys) {
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)object->value, key, value) {
    if (!is_known(key, keys))
      return fail_unknown(object, key, keys);
  }
  return LINNET_OK;
}

static enum linnet_status check_missing_keys(const struct linnet_json_object *object, const char *const *keys,
                                             size_t required) {
  for (size_t i = 0; i < required; i++)
    if (!json_object_get(object->value, keys[i]))
      return linnet_fail(object->context, LINNET_ERROR_FORMAT, "%s: %s: key \"%s\" is missing", object->name,
                         object->what, keys[i]);
  return LINNET_OK;
}

struct linnet_json_object linnet_json_object(struct linnet_context *context, const char *name, const char *what,
                                             const json_t *value, const char *const *keys, size_t required) {
  struct linnet_json_object object = {context, name, what, value, LINNET_OK};
  if (!json_is_object(value))
    object.status = linnet_fail(context, LINNET_ERROR_FORMAT, "%s: %s is not a JSON object", name, what);
  else
    object.status = check_unknown_keys(&object, keys);
  if (object.status == LINNET_OK)
    object.status = check_missing_keys(&object, keys, required);
  return object;
}

/* The value of a key; NULL if it is missing or an earlier read failed. */
static const json_t *lookup(const struct linnet_json_object *object, const char *key) {
  return object->status == LINNET_OK ? json_object_get(object->value, key) : NULL;
}

static void fail_type(struct linnet_json_object *object, const char *key, const char *wanted) {
  object->status = linnet_fail(object->context, LINNET_ERROR_FORMAT, "%s: %s: \"%s\" is not %s", object->name,
                               object->what, key, wanted);
}

bool linnet_json_size(const json_t *value, size_t *size) {
  json_int_t number = json_integer_value(value);
  if (!json_is_integer(value) || number < 0)
    return false;
  *size = (uint64_t)number < SIZE_MAX ? (size_t)number : SIZE_MAX;
  return true;
}

void linnet_json_read_size(struct linnet_json_object *object, const char *key, size_t *value) {
  const json_t *found = lookup(object, key);
  if (found && !linnet_json_size(found, value))
    fail_type(object, key, "a whole number of 0 or more");
}

void linnet_json_read_double(struct linnet_json_object *object, const char *key, double *value) {
  const json_t *found = lookup(object, key);
  if (found && !json_is_number(found))
    fail_type(object, key, "a number");
  else if (found)
    *value = json_number_value(found);
}

void linnet_json_read_bool(struct linnet_json_object *object, const char *key, bool *value) {
  const json_t *found = lookup(object, key);
  if (found && !json_is_boolean(found))
    fail_type(object, key, "true or false");
  else if (found)
    *value = json_is_true(found);
}

void linnet_json_read_string(struct linnet_json_object *object, const char *key, const char **value) {
  const json_t *found = lookup(object, key);
  if (found && !json_is_string(found))
    fail_type(object, key, "a string");
  else if (found)
    *value = json_string_value(found);
}

enum linnet_status linnet_json_name_index(const struct linnet_json_object *object, const char *key, const json_t *value,
                                          struct linnet_names names, unsigned *index) {
  char known[256];
  join_names(known, sizeof known, names.names, names.count);
  const char *text = json_string_value(value);
  if (!text)
    return linnet_fail(object->context, LINNET_ERROR_FORMAT, "%s: %s: \"%s\" is not a string; known are: %s",
                       object->name, object->what, key, known);
  for (size_t i = 0; i < names.count; i++)
    if (names.names[i] && strcmp(text, names.names[i]) == 0) {
      *index = (unsigned)i;
      return LINNET_OK;
    }
  return linnet_fail(object->context, LINNET_ERROR_UNSUPPORTED,
                     "%s: %s: \"%s\" is \"%s\", which this version does not know; known are: %s", object->name,
                     object->what, key, linnet_excerpt(text).text, known);
}

void linnet_json_read_name(struct linnet_json_object *object, const char *key, struct linnet_names names,
                           unsigned *value) {
  const json_t *found = lookup(object, key);
  if (found)
    object->status = linnet_json_name_index(object, key, found, names, value);
}

/* --- a structure from a table of keys ----------------------------------------------------------------------------- */

/* Enums are read and written as numbers of this size. */
_Static_assert(sizeof(enum linnet_json_type) == sizeof(unsigned), "enums have the size of unsigned");

static void read_size_or_auto(struct linnet_json_object *object, const char *key, size_t *value) {
  const char *text = json_string_value(lookup(object, key));
  if (text && strcmp(text, "auto") == 0)
    *value = SIZE_MAX;
  else
    linnet_json_read_size(object, key, value);
}

static void read_float(struct linnet_json_object *object, const char *key, float *value) {
  double wide = *value;
  linnet_json_read_double(object, key, &wide);
  *value = (float)wide;
}

static void read_flag(struct linnet_json_object *object, const char *key, int *value) {
  bool flag = *value != 0;
  linnet_json_read_bool(object, key, &flag);
  *value = flag;
}

static void read_enum(struct linnet_json_object *object, const struct linnet_json_key *key, void *member) {
  unsigned value;
  memcpy(&value, member, sizeof value);
  linnet_json_read_name(object, key->key, key->names, &value);
  memcpy(member, &value, sizeof value);
}

static void read_member(struct linnet_json_object *object, const struct linnet_json_key *key, void *member) {
  switch (key->type) {
  case LINNET_JSON_SPECIAL:
    break;
  case LINNET_JSON_SIZE:
    linnet_json_read_size(object, key->key, member);
    break;
  case LINNET_JSON_SIZE_OR_AUTO:
    read_size_or_auto(object, key->key, member);
    break;
  case LINNET_JSON_DOUBLE:
    linnet_json_read_double(object, key->key, member);
    break;
  case LINNET_JSON_FLOAT:
    read_float(object, key->key, member);
    break;
  case LINNET_JSON_FLAG:
    read_flag(object, key->key, member);
    break;
  case LINNET_JSON_NAME:
    read_enum(object, key, member);
    break;
  }
}

struct linnet_json_object linnet_json_read(struct linnet_context *context, const char *name, const json_t *value,
                                           const struct linnet_json_table *table, size_t required, void *structure) {
  const char *keys[LINNET_JSON_MAX_KEYS + 1] = {NULL};
  assert(table->count <= LINNET_JSON_MAX_KEYS);
  for (size_t i = 0; i < table->count; i++)
    keys[i] = table->keys[i].key;
  struct linnet_json_object object = linnet_json_object(context, name, table->what, value, keys, required);
  for (size_t i = 0; i < table->count; i++)
    read_member(&object, &table->keys[i], (char *)structure + table->keys[i].offset);
  return object;
}

static enum linnet_status check_size(const struct linnet_json_object *object, const struct linnet_json_key *key,
                                     size_t value) {
  const size_t low = (size_t)key->low, high = (size_t)key->high;
  if (value >= low && value <= high)
    return LINNET_OK;
  return linnet_fail(object->context, LINNET_ERROR_LIMIT, "%s: %s: \"%s\" is %zu; it must be %zu to %zu", object->name,
                     object->what, key->key, value, low, high);
}

static enum linnet_status check_number(const struct linnet_json_object *object, const struct linnet_json_key *key,
                                       double value) {
  if (value >= key->low && value <= key->high)
    return LINNET_OK;
  return linnet_fail(object->context, LINNET_ERROR_LIMIT, "%s: %s: \"%s\" is %g; it must be %g to %g", object->name,
                     object->what, key->key, value, key->low, key->high);
}

/* Such a value cannot come from JSON, only from a program. */
static enum linnet_status check_enum(const struct linnet_json_object *object, const struct linnet_json_key *key,
                                     const void *member) {
  unsigned value;
  memcpy(&value, member, sizeof value);
  if (value < key->names.count && key->names.names[value])
    return LINNET_OK;
  return linnet_fail(object->context, LINNET_ERROR_ARGUMENT, "%s: %s: the value of \"%s\" is unknown", object->name,
                     object->what, key->key);
}

static enum linnet_status check_member(const struct linnet_json_object *object, const struct linnet_json_key *key,
                                       const void *member) {
  if (key->type == LINNET_JSON_NAME)
    return check_enum(object, key, member);
  if (key->low == 0 && key->high == 0)
    return LINNET_OK;
  if (key->type == LINNET_JSON_SIZE || key->type == LINNET_JSON_SIZE_OR_AUTO)
    return check_size(object, key, *(const size_t *)member);
  return check_number(object, key,
                      key->type == LINNET_JSON_FLOAT ? (double)*(const float *)member : *(const double *)member);
}

enum linnet_status linnet_json_check(struct linnet_context *context, const char *name,
                                     const struct linnet_json_table *table, const void *structure) {
  const struct linnet_json_object object = {.context = context, .name = name, .what = table->what};
  for (size_t i = 0; i < table->count; i++)
    if (table->keys[i].type != LINNET_JSON_SPECIAL)
      LINNET_TRY(check_member(&object, &table->keys[i], (const char *)structure + table->keys[i].offset));
  return LINNET_OK;
}

/* --- writing -------------------------------------------------------------------------------------------------- */

json_t *linnet_json_number(double value) {
  bool whole = value == floor(value) && fabs(value) < 0x1p53;
  return whole ? json_integer((json_int_t)value) : json_real(value);
}

struct sink {
  struct linnet_context *context;
  char *text;
  size_t length, capacity;
  bool failed; /* stored here, because jansson does not check every result of the callback */
};

static int append(const char *piece, size_t bytes, void *user) {
  struct sink *sink = user;
  if (sink->failed)
    return -1;
  char *grown = linnet_grow(sink->context, sink->text, &sink->capacity, sink->length + bytes + 1, 1);
  sink->failed = !grown;
  if (sink->failed)
    return -1;
  sink->text = grown;
  memcpy(grown + sink->length, piece, bytes);
  sink->length += bytes;
  grown[sink->length] = '\0';
  return 0;
}

/* Whether parsing the text gives the same values. */
static bool reads_back(const struct sink *sink, const json_t *root) {
  json_t *again = json_loadb(sink->text, sink->length, 0, NULL);
  bool same = again && json_equal(again, root);
  json_decref(again);
  return same;
}

/* Fills the sink; 15 digits write 0.1 as 0.1, a few doubles need 17. */
static bool dump(const json_t *root, bool compact, struct sink *sink) {
  for (size_t digits = 15; digits <= 17; digits++) {
    sink->length = 0;
    size_t flags = JSON_REAL_PRECISION(digits) | (compact ? JSON_COMPACT : 0);
    if (json_dump_callback(root, append, sink, flags) != 0 || sink->failed)
      return false;
    if (reads_back(sink, root))
      break;
  }
  return true;
}

enum linnet_status linnet_json_format(struct linnet_context *context, const json_t *root, bool compact, char **text,
                                      size_t *bytes) {
  struct sink sink = {.context = context};
  struct linnet_c_locale locale;
  *text = NULL;
  if (!root)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory while building JSON");
  bool good = linnet_c_locale_enter(&locale);
  if (good) {
    good = dump(root, compact, &sink);
    linnet_c_locale_leave(&locale);
  }
  if (!good) {
    linnet_free(context, sink.text);
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory while writing JSON");
  }
  *text = sink.text;
  if (bytes)
    *bytes = sink.length;
  return LINNET_OK;
}
