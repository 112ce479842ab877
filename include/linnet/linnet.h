/* Linnet: speech to phonemes by linear-attention transformers. This header includes all that recognition needs;
 * training has its own, <linnet/train.h>. Start reading at <linnet/recognizer.h>.
 *
 * Stability: each header says whether it is stable or experimental. A program that uses what is stable compiles with
 * every later version of the same major version, and before 1.0 of the same minor version; what has to change is
 * announced in CHANGELOG.md one minor version before. What is experimental may change in any release: live recognition
 * and training are. Binary compatibility is what the soname says (version.h).
 *
 * Conventions: counts are num_..., in size_t, as are dimensions; indices of symbols are int. Amounts of memory are
 * ..._bytes. Limits are min_... and max_.... Functions named ..._find give LINNET_NOT_FOUND or NULL where there is no
 * such entry. Structures of settings begin with `size`, which ..._default sets: a program may be older or newer than
 * the library. */
#ifndef LINNET_LINNET_H
#define LINNET_LINNET_H

#include <linnet/align.h>
#include <linnet/audio.h>
#include <linnet/beam.h>
#include <linnet/calibration.h>
#include <linnet/cmvn.h>
#include <linnet/context.h>
#include <linnet/encoder.h>
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
