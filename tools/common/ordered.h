/* Texts arrive in any order, from any thread, and are written in the order of the inputs. */
#ifndef LINNET_TOOL_ORDERED_H
#define LINNET_TOOL_ORDERED_H

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

struct ordered {
  FILE *stream;          /* NULL: nothing is written */
  pthread_mutex_t mutex; /* protects what follows */
  struct ordered_piece {
    char *text;
    size_t bytes;
    bool done;
  } * pieces; /* (capacity), held until all texts before it are written */
  size_t capacity, written;
};

void ordered_open(struct ordered *ordered, FILE *stream);

/* Takes the text of an item and frees it later; NULL: the item has none. Once per item; items begin at 0. False without
 * memory, after printing so. */
bool ordered_put(struct ordered *ordered, size_t item, char *text, size_t bytes);

/* Writes texts that wait for items which will not come, as after an interrupt. */
void ordered_close(struct ordered *ordered);

#endif
