/* The outputs of `linnet score`: tables for people and for programs, and files for sclite. */
#ifndef LINNET_TOOL_SCORE_REPORT_H
#define LINNET_TOOL_SCORE_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include <linnet/score.h>

/* The arguments of all writers. */
struct report {
  struct linnet_scorer *scorer;
  const char *rate; /* "PER" or "WER" */
  const char *unit; /* "phone" or "word" */
  bool by_speaker;  /* of the bootstrap: unit of sampling, number of samples, seed in decimal digits */
  long resamples;
  const char *seed;
  bool interval_known; /* and that of the comparison: there are several units */
  struct linnet_interval interval;
  const char *other; /* the file of --compare, or NULL */
  struct linnet_score other_score;
  size_t other_missing; /* utterances */
  struct linnet_comparison comparison;
};

/* Writes one table; false if it cannot be made. */
typedef bool (*report_fn)(const struct report *report, FILE *stream);

/* The summary, as text or as one JSON object. */
bool report_write_summary(const struct report *report, FILE *stream);
bool report_write_json(const struct report *report, FILE *stream);

/* Alignments, speakers, confusions. */
bool report_write_utterances(const struct report *report, FILE *stream);
bool report_write_speakers(const struct report *report, FILE *stream);
bool report_write_confusions(const struct report *report, FILE *stream);

/* References and hypotheses for NIST sclite. */
bool report_write_reference_trn(const struct report *report, FILE *stream);
bool report_write_hypothesis_trn(const struct report *report, FILE *stream);

#endif
