/* Writes recognised or aligned phones and words in formats that other programs read.
 *
 *   const struct linnet_output_format *format = linnet_output_format_find("textgrid");
 *   struct linnet_output output = {.size = sizeof output, .id = "u1", .seconds = 2.5, .words = words, .num_words = n};
 *   linnet_output_begin(format, write, user);
 *   linnet_output_write(format, &output, write, user);      // once per recording; see `single`
 *
 * Numbers have a decimal point in every locale.
 *
 * Threads: no shared state; the functions may run in any number of threads at once.
 *
 * Stability: experimental (linnet.h). */
#ifndef LINNET_OUTPUT_H
#define LINNET_OUTPUT_H

#include <linnet/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A phone or a word. Spans are in order and do not overlap. Those that Linnet makes reach beyond the frames in which
 * CTC has the symbol (`linnet_segment`, `linnet_aligned_phone`): into the blanks on both sides, by at most 60 ms and to
 * the middle between two phones (docs/alignment.md). */
struct linnet_span {
  const char *text;  /* UTF-8 */
  double start, end; /* seconds */
  float confidence;  /* 0 to 1 */
  int has_gop;       /* 1: JSON contains `gop`, the goodness of pronunciation (align.h) */
  float gop;
  int doubtful;        /* in JSON: this aligned word, or phone of a text of phones, was perhaps not spoken (align.h) */
  const char *spoken;  /* in JSON: the spoken words of a written word (pronounced_text.h); NULL: the same */
  int guessed;         /* in JSON: the pronunciation was guessed */
  int interpolated;    /* in JSON: the times are interpolated between the neighbours, nothing was recognised */
  const char *written; /* instead of `text`, except in CTM and STM: the word with the punctuation that stands alone
                          beside it, after spaces (pronounced_text.h); NULL: the same as `text` */
};

/* Audio that is not part of the aligned text, or text that is not in the audio (align.h). */
struct linnet_output_jump {
  const char *kind;         /* "inserted", "skipped", "repeated" */
  double start, end;        /* seconds */
  size_t word, num_words;   /* the skipped or repeated words of the text, from 0 */
  const char *const *words; /* (count) */
};

/* One of several hypotheses of a recording, with its scores (beam.h). */
struct linnet_alternative {
  double score, acoustic, language;         /* natural logarithms */
  const struct linnet_span *words, *phones; /* words NULL: phones alone */
  size_t num_words, num_phones;
  int incomplete; /* 1: there are words, but they are only the beginning of a sentence of the grammar (grammar.h), or
                     the last word was cut off and is not among them */
};

/* One recording. The formats write words or, if `words` is NULL, phones; TextGrid and JSON contain both, and
 * segments. */
struct linnet_output {
  size_t size;      /* sizeof(struct linnet_output), to be set before all calls; members that an older program does not
                       have count as NULL or 0, and are not set */
  const char *id;   /* id of the utterance, or file name without folder and extension */
  const char *file; /* path, if the recording is a file and not an utterance of a data folder; NULL: none */
  int bare;         /* in the format text: tokens alone, without id or file */
  const char *speaker; /* for STM; NULL: the id */
  int channel;         /* for CTM and STM, from 1; 0 counts as 1 */
  double offset;       /* seconds: the start of this recording in a longer one, which is added to all times; but a
                          TextGrid begins at 0 */
  double seconds;      /* its duration */
  const struct linnet_span *words, *phones;
  size_t num_words, num_phones;
  const struct linnet_alternative *alternatives; /* best first; see linnet_output_format_has_alternatives */
  size_t num_alternatives;                       /* 0: only `words` and `phones` are written */
  const struct linnet_output_jump *jumps;        /* in JSON, in order of time; NULL: the alignment did not allow
                                                    jumps */
  size_t num_jumps;
  /* In JSON and TextGrid: parts of the recording, such as those between pauses or the lines of an aligned text. Part i
   * has the words (without words the phones) from segment_ends[i - 1], or 0, up to segment_ends[i]; each has some.
   * NULL: the recording is not divided. */
  const size_t *segment_ends; /* (num_segments) */
  size_t num_segments;
  const char *recording; /* in JSON: the id of the longer recording that this is a part of; NULL: none */
  double begins;         /* in JSON: where in it this part begins, in seconds; other times do not change */
  int incomplete;        /* in JSON: 1: the words, or those of a segment, are `incomplete`: see linnet_alternative */
};

/* Receives pieces of text. If it returns non-zero, the writing function stops with LINNET_ERROR_IO. */
typedef int (*linnet_write_fn)(void *user, const char *text, size_t bytes);

/*   text      ID TOKEN TOKEN ..., or of a file FILE<tab>TOKEN ...     Kaldi's text; of alternatives each has a line,
 *                                                                     with its rank behind ID or FILE: ID-1, ID-2;
 *                                                                     control characters in FILE are \n, \t, \xNN
 *   json      an object per line, "utterance" or "file" first; "hypotheses" are alternatives, "segments" the parts of a
 *             recording, "jumps" those of an alignment
 *   ctm       ID CHANNEL START DURATION TOKEN CONFIDENCE              sclite
 *   stm       ID CHANNEL SPEAKER START END TOKEN TOKEN ...            sclite
 *   textgrid  interval tiers "words", "phones", "segments"            Praat
 *   srt, vtt  subtitles: at most 42 characters and 7 seconds a cue,   players
 *             which ends at pauses and, where it can, with sentences */
struct linnet_output_format;

/* The format of an index, NULL after the last one; the format of a name, NULL if there is none. */
LINNET_API const struct linnet_output_format *linnet_output_format_at(size_t index);
LINNET_API const struct linnet_output_format *linnet_output_format_find(const char *name);

/* Properties of a format: its name; the usual extension of its files, without the dot; whether a file contains only one
 * recording; whether it writes alternatives; whether it writes times. If it does not, `seconds` and the times of spans
 * may be 0. */
LINNET_API const char *linnet_output_format_name(const struct linnet_output_format *format);
LINNET_API const char *linnet_output_format_extension(const struct linnet_output_format *format);
LINNET_API int linnet_output_format_is_single(const struct linnet_output_format *format);
LINNET_API int linnet_output_format_has_alternatives(const struct linnet_output_format *format);
LINNET_API int linnet_output_format_has_times(const struct linnet_output_format *format);

/* These write the beginning of a file, and one recording. Of the recording, `size` and `id` must be set in every
 * format; the other members may be NULL and 0. LINNET_ERROR_ARGUMENT, and nothing is written, if
 * - `id` or the `text` of a span is NULL,
 * - `seconds`, `offset` or `begins` is negative or NaN,
 * - a span of `words`, `phones` or of those of an alternative has a time that is negative or not finite, ends before it
 *   starts, or starts before the end of the span in front of it,
 * - `segment_ends` does not rise, or goes beyond the spans.
 * There is no context, so there is no sentence. */
LINNET_API enum linnet_status linnet_output_begin(const struct linnet_output_format *format, linnet_write_fn write,
                                                  void *user);
LINNET_API enum linnet_status linnet_output_write(const struct linnet_output_format *format,
                                                  const struct linnet_output *output, linnet_write_fn write,
                                                  void *user);

/* Writes a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD. */
LINNET_API enum linnet_status linnet_output_json_string(const char *text, linnet_write_fn write, void *user);

#ifdef __cplusplus
}
#endif
#endif
