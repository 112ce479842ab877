/* Text that is made in any order, from any thread, and written in the order of the inputs. */
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
  } * pieces; /* (capacity), kept until all before it were written */
  size_t capacity, written;
};

void ordered_open(struct ordered *ordered, FILE *stream);

/* Takes the text of an item, to be freed; NULL: it has none. Once per item, from 0 on. False without memory, after
 * printing so. */
bool ordered_put(struct ordered *ordered, size_t item, char *text, size_t bytes);

/* Writes what waits for items that never came, as after an interrupt. */
void ordered_close(struct ordered *ordered);

#endif
