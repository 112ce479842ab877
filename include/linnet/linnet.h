/* Linnet: speech to words and phonemes by linear-attention transformers. This header includes everything that
 * recognition needs; the header of training is <linnet/train.h>. Start reading at <linnet/recognizer.h>.
 *
 * Stability: each header says whether it is stable or experimental. A program that uses only stable headers compiles
 * with every later version that has the same major version (before 1.0: the same minor version). CHANGELOG.md announces
 * a change of a stable header one minor version before. Experimental headers, such as those of live recognition and
 * training, may change in any release. The soname determines binary compatibility (version.h).
 *
 * Conventions: counts are called num_... and have the type size_t, like dimensions; indices of symbols are int. Amounts
 * of memory are called ..._bytes, limits min_... and max_.... Functions named ..._find return LINNET_NOT_FOUND or NULL
 * if there is no such entry. Structures of settings begin with `size`, which ..._default sets, so that a program may be
 * older or newer than the library; functions that give settings fill a structure of the caller. Structures of
 * callbacks, and those that have no defaults but may grow, begin with `size`, too; the program sets it to their sizeof.
 * Structures without `size`, such as linnet_source, linnet_span and the elements of arrays, get no new members within a
 * soname. Members are called num_...; a parameter that receives the number of elements of a returned array is called
 * `count`. A function that fails sets its output pointers, such as that to a new object, to NULL. */
#ifndef LINNET_LINNET_H
#define LINNET_LINNET_H

#include <linnet/align.h>
#include <linnet/audio.h>
#include <linnet/beam.h>
#include <linnet/calibration.h>
#include <linnet/cmvn.h>
#include <linnet/context.h>
#include <linnet/encoder.h>
#include <linnet/endpoint.h>
#include <linnet/fbank.h>
#include <linnet/features.h>
#include <linnet/g2p.h>
#include <linnet/grammar.h>
#include <linnet/greedy.h>
#include <linnet/hotwords.h>
#include <linnet/lattice.h>
#include <linnet/model.h>
#include <linnet/output.h>
#include <linnet/pronounced_text.h>
#include <linnet/recognizer.h>
#include <linnet/recurrence.h>
#include <linnet/sample.h>
#include <linnet/search.h>
#include <linnet/segment.h>
#include <linnet/source.h>
#include <linnet/status.h>
#include <linnet/stream.h>
#include <linnet/text_aligner.h>
#include <linnet/text_normalizer.h>
#include <linnet/version.h>
#include <linnet/word_search.h>

#endif
