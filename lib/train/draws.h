/* What the random numbers of training are drawn for: the top byte of Philox's high counter word, so that no two uses
 * share numbers. Dropout has 0: its high word is (step << 32 | site), with steps below 2^24. */
#ifndef LINNET_DRAWS_H
#define LINNET_DRAWS_H

enum linnet_draw { LINNET_DRAW_DROPOUT = 0, LINNET_DRAW_ORDER = 1, LINNET_DRAW_INITIAL = 2 };

#endif
