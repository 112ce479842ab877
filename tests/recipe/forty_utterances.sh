# A corpus for tests of training: forty utterances of $frames frames (default: 8) and two labels, in the folder data, with
# features in the text archive feats.ark. Scripts source this file after command.sh.
# shellcheck shell=bash
mkdir data
awk -v frames="${frames:-8}" 'BEGIN {
  srand(7)
  for (u = 1; u <= 40; u++) {
    id = sprintf("utterance-%02d", u)
    print id, "A", "B" > "data/phones"
    print id, id > "data/utt2spk"
    printf "%s  [", id > "feats.ark"
    for (t = 0; t < frames; t++) {
      printf "\n " > "feats.ark"
      for (d = 0; d < 4; d++) printf " %.3f", rand() + (d == int(t / 4)) > "feats.ark"
    }
    print " ]" > "feats.ark"
  }
}'
grep -b '^utt' feats.ark | awk -F '[: ]' -v ark="$PWD/feats.ark" '{print $2, ark ":" $1 + length($2) + 1}' > data/feats.scp
