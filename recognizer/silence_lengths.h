/* The lengths of silence that recognition keeps: those of the model's features, or those of settings. */
#ifndef LINNET_SILENCE_LENGTHS_H
#define LINNET_SILENCE_LENGTHS_H

#include <linnet/features.h>

struct linnet_silence_lengths {
  double max_silence, edge_silence; /* seconds, as in struct linnet_feature_config */
};

/* Of settings: NULL means as the model. LINNET_ERROR_LIMIT, naming `name` and the member, if a length is not a number
 * from 0 to LINNET_MAX_SILENCE. */
enum linnet_status linnet_silence_lengths_check(struct linnet_context *context, const char *name,
                                                const double *max_silence, const double *edge_silence);

/* The lengths of `features`, unless the settings give others. */
struct linnet_silence_lengths linnet_silence_lengths_of(const struct linnet_feature_config *features,
                                                        const double *max_silence, const double *edge_silence);

#endif
