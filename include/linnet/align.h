/* Forced alignment: finds the frames of the phones and words of a known text in the log-posteriors of a CTC model, the
 * confidence of each, and the parts of the text that the audio does not contain.
 *
 *   struct linnet_alignment *alignment;
 *   linnet_alignment_create_labels(context, log_posteriors, frames, symbols, labels, count, NULL, &alignment);
 *   const struct linnet_aligned_phone *phones = linnet_alignment_phones(alignment, &n);
 *   for (size_t i = 0; i < n; i++) printf("%d %zu %zu\n", phones[i].symbol, phones[i].start, phones[i].end);
 *   linnet_alignment_destroy(alignment);
 *
 * The path is the most probable one (Viterbi) through the CTC topology (Graves et al. 2006): a label takes one or more
 * frames; blanks may be between labels, and must be between two equal labels. Between words the blank is the optional
 * silence. A CTC model has its symbols at short peaks: spans are therefore shorter than the sounds, with blanks between
 * them.
 *
 * Time grows with frames x band, memory with band x sqrt(frames) plus a few bytes per frame and label; see `band`.
 *
 * Threads: an alignment is immutable and may be read from many threads.
 *
 * Stability: stable (linnet.h). */
#ifndef LINNET_ALIGN_H
#define LINNET_ALIGN_H

#include <linnet/calibration.h>
#include <linnet/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One pronunciation of a word: at least one symbol, never the blank. */
struct linnet_pronunciation {
  const int *labels;
  size_t num_labels;
};

/* A word with its 1 to LINNET_ALIGN_MAX_VARIANTS pronunciations. The alignment chooses the best one. */
struct linnet_align_word {
  const struct linnet_pronunciation *variants;
  size_t num_variants;
};

enum { LINNET_ALIGN_MAX_VARIANTS = 64 };

struct linnet_align_settings {
  size_t size; /* set by ..._default */

  /* The number of states that the search considers at each frame, around the best one so far. There are about two
   * states per phone of all pronunciations. 0, the default: all states if frames x states is at most 2^28, otherwise
   * 8192. If the band holds all states, the path is exactly the best one. With a narrower band, the search doubles the
   * band and starts again whenever the path comes near its edge or does not reach the end. The result is then not the
   * best path only if a better path leaves the band while the path found never comes near its edge. */
  size_t band;

  /* Non-zero `jumps` allows differences between text and audio. The path may leave the text between two words, treat
   * any number of frames as unknown sound, and return before any word within the band: a later one (the speaker omitted
   * words) or an earlier one (the speaker repeated words). Leaving and returning cost `jump_cost` / 2 each. The log
   * probability of a frame outside the text is that of the blank, or that of the best other symbol minus `frame_cost`,
   * whichever is higher. Costs are natural logarithms. Default: off, 60, 2. With these values, an alignment of 20
   * minutes of ljspeech, with one extra sentence and one missing, found both and one jump too many (chosen on ljspeech;
   * not held out). */
  int jumps;
  float jump_cost, frame_cost;

  /* A word is doubtful if the mean GOP of its phones is below this; default -4: then 1.6 % of the words of correct
   * texts and 83 % of the words of wrong texts are doubtful (a model of recipes/speechocean762; chosen on ljspeech; not
   * held out). */
  float doubt;

  /* The calibrations of the confidences of phones and words (calibration.h); copied. NULL: confidences are mean
   * posteriors (default). */
  const struct linnet_calibrations *calibrations;
};

LINNET_API void linnet_align_settings_default(struct linnet_align_settings *settings, size_t size);
#define linnet_align_settings_default(settings) linnet_align_settings_default(settings, sizeof *(settings))

struct linnet_alignment;

/* Aligns words to log_posteriors (frames, symbols), row-major, natural logarithm, symbol 0 the blank; NaN and infinity
 * count as impossible. The alignment holds no pointer to the arguments. `settings` may be NULL. LINNET_ERROR_LIMIT if
 * the words need more frames than there are, or if there are more than 2^30 states; the sentence has the numbers.
 * LINNET_ERROR_NUMERIC if all paths have probability 0. The call can be cancelled and reports its progress
 * (linnet_cancel_fn). */
LINNET_API enum linnet_status linnet_alignment_create(struct linnet_context *context, const float *log_posteriors,
                                                      size_t frames, size_t symbols,
                                                      const struct linnet_align_word *words, size_t count,
                                                      const struct linnet_align_settings *settings,
                                                      struct linnet_alignment **alignment);

/* The same for a plain sequence of labels, each of which is one word. */
LINNET_API enum linnet_status linnet_alignment_create_labels(struct linnet_context *context,
                                                             const float *log_posteriors, size_t frames, size_t symbols,
                                                             const int *labels, size_t count,
                                                             const struct linnet_align_settings *settings,
                                                             struct linnet_alignment **alignment);

struct linnet_aligned_phone {
  int symbol;
  size_t start, end;   /* frames, [start, end): from its first to after its last non-blank frame */
  float log_posterior; /* mean over these frames */
  float confidence;    /* mean posterior over these frames, 0 to 1, with the calibration of phones */
  float gop;           /* goodness of pronunciation, at most 0; see below */
};

/* Goodness of pronunciation (Witt & Young 2000) from CTC (Cao et al. 2024, "A Framework for Phoneme-Level Pronunciation
 * Assessment Using CTC"): the phone is replaced by each other one and by none, and the probabilities of the label
 * sequences are compared. In this implementation the frames of the neighbours are fixed, so that the sums use only the
 * frames between them:
 *
 *   GOP(l) = log P(l) - log sum over q of P(q),   q: every symbol, and none at all
 *   P(q) = sum over the paths blank* q+ blank* that fill the frames between the neighbours
 *
 * If q equals a neighbour, a blank must separate them. exp(GOP) is the probability that the phone between the
 * neighbours is this one. */

struct linnet_aligned_word {
  size_t word, variant;     /* indices into the arguments */
  size_t phone, num_phones; /* its phones */
  size_t start, end;        /* frames, [start, end): from the start of its first phone to the end of its last */
  float confidence;         /* mean posterior over the frames of its phones, with the calibration of words */
  float gop;                /* mean GOP of its phones */
  int doubtful;
};

enum linnet_jump_kind {
  LINNET_JUMP_INSERTED = 0, /* the frames contain something that is not in the text */
  LINNET_JUMP_SKIPPED = 1,  /* words [word, word + num_words) are not in the audio */
  LINNET_JUMP_REPEATED = 2  /* words [word, word + num_words) occur again after these frames */
};

/* Frames [start, end) outside the text. */
struct linnet_align_jump {
  enum linnet_jump_kind kind;
  size_t word, num_words;
  size_t start, end;
};

/* The phones, words and jumps of the alignment in order of time. The arrays live as long as the alignment. */
LINNET_API const struct linnet_aligned_phone *linnet_alignment_phones(const struct linnet_alignment *alignment,
                                                                      size_t *count);
LINNET_API const struct linnet_aligned_word *linnet_alignment_words(const struct linnet_alignment *alignment,
                                                                    size_t *count);
LINNET_API const struct linnet_align_jump *linnet_alignment_jumps(const struct linnet_alignment *alignment,
                                                                  size_t *count);

/* The log-probability of the path, including the costs of its jumps. */
LINNET_API double linnet_alignment_score(const struct linnet_alignment *alignment);

/* Destroys the alignment; NULL is allowed. */
LINNET_API void linnet_alignment_destroy(struct linnet_alignment *alignment);

#ifdef __cplusplus
}
#endif
#endif
