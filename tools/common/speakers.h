/* The CMVN statistics of the speakers of a data folder that has no cmvn.scp. */
#ifndef LINNET_TOOL_SPEAKERS_H
#define LINNET_TOOL_SPEAKERS_H

#include <linnet/kaldi.h>
#include <linnet/linnet.h>

struct speakers;

/* `folder` must outlive the result; the others are copied. NULL: no memory. */
struct speakers *speakers_open(const struct linnet_data_folder *folder, const struct linnet_feature_config *config,
                               const struct linnet_audio_settings *audio);
void speakers_close(struct speakers *speakers);

/* The statistics over all utterances of a speaker, computed at the first call; audio comes before stored features. They
 * are valid until speakers_close. Utterances that cannot be read do not count: their recognition reports them. *cmvn is
 * NULL if no statistics are needed or possible: the speaker has one utterance, or none can be read.
 *
 * Any thread may call this, with its own context. */
enum linnet_status speakers_find(struct speakers *speakers, struct linnet_context *context, size_t speaker,
                                 const struct linnet_cmvn **cmvn);

#endif
