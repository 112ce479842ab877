/* Chooses and checks the lengths of silence that recognition keeps. */
#include "recognizer/silence_lengths.h"

#include "base/base.h"
#include "model/format/feature_config.h"

static enum linnet_status check_length(struct linnet_context *context, const char *name, const char *member,
                                       const double *seconds) {
  if (seconds && !(*seconds >= 0 && *seconds <= LINNET_MAX_SILENCE))
    return linnet_fail(context, LINNET_ERROR_LIMIT, "%s: \"%s\" is %g; it must be 0 to %d seconds", name, member,
                       *seconds, LINNET_MAX_SILENCE);
  return LINNET_OK;
}

enum linnet_status linnet_silence_lengths_check(struct linnet_context *context, const char *name,
                                                const double *max_silence, const double *edge_silence) {
  LINNET_TRY(check_length(context, name, "max_silence", max_silence));
  return check_length(context, name, "edge_silence", edge_silence);
}

struct linnet_silence_lengths linnet_silence_lengths_of(const struct linnet_feature_config *features,
                                                        const double *max_silence, const double *edge_silence) {
  return (struct linnet_silence_lengths){.max_silence = max_silence ? *max_silence : features->max_silence,
                                         .edge_silence = edge_silence ? *edge_silence : features->edge_silence};
}
