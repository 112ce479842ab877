/* The second pass: another recognizer, which sees the whole of a segment, recognises it again when it has ended, and
 * its result becomes the final one (Sainath et al. 2019, "Two-pass end-to-end speech recognition"). It reads the
 * features of the first pass. */
#ifndef LINNET_RECOGNIZER_SECOND_PASS_H
#define LINNET_RECOGNIZER_SECOND_PASS_H

#include <stdbool.h>
#include <stdint.h>

#include <linnet/recognizer.h>

#include "decoder/words/stream_hotwords.h"

/* Loads the recognizer of the second pass that the settings of `first` name. The model and search of `first` exist. It
 * gives words or phones, alternatives and lattices as `first` does, and has the grammar and the hotwords of `first` if
 * it has any; its own endpoints, partial results and second pass do not count, nor does its ensemble if the ensemble's
 * weight in `settings` is 0. LINNET_ERROR_UNSUPPORTED if the two models have other features or other times of rows. */
enum linnet_status linnet_second_pass_load(const struct linnet_recognizer *first,
                                           const struct linnet_recognizer_settings *settings,
                                           struct linnet_recognizer **recognizer);

/* Reads a source into memory if it is a pipe, which two passes could not both read. *data: the memory, to be freed;
 * NULL: a file. The sentence of a failure names the setting. */
enum linnet_status linnet_source_share(struct linnet_context *context, const char *setting,
                                       struct linnet_source *source, void **data);

/* Search settings whose hotwords and grammar two passes can read. */
struct linnet_shared_search {
  struct linnet_search_settings settings;
  void *hotwords, *grammar; /* NULL: a file */
};

/* To be released after a failure, too. */
enum linnet_status linnet_shared_search_open(struct linnet_context *context, const struct linnet_search_settings *given,
                                             struct linnet_shared_search *shared);
void linnet_shared_search_release(struct linnet_context *context, struct linnet_shared_search *shared);

struct linnet_second_pass; /* of a stream */

enum linnet_status linnet_second_pass_create(struct linnet_context *context, const struct linnet_recognizer *recognizer,
                                             struct linnet_second_pass **pass);
void linnet_second_pass_destroy(struct linnet_second_pass *pass); /* NULL is allowed */

/* Stores features (frames, num_mel) before normalisation. */
enum linnet_status linnet_second_pass_accept(struct linnet_second_pass *pass, const float *features, size_t frames);

/* Recognises the segment up to row `end` of the stream (UINT64_MAX: to the end of the features). */
enum linnet_status linnet_second_pass_run(struct linnet_second_pass *pass, uint64_t end);

/* Its result, with times from the start of the stream, and its search; NULL if it has not run since the segment
 * began. */
const struct linnet_result *linnet_second_pass_result(const struct linnet_second_pass *pass);

/* Ends the spans of its result, if there is one, at `seconds`. */
void linnet_second_pass_clip(struct linnet_second_pass *pass, double seconds);
const struct linnet_search_stream *linnet_second_pass_search(const struct linnet_second_pass *pass);

/* A segment begins with row `row`. The network of the first pass knows the rows from `known` on; the second pass knows
 * the same, but at most LINNET_SECOND_PASS_CONTEXT seconds before the segment. */
enum { LINNET_SECOND_PASS_CONTEXT = 10 };
void linnet_second_pass_begin(struct linnet_second_pass *pass, uint64_t row, uint64_t known);

/* A new stream. */
void linnet_second_pass_reset(struct linnet_second_pass *pass);

/* For models with CMVN "speaker" (linnet_recognizer_stream_set_speaker). */
enum linnet_status linnet_second_pass_set_speaker(struct linnet_second_pass *pass, const struct linnet_cmvn *cmvn);

/* Reads hotwords for the search of the pass; and takes them, from the next segment on or `at_once`. It then owns them.
 * NULL: those of its recognizer. */
enum linnet_status linnet_second_pass_read_hotwords(const struct linnet_second_pass *pass,
                                                    const struct linnet_source *source,
                                                    struct linnet_stream_hotwords **hotwords);
void linnet_second_pass_take_hotwords(struct linnet_second_pass *pass, struct linnet_stream_hotwords *hotwords,
                                      bool at_once);

#endif
