/* Scoring of whole files: references, hypotheses, speakers. */
#include "decoder/scoring/scorer.h"

enum linnet_status linnet_scorer_judge_extra(const struct linnet_scorer *scorer, size_t extra, size_t count,
                                             const char *first) {
  if (extra == 0)
    return LINNET_OK;
  if (!scorer->settings.allow_extra)
    return linnet_fail(scorer->context, LINNET_ERROR_FORMAT,
                       "%zu of %zu hypotheses have no reference, the first is '%.100s': is it the right reference?",
                       extra, count, first);
  linnet_log(scorer->context, LINNET_LOG_WARNING,
             "%zu hypotheses without reference are left out, the first is '%.100s'", extra, first);
  return LINNET_OK;
}

static enum linnet_status check_extra(const struct linnet_scorer *scorer, const struct linnet_transcripts *reference,
                                      const struct linnet_transcripts *hypothesis) {
  size_t extra = 0, count = linnet_transcripts_num_utterances(hypothesis);
  const char *first = NULL;
  for (size_t i = 0; i < count; i++) {
    const char *id = linnet_transcripts_id(hypothesis, i);
    if (linnet_transcripts_find(reference, id) == LINNET_NOT_FOUND && extra++ == 0)
      first = id;
  }
  return linnet_scorer_judge_extra(scorer, extra, count, first);
}

enum linnet_status linnet_scorer_find_speaker(struct linnet_scorer *scorer, const struct linnet_transcripts *speakers,
                                              const char *id, const char **speaker) {
  *speaker = NULL;
  if (!speakers)
    return LINNET_OK;
  size_t count = 0, index = linnet_transcripts_find(speakers, id);
  const char *const *tokens = NULL;
  if (index != LINNET_NOT_FOUND)
    tokens = linnet_transcripts_tokens(speakers, index, &count);
  if (count != 1)
    return linnet_fail(scorer->context, LINNET_ERROR_FORMAT,
                       "utterance '%.100s' has %s speaker: the table of speakers needs a line 'ID SPEAKER' for it", id,
                       count == 0 ? "no" : "more than one");
  *speaker = tokens[0];
  return LINNET_OK;
}

static enum linnet_status add_transcript(struct linnet_scorer *scorer, const struct linnet_transcripts *reference,
                                         size_t index, const struct linnet_transcripts *hypothesis,
                                         const struct linnet_transcripts *speakers) {
  const char *id = linnet_transcripts_id(reference, index), *speaker;
  LINNET_TRY(linnet_scorer_find_speaker(scorer, speakers, id, &speaker));
  size_t n, m = 0, other = linnet_transcripts_find(hypothesis, id);
  const char *const *said = linnet_transcripts_tokens(reference, index, &n);
  if (other == LINNET_NOT_FOUND)
    return linnet_scorer_add_missing(scorer, id, speaker, said, n);
  const char *const *heard = linnet_transcripts_tokens(hypothesis, other, &m);
  return linnet_scorer_add(scorer, id, speaker, said, n, heard, m);
}

enum linnet_status linnet_scorer_add_transcripts(struct linnet_scorer *scorer,
                                                 const struct linnet_transcripts *reference,
                                                 const struct linnet_transcripts *hypothesis,
                                                 const struct linnet_transcripts *speakers) {
  if (!scorer)
    return LINNET_ERROR_ARGUMENT;
  if (!reference || !hypothesis)
    return linnet_fail(scorer->context, LINNET_ERROR_ARGUMENT, "linnet_scorer_add_transcripts: an argument is NULL");
  LINNET_TRY(check_extra(scorer, reference, hypothesis));
  for (size_t i = 0; i < linnet_transcripts_num_utterances(reference); i++)
    LINNET_TRY(add_transcript(scorer, reference, i, hypothesis, speakers));
  return LINNET_OK;
}
