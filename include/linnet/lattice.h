/* Lattices: an acyclic graph of the hypotheses of a search. Hypotheses with the same beginning or end share states
 * there.
 *
 *   linnet_lattice_create(context, &lattice);
 *   linnet_lattice_add_beam(lattice, beam);                          // or states and arcs, of any search
 *   linnet_lattice_finish(lattice, NULL);
 *   linnet_lattice_write(lattice, linnet_lattice_format_find("kaldi"), "utt1", NULL, write, user);
 *   linnet_lattice_oracle(lattice, NULL, reference, count, &nearest);
 *   linnet_lattice_reset(lattice);                                   // the next utterance
 *
 * State 0 is the start. An arc has a symbol and two scores (natural logarithms, larger is better): the acoustic score,
 * and the language score, which is the sum of all other scores (language model times its weight, insertion bonus). The
 * score of a path is the sum of both scores over its arcs, plus the final scores of its last state.
 *
 * linnet_lattice_finish makes the graph deterministic: no state has two arcs with the same symbol, and each sequence of
 * symbols has one path, its best (Mohri 1997, "Finite-State Transducers in Language and Speech Processing", over the
 * tropical semiring). It removes states and arcs that are on no path to a final state, moves scores toward the start
 * and merges states with the same future (Revuz 1992). After that, arcs lead from lower to higher state numbers, arcs
 * are sorted by (from, symbol), and every state has its forward and backward score.
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

/* Maximum number of states, and of arcs. */
#define LINNET_LATTICE_MAX ((size_t)1 << 25)

struct linnet_lattice;

/* --- filling --------------------------------------------------------------------------------------------------- */

/* Creates an empty lattice. The context must outlive it. */
LINNET_API enum linnet_status linnet_lattice_create(struct linnet_context *context, struct linnet_lattice **lattice);

/* Adds a state; the first one is the start. `frame` is the end of the symbol that leads to this state. `state` may be
 * NULL. All functions that add to a finished lattice fail with LINNET_ERROR_STATE; call linnet_lattice_reset first. */
LINNET_API enum linnet_status linnet_lattice_add_state(struct linnet_lattice *lattice, size_t frame, size_t *state);

/* Adds an arc between two existing states. Symbol 0 means no symbol: such arcs (silence, a change of the search's
 * state) do not contribute to the sequence of symbols, and linnet_lattice_finish removes them. Scores must be -1e30 to
 * 1e30. linnet_lattice_finish reports cycles. */
LINNET_API enum linnet_status linnet_lattice_add_arc(struct linnet_lattice *lattice, size_t from, size_t to, int symbol,
                                                     double acoustic, double language);

/* Makes a state final: paths may end there, and these scores are added to theirs. Of several calls for a state the best
 * scores count. */
LINNET_API enum linnet_status linnet_lattice_add_final(struct linnet_lattice *lattice, size_t state, double acoustic,
                                                       double language);

/* Adds a whole hypothesis from the start state; `count` may be 0. */
LINNET_API enum linnet_status linnet_lattice_add_path(struct linnet_lattice *lattice,
                                                      const struct linnet_segment *segments, size_t count,
                                                      double acoustic, double language);

/* Adds all hypotheses of a prefix beam search that are possible (score above -infinity). */
LINNET_API enum linnet_status linnet_lattice_add_beam(struct linnet_lattice *lattice, struct linnet_beam *beam);

/* Adds all hypotheses of a search for words; symbols are tokens (word_search.h). The search should not recombine:
 * hypotheses that it dropped in favour of a better history are missing in the lattice. */
LINNET_API enum linnet_status linnet_lattice_add_words(struct linnet_lattice *lattice,
                                                       struct linnet_word_search *search);

struct linnet_lattice_settings {
  size_t size;      /* set by ..._default */
  double tolerance; /* states with different futures are merged, too, if this changes the score of no path by more than
                       the tolerance; at least 0; default 1e-6, the size of rounding errors */
};

LINNET_API void linnet_lattice_settings_default(struct linnet_lattice_settings *settings, size_t size);
#define linnet_lattice_settings_default(settings) linnet_lattice_settings_default(settings, sizeof *(settings))

/* Finishes the lattice as described above. `settings` may be NULL. LINNET_ERROR_ARGUMENT if it has a cycle,
 * LINNET_ERROR_LIMIT if the deterministic graph is too large; then reset the lattice, because the functions below fail
 * with LINNET_ERROR_STATE. A lattice without any path gets zero states. */
LINNET_API enum linnet_status linnet_lattice_finish(struct linnet_lattice *lattice,
                                                    const struct linnet_lattice_settings *settings);

/* Empties the lattice, which keeps its memory. */
LINNET_API void linnet_lattice_reset(struct linnet_lattice *lattice);

/* Destroys the object; NULL is allowed. */
LINNET_API void linnet_lattice_destroy(struct linnet_lattice *lattice);

/* --- contents, once finished ------------------------------------------------------------------------------------ */

struct linnet_lattice_state {
  size_t frame;               /* its frame on the best path through it */
  int is_final;               /* paths may end here, */
  double acoustic, language;  /* with these scores on top */
  size_t first_arc, num_arcs; /* the arcs that leave the state */
  double forward, backward;   /* log of the sum over all paths from the start, and to the final states */
  double best_backward;       /* score of the best path to a final state */
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

/* The posterior of an arc: the sum over the paths through it divided by the sum over all paths, 0 to 1, if scores are
 * natural logarithms of probabilities. */
LINNET_API double linnet_lattice_posterior(const struct linnet_lattice *lattice, size_t arc);

/* A path. Each segment begins and ends at the frames of the states of its arc; its confidence is the posterior of the
 * arc. */
struct linnet_lattice_path {
  double score, acoustic, language; /* score = acoustic + language */
  const struct linnet_segment *segments;
  size_t num_segments;
};

/* Finds the best paths, at most `max_paths`, the best first (A*, exact). The order of paths with equal scores is not
 * specified, but always the same. *count is their number. The paths are valid until the next call on the lattice. */
LINNET_API enum linnet_status linnet_lattice_nbest(struct linnet_lattice *lattice, size_t max_paths,
                                                   const struct linnet_lattice_path **paths, size_t *count);

/* The path with the minimum edit distance from a reference (cost of a substitution, insertion or deletion: 1). */
struct linnet_lattice_nearest {
  struct linnet_score score;
  const int *symbols; /* its symbols; valid until the next call on the lattice */
  size_t num_symbols;
};

/* Finds the nearest of all paths, exactly; its errors are the oracle errors of the lattice. If `labels` is not NULL,
 * labels[symbol] is compared with the reference instead of the symbol; 0 drops the symbol. LINNET_ERROR_LIMIT if states
 * times (count + 1) is over 2^28; LINNET_ERROR_ARGUMENT for a lattice without paths. */
LINNET_API enum linnet_status linnet_lattice_oracle(struct linnet_lattice *lattice, const int *labels,
                                                    const int *reference, size_t count,
                                                    struct linnet_lattice_nearest *nearest);

/* --- files ----------------------------------------------------------------------------------------------------- */

/* Formats:
 * - kaldi: CompactLattice as text: a line "ID ", lines "FROM<tab>TO<tab>SYMBOL<tab>G,A," and "STATE<tab>G,A," of final
 *   states, an empty line. G and A are costs: the negative language and acoustic score. Kaldi's alignment, after the
 *   second comma, is empty: the file has no times. Kaldi expects symbols as numbers: `names` NULL.
 * - dot: a directed graph for Graphviz. Arcs have symbol, scores and posterior, states have their frame. */
struct linnet_lattice_format;
LINNET_API const struct linnet_lattice_format *linnet_lattice_format_at(size_t index);
LINNET_API const struct linnet_lattice_format *linnet_lattice_format_find(const char *name);
LINNET_API const char *linnet_lattice_format_name(const struct linnet_lattice_format *format);

/* Writes a finished lattice. `names`, unless NULL, has a name for each symbol that occurs. */
LINNET_API enum linnet_status linnet_lattice_write(const struct linnet_lattice *lattice,
                                                   const struct linnet_lattice_format *format, const char *id,
                                                   const char *const *names, linnet_write_fn write, void *user);

/* Reads lattices, compact or not, from Kaldi's text form. It ignores alignments and input symbols. Files are untrusted:
 * errors name file and line, and memory is at most a small multiple of one lattice's size in the file. */
struct linnet_lattice_reader;

/* Opens a file, plain or gzip. `symbols` NULL: symbols are numbers, and 0 means no symbol. Otherwise symbols are names,
 * and the reader adds new ones to the table; "<eps>" and "0" mean no symbol. */
LINNET_API enum linnet_status linnet_lattice_reader_open(struct linnet_context *context, const char *path,
                                                         struct linnet_symbols *symbols,
                                                         struct linnet_lattice_reader **reader);
LINNET_API enum linnet_status linnet_lattice_reader_open_memory(struct linnet_context *context, const void *data,
                                                                size_t bytes, const char *name,
                                                                struct linnet_symbols *symbols,
                                                                struct linnet_lattice_reader **reader);

/* Resets `lattice` and fills it with the next one of the file, without finishing it. LINNET_END after the last one. *id
 * is valid until the next call. A lattice with arcs and no final state, as of a file that was cut, is an error. */
LINNET_API enum linnet_status linnet_lattice_reader_next(struct linnet_lattice_reader *reader, const char **id,
                                                         struct linnet_lattice *lattice);

/* Destroys the object; NULL is allowed. */
LINNET_API void linnet_lattice_reader_destroy(struct linnet_lattice_reader *reader);

#ifdef __cplusplus
}
#endif
#endif
