/* A hash table from strings to consecutive indices; the strings lie in blocks that never move. */
#include "decoder/base/names.h"

#include <stdlib.h>
#include <string.h>

#include <linnet/lexicon.h>

/* Strings lie one after another in blocks, the newest block first in the list. */
struct linnet_names_block {
  struct linnet_names_block *next;
  size_t used, size;
  char bytes[];
};

enum { BLOCK_BYTES = 16384, FIRST_SLOTS = 64 };

/* FNV-1a. */
static uint32_t hash_text(const char *text, size_t length) {
  uint32_t hash = 2166136261u;
  for (size_t i = 0; i < length; i++)
    hash = (hash ^ (unsigned char)text[i]) * 16777619u;
  return hash;
}

static bool same(const struct linnet_name *name, uint32_t hash, const char *text, size_t length) {
  return name->hash == hash && strncmp(name->text, text, length) == 0 && name->text[length] == '\0';
}

/* The slot that holds the string, or the free one where it belongs. */
static uint32_t *find_slot(const struct linnet_names *names, uint32_t hash, const char *text, size_t length) {
  size_t mask = names->slot_count - 1, at = hash & mask;
  while (names->slots[at] != 0 && !same(&names->names[names->slots[at] - 1], hash, text, length))
    at = (at + 1) & mask;
  return &names->slots[at];
}

size_t linnet_names_find(const struct linnet_names *names, const char *text, size_t length) {
  if (names->slot_count == 0)
    return LINNET_NOT_FOUND;
  uint32_t slot = *find_slot(names, hash_text(text, length), text, length);
  return slot == 0 ? LINNET_NOT_FOUND : slot - 1;
}

/* Puts all strings into a table of twice the size, in the order of their indices. */
static bool grow_slots(struct linnet_names *names) {
  size_t slot_count = names->slot_count == 0 ? FIRST_SLOTS : names->slot_count * 2;
  uint32_t *slots = linnet_calloc(names->context, slot_count, sizeof *slots);
  if (!slots)
    return false;
  for (size_t i = 0; i < names->count; i++) {
    size_t at = names->names[i].hash & (slot_count - 1);
    while (slots[at] != 0)
      at = (at + 1) & (slot_count - 1);
    slots[at] = (uint32_t)(i + 1);
  }
  linnet_free(names->context, names->slots);
  names->slots = slots;
  names->slot_count = slot_count;
  return true;
}

/* Makes sure that the newest block has `bytes` free bytes, with a new block if necessary. */
static struct linnet_names_block *block_with(struct linnet_names *names, size_t bytes) {
  struct linnet_names_block *block = names->blocks;
  if (block && block->size - block->used >= bytes)
    return block;
  size_t size = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
  block = linnet_alloc(names->context, sizeof *block + size, 1);
  if (!block)
    return NULL;
  block->next = names->blocks;
  block->used = 0;
  block->size = size;
  names->blocks = block;
  return block;
}

static bool append(struct linnet_names *names, const char *text, size_t length, uint32_t hash) {
  if ((names->count + 1) * 2 > names->slot_count && !grow_slots(names))
    return false;
  struct linnet_name *grown =
      linnet_grow(names->context, names->names, &names->capacity, names->count + 1, sizeof *grown);
  if (!grown)
    return false;
  names->names = grown;
  struct linnet_names_block *block = block_with(names, length + 1);
  if (!block)
    return false;
  char *copy = block->bytes + block->used;
  memcpy(copy, text, length);
  copy[length] = '\0';
  block->used += length + 1;
  uint32_t *slot = find_slot(names, hash, text, length);
  names->names[names->count++] = (struct linnet_name){copy, hash};
  *slot = (uint32_t)names->count;
  return true;
}

enum linnet_status linnet_names_add(struct linnet_names *names, const char *text, size_t length, size_t *index,
                                    bool *fresh) {
  size_t found = linnet_names_find(names, text, length);
  if (fresh)
    *fresh = found == LINNET_NOT_FOUND;
  if (found == LINNET_NOT_FOUND) {
    if (names->count >= LINNET_NAMES_MAX)
      return linnet_fail(names->context, LINNET_ERROR_LIMIT, "there are more than %d different names",
                         LINNET_NAMES_MAX);
    found = names->count;
    if (!append(names, text, length, hash_text(text, length)))
      return linnet_fail(names->context, LINNET_ERROR_MEMORY, "out of memory after %zu names", names->count);
  }
  *index = found;
  return LINNET_OK;
}

/* The newest string was put at the end of its run of slots, so that freeing its slot hides no other. */
void linnet_names_pop(struct linnet_names *names) {
  const struct linnet_name *last = &names->names[names->count - 1];
  size_t length = strlen(last->text);
  *find_slot(names, last->hash, last->text, length) = 0;
  names->blocks->used -= length + 1;
  names->count--;
}

static int compare_names(const void *a, const void *b) {
  return strcmp((*(const struct linnet_name *const *)a)->text, (*(const struct linnet_name *const *)b)->text);
}

void linnet_names_sort(const struct linnet_names *names, const struct linnet_name **sorted) {
  for (size_t i = 0; i < names->count; i++)
    sorted[i] = &names->names[i];
  if (names->count > 0)
    qsort(sorted, names->count, sizeof *sorted, compare_names);
}

void linnet_names_clear(struct linnet_names *names) {
  while (names->blocks) {
    struct linnet_names_block *next = names->blocks->next;
    linnet_free(names->context, names->blocks);
    names->blocks = next;
  }
  linnet_free(names->context, names->names);
  linnet_free(names->context, names->slots);
  *names = (struct linnet_names){.context = names->context};
}
