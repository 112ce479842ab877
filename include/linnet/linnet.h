/* Linnet: speech to phonemes by linear-attention transformers. This header includes all that recognition needs;
 * training has its own, <linnet/train.h>. Start reading at <linnet/stream.h>. */
#ifndef LINNET_LINNET_H
#define LINNET_LINNET_H

#include <linnet/align.h>
#include <linnet/audio.h>
#include <linnet/beam.h>
#include <linnet/calibration.h>
#include <linnet/context.h>
#include <linnet/decoder.h>
#include <linnet/encoder.h>
#include <linnet/features.h>
#include <linnet/g2p.h>
#include <linnet/grammar.h>
#include <linnet/hotwords.h>
#include <linnet/lattice.h>
#include <linnet/model.h>
#include <linnet/output.h>
#include <linnet/pronounced_text.h>
#include <linnet/recognizer.h>
#include <linnet/recurrence.h>
#include <linnet/search.h>
#include <linnet/source.h>
#include <linnet/status.h>
#include <linnet/stream.h>
#include <linnet/text_aligner.h>
#include <linnet/text_normalizer.h>
#include <linnet/word_search.h>

#endif
