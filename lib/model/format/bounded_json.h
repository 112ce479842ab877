/* Reads and writes JSON of untrusted files with jansson: checks size and depth before parsing, reads values key by key
 * with messages that name file and key, and writes JSON. */
#ifndef LINNET_BOUNDED_JSON_H
#define LINNET_BOUNDED_JSON_H

#include <jansson.h>

#include "base/base.h"

/* Limits of a text. jansson recurses for each level and allocates for each value, so both are counted before
 * parsing. */
struct linnet_json_limits {
  size_t bytes, depth, values;
};

/* LINNET_ERROR_MEMORY unless there is memory for a document of that size. Call it before jansson parses or builds a
 * document: if an allocation in jansson fails, it may crash, or read only the first digits of a number. `name` is for
 * the message. */
enum linnet_status linnet_json_reserve(struct linnet_context *context, const char *name, size_t values, size_t bytes);

/* Parses `bytes` bytes of UTF-8. Duplicate keys and NUL characters are errors. `name` is the source of the text, for
 * messages. The caller releases *root with json_decref; it is NULL on failure. */
enum linnet_status linnet_json_parse(struct linnet_context *context, const char *text, size_t bytes, const char *name,
                                     struct linnet_json_limits limits, json_t **root);

/* The text of `root` in memory of the context, NUL-terminated; *bytes (or NULL) is its length. `root` NULL is a value
 * that could not be built for lack of memory. Reading the doubles back gives exactly the same values. `compact` omits
 * spaces. */
enum linnet_status linnet_json_format(struct linnet_context *context, const json_t *root, bool compact, char **text,
                                      size_t *bytes);

/* A JSON integer if the value is an integer, otherwise a real. */
json_t *linnet_json_number(double value);

/* At most 60 bytes of a text from a file, for a message: control characters become '?', and "..." marks a truncated
 * text. */
struct linnet_excerpt {
  char text[64];
};
struct linnet_excerpt linnet_excerpt(const char *text);

/* An object during reading. A key that is present replaces a value; a missing key leaves it. The first failure stays in
 * `status`, and all later reads do nothing. */
struct linnet_json_object {
  struct linnet_context *context;
  const char *name; /* the file */
  const char *what; /* the part of it, such as "config" */
  const json_t *value;
  enum linnet_status status;
};

/* Checks that `value` is an object without keys other than `keys` (NULL at the end), with all of the first
 * `required`. */
struct linnet_json_object linnet_json_object(struct linnet_context *context, const char *name, const char *what,
                                             const json_t *value, const char *const *keys, size_t required);

/* Reads an integer of at least 0; one that does not fit becomes SIZE_MAX, which is above every limit. Returns false and
 * changes nothing for any other value. */
bool linnet_json_size(const json_t *value, size_t *size);

void linnet_json_read_size(struct linnet_json_object *object, const char *key, size_t *value);
void linnet_json_read_double(struct linnet_json_object *object, const char *key, double *value);
void linnet_json_read_bool(struct linnet_json_object *object, const char *key, bool *value);

/* A string that lives as long as the object. */
void linnet_json_read_string(struct linnet_json_object *object, const char *key, const char **value);

/* Names of an enum, indexed by value; NULL for values that have no name. */
struct linnet_names {
  const char *const *names;
  size_t count;
};
/* As an initialiser, of an array. */
#define LINNET_NAMES(array)                                                                                            \
  { (array), sizeof(array) / sizeof *(array) }
void linnet_json_read_name(struct linnet_json_object *object, const char *key, struct linnet_names names,
                           unsigned *value);

/* Finds the index of a JSON string among the names. The error has `key` and the known names. */
enum linnet_status linnet_json_name_index(const struct linnet_json_object *object, const char *key, const json_t *value,
                                          struct linnet_names names, unsigned *index);

/* --- a structure from a table of keys ----------------------------------------------------------------------------- */

/* The type of the member that a key sets. */
enum linnet_json_type {
  LINNET_JSON_SPECIAL,      /* no single member; the caller reads the key itself */
  LINNET_JSON_SIZE,         /* size_t */
  LINNET_JSON_SIZE_OR_AUTO, /* size_t; "auto" is SIZE_MAX */
  LINNET_JSON_DOUBLE,
  LINNET_JSON_FLOAT,
  LINNET_JSON_FLAG, /* int; true or false */
  LINNET_JSON_NAME  /* an enum; one of `names` */
};

struct linnet_json_key {
  const char *key;
  enum linnet_json_type type;
  size_t offset;             /* of the member */
  double low, high;          /* its limits; both 0: none */
  struct linnet_names names; /* of LINNET_JSON_NAME */
};

struct linnet_json_table {
  const char *what; /* of linnet_json_object */
  const struct linnet_json_key *keys;
  size_t count;
};

enum { LINNET_JSON_MAX_KEYS = 63 };

/* Checks the object as linnet_json_object does, and sets the members of *structure that have keys. The caller reads the
 * special keys from the result. Limits are not checked. */
struct linnet_json_object linnet_json_read(struct linnet_context *context, const char *name, const json_t *value,
                                           const struct linnet_json_table *table, size_t required, void *structure);

/* Checks the limits of all members, and that enums have a name. `name` is the source of the values, for messages. */
enum linnet_status linnet_json_check(struct linnet_context *context, const char *name,
                                     const struct linnet_json_table *table, const void *structure);

#endif
