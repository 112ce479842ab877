/* The examples that --help prints, of all subcommands in one table. */
#include "tool.h"

#include <string.h>

static const struct {
  const char *name, *lines[2];
} examples[] = {
    {"linnet transcribe",
     {"linnet transcribe talk.flac",
      "linnet transcribe --words --lexicon cmudict.dict --lm words.bin --format srt talk.flac"}},
    {"linnet listen",
     {"linnet listen --model english-live",
      "arecord -t raw -f S16_LE -r 48000 | linnet listen --raw s16le --raw-rate 48000 -"}},
    {"linnet align",
     {"linnet align --text \"the sun is shining\" --format ctm sun.wav",
      "linnet align --lexicon cmudict.dict --data data/test --format textgrid --output-dir grids"}},
    {"linnet decode",
     {"linnet decode --symbols symbols.txt ark:post.ark",
      "linnet decode --symbols symbols.txt --beam 100 --lm phones.bin --format ctm scp:post.scp"}},
    {"linnet plot",
     {"linnet plot talk.flac", "linnet plot --text \"he said so\" --lexicon cmudict.dict --output said.png talk.flac"}},
    {"linnet posteriors",
     {"linnet posteriors --data data/test --out post.ark --scp post.scp",
      "linnet posteriors --data data/train --estimate-priors priors.txt"}},
    {"linnet info", {"linnet info exp/model.safetensors", "linnet info --symbols exp/model.safetensors >symbols.txt"}},
    {"linnet features",
     {"linnet features --out feats.ark --scp feats.scp data/train",
      "linnet features --cmvn utterance --compress cm --out talk.ark talk.flac"}},
    {"linnet train",
     {"linnet train --train data/train --dev data/dev --exp exp --config conf.json",
      "linnet train --train data/train --dev data/dev --exp exp --lexicon cmudict.dict --set epochs=20"}},
    {"linnet average",
     {"linnet average --output mean.safetensors exp/epoch-*.safetensors",
      "linnet average --half --output small.safetensors exp/model.safetensors"}},
    {"linnet ngram",
     {"linnet ngram --order 3 --text english.txt --binary words.bin",
      "linnet ngram --model words.bin --perplexity test.txt"}},
    {"linnet g2p", {"linnet g2p hello zephyrine", "linnet g2p --train cmudict.dict --output english.g2p"}},
    {"linnet calibrate",
     {"linnet calibrate --words --model copies/english data/dev/text dev.json",
      "linnet calibrate --model model.safetensors --output new.safetensors data/dev/phones dev.json"}},
    {"linnet score",
     {"linnet score data/test/phones phones.hyp",
      "linnet score --unit word --utt2spk data/test/utt2spk --by-speaker data/test/text words.hyp"}},
    {"linnet validate-data",
     {"linnet validate-data data/train data/dev", "linnet validate-data --fix --no-audio data/train"}},
};

void examples_print(FILE *stream, const char *name) {
  for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
    if (strcmp(examples[i].name, name) == 0)
      fprintf(stream, "\nExamples:\n  %s\n  %s\n", examples[i].lines[0], examples[i].lines[1]);
}
