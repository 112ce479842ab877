/* Recognised or aligned phones and words in the formats that other programs read.
 *
 *   const struct linnet_output_format *format = linnet_output_format_find("textgrid");
 *   struct linnet_output output = {.id = "u1", .seconds = 2.5, .words = words, .num_words = n};
 *   linnet_output_begin(format, write, user);
 *   linnet_output_write(format, &output, write, user);      // once per recording; see `single`
 *
 * Numbers are written with a point whatever the locale.
 *
 * Threads: nothing is shared; any number at once.
 *
 * Stability: experimental (linnet.h). */
#ifndef LINNET_OUTPUT_H
#define LINNET_OUTPUT_H

#include <linnet/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A phone or a word. Spans are in order and do not overlap. */
struct linnet_span {
  const char *text;  /* UTF-8 */
  double start, end; /* seconds */
  float confidence;  /* 0 to 1 */
  int has_gop;       /* JSON holds the goodness of pronunciation (align.h), too: */
  float gop;
  int doubtful;       /* JSON says so: an aligned word that is perhaps not said (align.h) */
  const char *spoken; /* JSON holds the words by which a written word was aligned (pronounced_text.h); NULL: the same */
  int guessed;        /* JSON says so: its pronunciation was guessed */
  int interpolated;   /* JSON says so: its times lie between those of its neighbours, nothing was recognised */
};

/* Audio outside the text that it was aligned to (align.h). */
struct linnet_output_jump {
  const char *kind;         /* "inserted", "skipped", "repeated" */
  double start, end;        /* seconds */
  size_t word, num_words;   /* of the text, from 0, that were skipped or are repeated */
  const char *const *words; /* (count) */
};

/* One of several hypotheses of a recording, with its scores (beam.h). */
struct linnet_alternative {
  double score, acoustic, language;         /* natural logarithms */
  const struct linnet_span *words, *phones; /* words NULL: phones alone */
  size_t num_words, num_phones;
};

/* One recording. Words are written unless they are NULL, else phones; a TextGrid and JSON hold both. */
struct linnet_output {
  const char *id;      /* utterance, or file name without folder and extension */
  const char *file;    /* path, where the recording is a file and no utterance of a data folder; NULL: none */
  int bare;            /* text: tokens alone, without id or file */
  const char *speaker; /* for STM; NULL: the id */
  int channel;         /* for CTM and STM, from 1; 0 counts as 1 */
  double offset;       /* seconds, added to all times: where the recording begins in a longer one */
  double seconds;      /* its duration */
  const struct linnet_span *words, *phones;
  size_t num_words, num_phones;
  const struct linnet_alternative *alternatives; /* best first; see linnet_output_format_has_alternatives */
  size_t num_alternatives;                       /* 0: phones and words alone are written */
  const struct linnet_output_jump *jumps;        /* JSON holds them, in the order of time; NULL: none were looked for */
  size_t num_jumps;
};

/* Receives pieces of text; non-zero stops with LINNET_ERROR_IO. */
typedef int (*linnet_write_fn)(void *user, const char *text, size_t bytes);

/*   text      ID TOKEN TOKEN ..., or of a file FILE<tab>TOKEN ...     Kaldi's text; of alternatives each has a line,
 *                                                                     with its rank behind ID or FILE: ID-1, ID-2;
 *                                                                     control characters in FILE are \n, \t, \xNN
 *   json      an object per line, "utterance" or "file" first, alternatives under "hypotheses", "jumps" of an alignment
 *   ctm       ID CHANNEL START DURATION TOKEN CONFIDENCE              sclite
 *   stm       ID CHANNEL SPEAKER START END TOKEN TOKEN ...            sclite
 *   textgrid  interval tiers "words" and "phones"                     Praat
 *   srt, vtt  subtitles, broken at pauses and after 42 characters     players */
struct linnet_output_format;

/* The formats by index, NULL after the last; and by name, NULL if there is none. */
LINNET_API const struct linnet_output_format *linnet_output_format_at(size_t index);
LINNET_API const struct linnet_output_format *linnet_output_format_find(const char *name);

/* Its name; the usual ending of a file's name, without the dot; whether a file holds one recording alone; whether
 * alternatives are written; whether times are: without them `seconds` and those of spans may be 0. */
LINNET_API const char *linnet_output_format_name(const struct linnet_output_format *format);
LINNET_API const char *linnet_output_format_extension(const struct linnet_output_format *format);
LINNET_API int linnet_output_format_is_single(const struct linnet_output_format *format);
LINNET_API int linnet_output_format_has_alternatives(const struct linnet_output_format *format);
LINNET_API int linnet_output_format_has_times(const struct linnet_output_format *format);

/* What a file begins with, and one recording in it. */
LINNET_API enum linnet_status linnet_output_begin(const struct linnet_output_format *format, linnet_write_fn write,
                                                  void *user);
LINNET_API enum linnet_status linnet_output_write(const struct linnet_output_format *format,
                                                  const struct linnet_output *output, linnet_write_fn write,
                                                  void *user);

/* A JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD. */
LINNET_API enum linnet_status linnet_output_json_string(const char *text, linnet_write_fn write, void *user);

#ifdef __cplusplus
}
#endif
#endif
