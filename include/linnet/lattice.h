/* Lattices: the hypotheses of a search as an acyclic graph, in which those that begin or end alike share states.
 *
 *   linnet_lattice_create(context, &lattice);
 *   linnet_lattice_add_beam(lattice, beam);                          // or states and arcs, of any search
 *   linnet_lattice_finish(lattice, NULL);
 *   linnet_lattice_write(lattice, linnet_lattice_format_find("kaldi"), "utt1", NULL, write, user);
 *   linnet_lattice_oracle(lattice, NULL, reference, count, &nearest);
 *   linnet_lattice_reset(lattice);                                   // the next utterance
 *
 * State 0 is the start. An arc carries a symbol and two scores (natural logarithms, larger is better): what the
 * acoustics give and what all else does (language model times its weight, insertion bonus). The score of a path is the
 * sum of both over its arcs, and of the final scores of the state where it ends.
 *
 * linnet_lattice_finish makes the graph deterministic (no state has two arcs of one symbol: each sequence of symbols
 * has one path, its best; Mohri 1997, "Finite-State Transducers in Language and Speech Processing", over the tropical
 * semiring), takes out what is on no path to a final state, moves scores toward the start and merges states that have
 * the same future (Revuz 1992). States are then numbered so that arcs lead from lower to higher ones, arcs are sorted
 * by (from, symbol), and every state has its forward and backward score.
 *
 * Threads: one object, one thread at a time.
 *
 * Stability: experimental (linnet.h). */
#ifndef LINNET_LATTICE_H
#define LINNET_LATTICE_H

#include <linnet/beam.h>
#include <linnet/lexicon.h>
#include <linnet/output.h>
#include <linnet/score.h>
#include <linnet/word_search.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Hard limit on states, and on arcs, at any time. */
#define LINNET_LATTICE_MAX ((size_t)1 << 25)

struct linnet_lattice;

/* --- filling --------------------------------------------------------------------------------------------------- */

/* Makes an empty lattice. The context must outlive it. */
LINNET_API enum linnet_status linnet_lattice_create(struct linnet_context *context, struct linnet_lattice **lattice);

/* Adds a state; the first is the start. `frame`: where the symbol that leads here ends. *state may be NULL.
 * What fills a finished lattice is LINNET_ERROR_STATE, with linnet_lattice_reset as the remedy. */
LINNET_API enum linnet_status linnet_lattice_add_state(struct linnet_lattice *lattice, size_t frame, size_t *state);

/* Adds an arc between states that are there. Symbol 0 is none: such arcs (silence, a change of the search's state) take
 * no part in the sequence of symbols and are gone once finished. Scores must be -1e30 to 1e30. Cycles are reported when
 * the lattice is finished. */
LINNET_API enum linnet_status linnet_lattice_add_arc(struct linnet_lattice *lattice, size_t from, size_t to, int symbol,
                                                     double acoustic, double language);

/* Paths may end in this state, with these scores on top. Of several calls the best counts. */
LINNET_API enum linnet_status linnet_lattice_add_final(struct linnet_lattice *lattice, size_t state, double acoustic,
                                                       double language);

/* Adds a whole hypothesis from the start; `count` may be 0. */
LINNET_API enum linnet_status linnet_lattice_add_path(struct linnet_lattice *lattice,
                                                      const struct linnet_segment *segments, size_t count,
                                                      double acoustic, double language);

/* Adds all hypotheses of a prefix beam search that are possible (score above -infinity). */
LINNET_API enum linnet_status linnet_lattice_add_beam(struct linnet_lattice *lattice, struct linnet_beam *beam);

/* Adds all hypotheses of a search for words; symbols are tokens (word_search.h). It should not recombine: what was
 * dropped in favour of a better history is in no lattice. */
LINNET_API enum linnet_status linnet_lattice_add_words(struct linnet_lattice *lattice,
                                                       struct linnet_word_search *search);

struct linnet_lattice_settings {
  size_t size;      /* set by ..._default */
  double tolerance; /* states are merged although their futures differ, if that changes the score of no path by more
                       than this; at least 0; default 1e-6, what rounding makes */
};

LINNET_API void linnet_lattice_settings_default(struct linnet_lattice_settings *settings, size_t size);
#define linnet_lattice_settings_default(settings) linnet_lattice_settings_default(settings, sizeof *(settings))

/* Says that all is there; see above. `settings` may be NULL. LINNET_ERROR_ARGUMENT for a cycle, LINNET_ERROR_LIMIT if
 * the deterministic graph is too large; the lattice is then to be reset. A lattice without any path is left without
 * states. */
LINNET_API enum linnet_status linnet_lattice_finish(struct linnet_lattice *lattice,
                                                    const struct linnet_lattice_settings *settings);

/* Starts over, keeping memory. */
LINNET_API void linnet_lattice_reset(struct linnet_lattice *lattice);

/* Destroys the object; NULL is allowed. */
LINNET_API void linnet_lattice_destroy(struct linnet_lattice *lattice);

/* --- what is in it, once finished ------------------------------------------------------------------------------ */

struct linnet_lattice_state {
  size_t frame;               /* of the best path through it */
  int is_final;               /* paths may end here: */
  double acoustic, language;  /* with these scores on top */
  size_t first_arc, num_arcs; /* those that leave */
  double forward, backward;   /* log of the sum over all paths from the start, and to the ends */
  double best_backward;       /* the best path to an end */
};

struct linnet_lattice_arc {
  size_t from, to;
  int symbol;
  double acoustic, language;
};

/* Arrays live until the lattice is reset or destroyed. */
LINNET_API const struct linnet_lattice_state *linnet_lattice_states(const struct linnet_lattice *lattice,
                                                                    size_t *count);
LINNET_API const struct linnet_lattice_arc *linnet_lattice_arcs(const struct linnet_lattice *lattice, size_t *count);

/* The share of an arc in the sum over all paths, 0 to 1, if scores are natural logarithms of probabilities. */
LINNET_API double linnet_lattice_posterior(const struct linnet_lattice *lattice, size_t arc);

/* A path. Segments lie between the frames of states; their confidence is the posterior of the arc. */
struct linnet_lattice_path {
  double score, acoustic, language; /* score = acoustic + language */
  const struct linnet_segment *segments;
  size_t num_segments;
};

/* Finds the best paths, at most `max_paths`, best first (A*, exact; of equal scores any order, but always the same).
 * *count of them; they live until the next call on the lattice. */
LINNET_API enum linnet_status linnet_lattice_nbest(struct linnet_lattice *lattice, size_t max_paths,
                                                   const struct linnet_lattice_path **paths, size_t *count);

/* The path nearest to a reference: of least edit distance (substitution, insertion, deletion 1 each). */
struct linnet_lattice_nearest {
  struct linnet_score score;
  const int *symbols; /* its symbols; valid until the next call on the lattice */
  size_t num_symbols;
};

/* Finds it among all paths, exactly: the oracle error of the lattice. `labels`, unless NULL, has for each symbol that
 * occurs the number that is compared with the reference's; 0 drops it. LINNET_ERROR_LIMIT if states times (count + 1)
 * is over 2^28; LINNET_ERROR_ARGUMENT for a lattice without paths. */
LINNET_API enum linnet_status linnet_lattice_oracle(struct linnet_lattice *lattice, const int *labels,
                                                    const int *reference, size_t count,
                                                    struct linnet_lattice_nearest *nearest);

/* --- files ----------------------------------------------------------------------------------------------------- */

/* Formats:
 * - kaldi: CompactLattice as text: a line "ID ", lines "FROM<tab>TO<tab>SYMBOL<tab>G,A," and "STATE<tab>G,A," of final
 *   states, an empty line. G and A are costs: the negative language and acoustic score. Kaldi's alignment, behind the
 *   second comma, is empty: times are not kept. Kaldi wants symbols as numbers: `names` NULL.
 * - dot: a directed graph for Graphviz; labels are symbols, scores and posteriors, states have their frame. */
struct linnet_lattice_format;
LINNET_API const struct linnet_lattice_format *linnet_lattice_format_at(size_t index);
LINNET_API const struct linnet_lattice_format *linnet_lattice_format_find(const char *name);
LINNET_API const char *linnet_lattice_format_name(const struct linnet_lattice_format *format);

/* Writes a finished lattice. `names`, unless NULL, has a name for each symbol that occurs. */
LINNET_API enum linnet_status linnet_lattice_write(const struct linnet_lattice *lattice,
                                                   const struct linnet_lattice_format *format, const char *id,
                                                   const char *const *names, linnet_write_fn write, void *user);

/* Reads lattices of such a text, compact ones or not, of which the alignments and input symbols are skipped. Untrusted:
 * errors name file and line, memory stays within a small multiple of one lattice's size in the file. */
struct linnet_lattice_reader;

/* `symbols` NULL: symbols are numbers, 0 none; else names, added to the table if they are new ("<eps>" and "0": none).
 * Plain or gzip. */
LINNET_API enum linnet_status linnet_lattice_reader_open(struct linnet_context *context, const char *path,
                                                         struct linnet_symbols *symbols,
                                                         struct linnet_lattice_reader **reader);
LINNET_API enum linnet_status linnet_lattice_reader_open_memory(struct linnet_context *context, const void *data,
                                                                size_t bytes, const char *name,
                                                                struct linnet_symbols *symbols,
                                                                struct linnet_lattice_reader **reader);

/* Fills `lattice`, reset first and not finished, with the next one; LINNET_END after the last. *id lives until the next
 * call. */
LINNET_API enum linnet_status linnet_lattice_reader_next(struct linnet_lattice_reader *reader, const char **id,
                                                         struct linnet_lattice *lattice);

/* Destroys the object; NULL is allowed. */
LINNET_API void linnet_lattice_reader_destroy(struct linnet_lattice_reader *reader);

#ifdef __cplusplus
}
#endif
#endif
