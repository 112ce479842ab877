/* Forced alignment: where the phones and words of a known text lie in the log-posteriors of a CTC model, how sure the
 * model is of each, and what of the text is not there.
 *
 *   struct linnet_alignment *alignment;
 *   linnet_alignment_create_labels(context, log_posteriors, frames, symbols, labels, count, NULL, &alignment);
 *   const struct linnet_aligned_phone *phones = linnet_alignment_phones(alignment, &n);
 *   for (size_t i = 0; i < n; i++) printf("%d %zu %zu\n", phones[i].symbol, phones[i].start, phones[i].end);
 *   linnet_alignment_destroy(alignment);
 *
 * The path is the most probable one (Viterbi) through the CTC topology (Graves et al. 2006): a label takes one frame or
 * more, blanks may stand between labels and must stand between equal ones. Between words the blank is the optional
 * silence. CTC marks where a symbol is seen: spans are shorter than the sounds, blanks lie between.
 *
 * Time is frames x band, memory band x sqrt(frames) and a few words per frame and label; see `band`.
 *
 * Threads: an alignment does not change once made and may be read from many threads.
 *
 * Stability: stable (linnet.h). */
#ifndef LINNET_ALIGN_H
#define LINNET_ALIGN_H

#include <linnet/calibration.h>
#include <linnet/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One way to say a word: symbols without the blank, at least one. */
struct linnet_pronunciation {
  const int *labels;
  size_t num_labels;
};

/* A word with its pronunciations, of which the best is chosen: 1 to LINNET_ALIGN_MAX_VARIANTS. */
struct linnet_align_word {
  const struct linnet_pronunciation *variants;
  size_t num_variants;
};

enum { LINNET_ALIGN_MAX_VARIANTS = 64 };

struct linnet_align_settings {
  size_t size; /* set by ..._default */

  /* States (about two per phone of all pronunciations) that are searched at each frame, around the running best. 0,
   * the default: all of them where frames x states is at most 2^28, else 8192. With a band of at least the states the
   * path is exactly the best. A narrower one is doubled and the search done again whenever its path comes near the
   * edge or does not reach the end, so the result fails to be the best only if a better path left the band and the
   * one that was found never came near its edge. */
  size_t band;

  /* Let the text and the audio differ: the path may leave the text between two words, pass any number of frames as
   * unknown sound, and enter it again before any word within the band, later (words were left out) or earlier (words
   * were repeated). Leaving and entering cost `jump_cost` / 2 each; a frame outside costs the best of the blank and,
   * with `frame_cost` on top, any other symbol. Natural logarithms. Default: off, 60, 2: by these, 20 minutes of
   * ljspeech with a sentence too many and one missing gave both and one more jump (chosen on ljspeech; not held out).
   */
  int jumps;
  float jump_cost, frame_cost;

  /* A word is doubtful if the mean GOP of its phones is below this; default -4, by which 1.6 % of the words of right
   * texts and 83 % of wrong ones are doubtful (a model of recipes/speechocean762; chosen on ljspeech; not held out). */
  float doubt;

  /* Of the confidences of phones and words (calibration.h); copied. NULL: they are mean posteriors (default). */
  const struct linnet_calibrations *calibrations;
};

LINNET_API void linnet_align_settings_default(struct linnet_align_settings *settings, size_t size);
#define linnet_align_settings_default(settings) linnet_align_settings_default(settings, sizeof *(settings))

struct linnet_alignment;

/* Aligns words to log_posteriors (frames, symbols), row-major, natural logarithm, symbol 0 the blank; NaN and infinity
 * count as impossible. Nothing of the arguments is kept. `settings` may be NULL. LINNET_ERROR_LIMIT, with the numbers,
 * if the words need more frames than there are, or if there are more than 2^30 states; LINNET_ERROR_NUMERIC if all
 * paths have probability 0. It can be cancelled and reports its progress (linnet_cancel_fn). */
LINNET_API enum linnet_status linnet_alignment_create(struct linnet_context *context, const float *log_posteriors,
                                                      size_t frames, size_t symbols,
                                                      const struct linnet_align_word *words, size_t count,
                                                      const struct linnet_align_settings *settings,
                                                      struct linnet_alignment **alignment);

/* The same for a plain sequence of labels: each is a word of its own. */
LINNET_API enum linnet_status linnet_alignment_create_labels(struct linnet_context *context,
                                                             const float *log_posteriors, size_t frames, size_t symbols,
                                                             const int *labels, size_t count,
                                                             const struct linnet_align_settings *settings,
                                                             struct linnet_alignment **alignment);

struct linnet_aligned_phone {
  int symbol;
  size_t start, end;   /* frames, [start, end): from its first to after its last non-blank frame */
  float log_posterior; /* mean over these frames */
  float confidence;    /* mean posterior over these frames, 0 to 1, as of a linnet_segment; calibrated as phones are */
  float gop;           /* goodness of pronunciation, at most 0; see below */
};

/* Goodness of pronunciation (Witt & Young 2000) from CTC (Cao et al. 2024, "A Framework for Phoneme-Level Pronunciation
 * Assessment Using CTC"): the phone is replaced by each other one and by none, and the probabilities of the label
 * sequences are compared. Here the neighbours keep their frames, so the sums run over the frames between them:
 *
 *   GOP(l) = log P(l) - log sum over q of P(q),   q: every symbol, and none at all
 *   P(q) = sum over the paths blank* q+ blank* that fill the frames between the neighbours
 *
 * with a blank required where q would merge with a neighbour. exp(GOP) is the probability that the phone between its
 * neighbours is this one. */

struct linnet_aligned_word {
  size_t word, variant;     /* indices into the arguments */
  size_t phone, num_phones; /* its phones */
  size_t start, end;        /* of its first and last phone */
  float confidence;         /* mean posterior over its phones' frames, calibrated as words are */
  float gop;                /* mean over its phones */
  int doubtful;
};

enum linnet_jump_kind {
  LINNET_JUMP_INSERTED = 0, /* the frames hold something that is not in the text */
  LINNET_JUMP_SKIPPED = 1,  /* words [word, word + num_words) are not in the audio */
  LINNET_JUMP_REPEATED = 2  /* words [word, word + num_words) come again after these frames */
};

/* Frames [start, end) outside the text. */
struct linnet_align_jump {
  enum linnet_jump_kind kind;
  size_t word, num_words;
  size_t start, end;
};

/* What was found, in the order of time; arrays live as long as the alignment. */
LINNET_API const struct linnet_aligned_phone *linnet_alignment_phones(const struct linnet_alignment *alignment,
                                                                      size_t *count);
LINNET_API const struct linnet_aligned_word *linnet_alignment_words(const struct linnet_alignment *alignment,
                                                                    size_t *count);
LINNET_API const struct linnet_align_jump *linnet_alignment_jumps(const struct linnet_alignment *alignment,
                                                                  size_t *count);

/* The log-probability of the path, with the costs of its jumps. */
LINNET_API double linnet_alignment_score(const struct linnet_alignment *alignment);

/* Destroys the alignment; NULL is allowed. */
LINNET_API void linnet_alignment_destroy(struct linnet_alignment *alignment);

#ifdef __cplusplus
}
#endif
#endif
