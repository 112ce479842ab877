/* Label priors, by which a search divides the posteriors of each frame (beam.h). */
#ifndef LINNET_ROW_PRIORS_H
#define LINNET_ROW_PRIORS_H

#include "base/base.h"

/* All zeros: none. */
struct linnet_row_priors {
  float *priors;  /* (symbols); NULL: none. The arrays below are NULL then, too */
  float *logs;    /* (symbols): scale * log prior */
  double *powers; /* (symbols): prior^scale */
  float *row;     /* (symbols): the present row after the division */
};

/* LINNET_ERROR_ARGUMENT unless each prior (symbols) is above 0, their sum is 1, and the scale is 0 to 2. `priors` NULL
 * means none: then the scale alone is checked. `name` is the prefix of the sentence. */
enum linnet_status linnet_row_priors_check(struct linnet_context *context, const char *name, const float *priors,
                                           size_t symbols, float scale);

/* Checks the priors and copies them. `priors` NULL: none. Release the structure even after a failure. */
enum linnet_status linnet_row_priors_create(struct linnet_row_priors *p, struct linnet_context *context,
                                            const char *name, const float *priors, size_t symbols, float scale);
void linnet_row_priors_destroy(struct linnet_row_priors *p, struct linnet_context *context);

size_t linnet_row_priors_memory(const struct linnet_row_priors *p, size_t symbols);

#endif
