#!/usr/bin/env bash
# recipes/wsj on a miniature of the corpus: every stage, from discs to report, and then faults of copies.
#
#   wsj_mini.sh LINNET
# shellcheck source=tests/recipe/command.sh
. "$(dirname "$0")/command.sh"
for tool in flite espeak-ng sox gnuplot cc; do
  command -v "$tool" > /dev/null || { echo "SKIPPED: $tool is not installed" && exit 77; }
done
recipes=$(realpath "$here/../../recipes")
export LINNET=$linnet
prefix=()

recipe() { # STATUS TEXT ARGUMENTS...
  check "$1" "$2" "$recipes/wsj/run.sh" --exp "$experiment" --dict "$discs/cmudict" --encoder "$here/mini_wsj.json" --jobs 2 "${@:3}"
}
lines() { wc -l < "$1"; }
# rate FILE: the percentage of a score, as an integer
rate() { sed -n 's/^%[PW]ER \([0-9]*\)\..*/\1/p' "$1"; }

# Folders of corpus and experiment have characters that shells and sed treat specially.
discs="$PWD/di s'cs & #1" experiment="e x'p & #2"
ln -s "$discs" mini
ln -s "$experiment" exp
"$here/make_mini_wsj.sh" --out "$discs" --linnet "$linnet" --jobs 2 2> mini.log || { cat mini.log && exit 1; }
corpus=(--wsj0 "$discs/wsj0" --wsj1 "$discs"/wsj1/13-*)

# --- wrong command lines

recipe 0 'Usage: run.sh' --help
recipe 2 '--nonsense: is not an option' --nonsense x
recipe 1 '--wsj0 DIR... or --wsj1 DIR... is missing' --wsj0 mini/wsj0
recipe 1 '--wsj0 nowhere: this folder does not exist' --wsj0 nowhere --wsj1 mini/wsj1
recipe 1 '--seed needs a value' --seed
recipe 1 '--stage x: must be a whole number' --stage x
recipe 1 '--stage 9: must be 1 to 7' --stage 9
recipe 1 '--stop-stage 3: must be at least the first stage, 6' --stage 6 --stop-stage 3
recipe 1 '--dev train_cv05: needs --train train_tr95' --dev train_cv05
recipe 1 '--jobs abc: must be a number above 0' --jobs abc
recipe 1 '--jobs : must be a number above 0' --jobs ''
recipe 1 '--via carrier: must be one of local' --via carrier
recipe 1 '--train-cmd batch: must be one of local parallel slurm gridengine' --train-cmd 'batch --mem 1G'
recipe 1 'device gpu: expected cpu, cuda, cuda:N or auto' --device gpu
recipe 1 'must be a file or one of blstm linear lsh-4 softmax' --encoder gru
recipe 1 '--train dev: must be' --train dev
recipe 1 'run stage 1 first' --stage 2
recipe 1 'run stage 5 first' --stage 6
recipe 1 'but 7138 are expected; ' "${corpus[@]}" --stop-stage 1

# --- all stages

recipe 0 'index.html' "${corpus[@]}" --scale-counts 0.01
cp out run.log
cat out

counts=$(cd exp/data && wc -l t*/text | awk '$2 != "total" {printf "%s %d;", $2, $1}')
[[ $counts == 'test_dev93/text 5;test_eval92/text 3;test_eval93/text 2;train_cv05/text 18;train_si284/text 374;train_si84/text 71;train_tr95/text 356;' ]] ||
  fail "numbers of utterances: $counts"
for set in exp/data/t* exp/feats/t*; do check 0 'good:' "$linnet" validate-data "$set"; done
[[ $(cat exp/data/local/twice) == *46ac0201.wv1*13-1.1*13-2.1* && $(lines exp/data/local/twice) -eq 1 ]] || fail 'the file that appears twice is not listed'
[[ $(cat exp/data/local/strange) == *46ac0200.dot:39:* ]] || fail 'the line without an utterance is not listed'
! grep -q '^401' exp/data/train_si84/text || fail 'speaker 401 is in train_si84'
[[ -z $(join -j 1 exp/data/train_tr95/spk2utt exp/data/train_cv05/spk2utt) ]] || fail 'speakers on both sides of the split'
cut -d ' ' -f 2- exp/data/train_si284/text | tr ' ' '\n' | sort -u > words
for word in PERCENT POINT -DASH '<NOISE>' DOLLARS THE ZORVEX; do grep -qxF -e "$word" words || fail "$word is missing in the text"; done
awk '!/^;;;/ {print $1}' "$recipes/wsj/conf/punctuation.dict" > punctuation
! grep -vxF -f punctuation words | grep -vE "^(<NOISE>|[-A-Z']+)\$" || fail 'words that are not normalised'
[[ $(grep -vxE '[.%][A-Z]+' punctuation | grep -cvxF -f words) -eq 0 ]] || fail "punctuation that is missing: $(grep -vxF -f words punctuation)"
grep -qx '011c0204 VISION OF THE .*"END-OF-QUOTE' <(sed 's/ THE / /' exp/data/train_si84/text) || fail 'a transcript without space before its utterance'
grep -qx '011c0208 THE .* YESTERDAY <NOISE> "UNQUOTE' exp/data/train_si84/text || fail 'a noise that touches a word'
# What is listed as out of vocabulary is what the labels call SPN: neither possessives nor punctuation.
[[ $(< exp/lang/oov) == 'ZORVEX '*' SPN' ]] || fail "out of vocabulary: $(cat exp/lang/oov)"
[[ $(cut -d ' ' -f 2- exp/data/train_si284/phones | tr ' ' '\n' | grep -c SPN) == "$(tr ' ' '\n' < exp/data/train_si284/text | grep -c ZORVEX)" ]] || fail 'labels SPN'
grep -qx "COMPANY'S K AH M P AH N IY Z" exp/lang/lexicon.txt && grep -qx '(LEFT-PAREN L EH F T P ER EH N' exp/lang/lexicon.txt || fail 'pronunciations of possessives and punctuation'
[[ $(lines exp/data/test_dev93/spk2gender) -eq 2 && ! -e exp/data/test_eval93/spk2gender ]] || fail 'spk2gender'
# Kaldi's programs find the features from the folder of the experiment.
(cd exp && sed 's/^[^ ]* //; s/:[0-9]*$//' feats/*/feats.scp feats/*/cmvn.scp | sort -u | while read -r file; do [[ -s $file ]] || echo "$file"; done) > absent
[[ ! -s absent ]] || fail "feats.scp has other paths: $(head -n 1 absent)"
[[ $(lines exp/lang/units) -eq 41 && $(tail -n 2 exp/lang/units | tr '\n' ' ') == 'NSN SPN ' ]] || fail 'units'
! grep -vxF -f exp/lang/units <(cut -d ' ' -f 2- exp/feats/train_si284/phones | tr ' ' '\n' | sort -u) || fail 'some phones are not units'
for model in bigram trigram phones; do check 0 'gram' "$linnet" ngram --model exp/lm/$model.bin; done

# Error rates: the model learns, and a language model helps on the set on which its weight was chosen.
for set in test_dev93 test_eval92 test_eval93; do
  for kind in greedy.units greedy.folded beam.units beam.folded; do
    [[ $(rate exp/mini_wsj/$set.$kind.score) -le 60 ]] || fail "$set $kind: $(head -n 1 exp/mini_wsj/$set.$kind.score)"
  done
done
[[ $(rate exp/mini_wsj/test_dev93.beam.units.score) -le $(rate exp/mini_wsj/test_dev93.greedy.units.score) ]] || fail 'the phone n-gram does not help'
[[ $(lines exp/mini_wsj/tuning.beam) -eq 16 && $(lines exp/mini_wsj/scored) -eq 1 ]] || fail 'tuning'
if command -v sclite sctk > /dev/null; then
  [[ $(grep -L '^sclite: the same' exp/mini_wsj/*.score | wc -l) -eq 0 ]] || fail 'not all scores were checked by sclite'
fi
for set in test_dev93 test_eval92 test_eval93; do
  [[ $(rate exp/mini_wsj/$set.words.words.score) -le 40 ]] || fail "$set words: $(head -n 1 exp/mini_wsj/$set.words.words.score)"
done
grep -qF '| mini_wsj | words | words |' exp/RESULTS.md || fail 'RESULTS.md has no word error rates'
# A missing utterance counts as deleted.
"$recipes/common/score_sets.sh" --help > help || fail 'score_sets.sh --help'
mkdir incomplete
cp -r exp/feats incomplete
sed -i '2s/ .*/ nowhere.ark:9/' incomplete/feats/test_eval92/feats.scp
"$recipes/common/score_sets.sh" --model exp/mini_wsj/model.safetensors --data incomplete/feats --dev test_dev93 --tests test_eval92 \
  --units exp/lang/units --lm exp/lm/phones.bin --out incomplete/scores --weights 1 --bonuses 0 2> log || fail "a missing utterance: $(cat log)"
grep -q 'the rest count as deleted' log && grep -q '1 not present in hyp' incomplete/scores/test_eval92.beam.units.score || fail 'the missing utterance is not reported'
[[ $(rate incomplete/scores/test_eval92.greedy.units.score) -ge 25 ]] || fail 'the missing utterance was not counted'

# Programs that fail while weights are tuned leave no files of it, and the test sets do not count as scored.
printf '#!/bin/bash\n[[ $1 != decode || $(wc -l < calls) -lt 3 ]] || exit 1\necho "$1" >> calls\n%q "$@"\n' "$linnet" > failing
chmod +x failing
: > calls
cp -r incomplete/scores before
LINNET=$PWD/failing check 1 'test_dev93' "$recipes/common/score_sets.sh" --model exp/mini_wsj/model.safetensors --data incomplete/feats \
  --dev test_dev93 --tests test_eval92 --units exp/lang/units --lm exp/lm/phones.bin --out incomplete/scores
cmp before/scored incomplete/scores/scored || fail 'test sets that were not searched count as scored'
[[ -z $(find incomplete/scores -name 'tun*' ! -path '*/tuning.parts*') ]] || fail "files of an interrupted tuning: $(ls incomplete/scores)"
# So does a filter that fails.
printf '#!/bin/bash\nexit 1\n' > no-filter
chmod +x no-filter
check 1 'the pairs cannot be scored' "$recipes/common/score_sets.sh" --model exp/mini_wsj/model.safetensors --data exp/feats \
  --dev test_dev93 --tests test_eval92 --units exp/lang/units --lm exp/lm/phones.bin --lexicon exp/lang-words/words.txt \
  --word-lm exp/lm/trigram.bin --hyp-filter "$PWD/no-filter" --out filtered --weights 1 --bonuses 0 --word-weights 1 --word-bonuses 0
[[ ! -e filtered/scored ]] || fail 'test sets without hypotheses count as scored'
check 143 'begun' bash -c '. "$0"; echo begun; into interrupted bash -c "echo some; kill -TERM \$PPID; sleep 0.1"' "$recipes/common/lib.sh"
[[ -z $(find . -maxdepth 1 -name 'interrupted*') ]] || fail 'an interrupt leaves a temporary file'

# The report.
for text in '| mini_wsj | 41 | '"$(sed -n 's/^%[PW]ER \([0-9.]*\) .*/\1/p' exp/mini_wsj/test_dev93.greedy.units.score)"' | - |' \
  'dev93 PER % (validation) | published (validation)' '| eesen, published | WFST | words | 10.87 | 7.28 | - |' \
  'train_si284 0\.[0-9]* hours' 'unknown words map' '| mini_wsj | beam | folded |' 'train_si84 71, train_si284 374' 'units 39' 'seed 1' 'test sets scored 1 times'; do
  grep -q -- "$text" exp/RESULTS.md || fail "RESULTS.md has no '$text'"
done
for text in '<svg' '<td>mini_wsj</td>' '</html>'; do grep -qF -- "$text" exp/index.html || fail "index.html has no '$text'"; done

# --- an experiment has one set of units and one dictionary

for option in '--units stress' '--oov flite'; do
  read -r -a words <<< "$option"
  recipe 1 "$option: $experiment was begun with" "${words[@]}" --stage 7
done
check 1 'was begun with another dictionary' "$recipes/wsj/run.sh" --exp "$experiment" --dict "$recipes/wsj/conf/punctuation.dict" --stage 7
recipe 0 'index.html' --units 39 --stage 7

# --- a decoder of WFSTs, or what it needs

if command -v python3 > /dev/null; then
  wfst=(python3 "$recipes/common/wfst_decode.py" --symbols exp/lang/units --lexicon exp/lang-words/words.txt --arpa exp/lm/trigram.arpa.gz
    --lm-weight "$(cut -d ' ' -f 1 exp/mini_wsj/tuned.words)" --silence 'NSN,SPN' --output wfst.hyp dev.post)
  cat exp/mini_wsj/test_dev93.post.*.ark > dev.post
  if python3 -c 'import kaldifst, kaldi_decoder, numpy' 2> /dev/null; then
    check 0 '5 utterances' "${wfst[@]}"
    check 0 'WER' "$linnet" score --unit word --ignore '<NOISE>' exp/feats/test_dev93/text wfst.hyp
    [[ $(rate out) -le 40 ]] || fail "a WFST: $(< out)"
  else
    check 1 'is missing: pip install kaldifst kaldi-decoder numpy' "${wfst[@]}"
  fi
fi

# --- finished steps do not run again

stamp() { find exp/feats/ -name 'feats.*.ark' -printf '%p %T@\n' | sort | cksum; }
archives() { cut -d ' ' -f 2 exp/feats/train_si284/feats.scp | cut -d : -f 1 | sort -u | sed 's#^#exp/#'; }
before=$(stamp)
recipe 0 'good' --stage 3 --stop-stage 3 --jobs 1
[[ $(stamp) == "$before" ]] || fail 'features were computed again'
second=$(archives | grep 'feats\.2\.ark')
rm exp/feats/train_si284/log/*.2.done "$second"
touch marker
recipe 0 'good' --stage 3 --stop-stage 3
[[ $(find exp/feats/ -name 'feats.*.ark' -newer marker) == "$second" ]] || fail 'other parts than the missing one were computed'
# An interrupted change of the division leaves features and list as they were.
before=$(stamp) list=$(cksum < exp/feats/train_si284/feats.scp)
mv "$discs/wsj1/13-2.1/wsj1/si_tr_s/46d/46dc0201.wv1" hidden
recipe 1 'parts failed' --stage 3 --stop-stage 3 --parts 3
mv hidden "$discs/wsj1/13-2.1/wsj1/si_tr_s/46d/46dc0201.wv1"
archives | while read -r archive; do stat -c '%n %.9Y' "$archive"; done > kept
[[ $(lines kept) -eq 10 && $(cksum < exp/feats/train_si284/feats.scp) == "$list" ]] || fail 'an unfinished change of features is visible'
recipe 0 'good' --stage 3 --stop-stage 3
[[ $(stamp) == "$before" ]] || fail 'features were computed again after a change that did not finish'
recipe 0 'good' --stage 3 --stop-stage 3 --parts 3
[[ $(archives | wc -l) -eq 3 && $(find exp/feats/train_si284/ -name 'feats.*.ark' | wc -l) -eq 3 ]] || fail 'another number of parts'
recipe 0 'good' --stage 3 --stop-stage 3
printf '#!/bin/bash\nsed "s/ THE / /g; s/ THE / /g"\n' > without-the
chmod +x without-the
before=$(sed -n 's/^%WER .* \/ \([0-9]*\),.*/\1/p' exp/mini_wsj/test_dev93.words.words.score)
recipe 0 'index.html' --stage 5 --stop-stage 7 --ref-filter "$PWD/without-the" --hyp-filter "$PWD/without-the"
[[ $(sed -n 's/^%WER .* \/ \([0-9]*\),.*/\1/p' exp/mini_wsj/test_dev93.words.words.score) -lt $before ]] || fail 'the filters of words had no effect'
[[ $(lines exp/mini_wsj/scored) -eq 2 ]] || fail 'the second scoring is not recorded'

# --- the configurations of the paper with two layers, one epoch each, the first as a job of a cluster

mkdir -p bin # programs in the place of Slurm's and GridEngine's, that keep their arguments and run the job
cat > bin/sbatch << 'END'
#!/bin/bash
echo "$*" > submitted
[[ ! -e interrupt ]] || { kill -TERM $PPID && sleep 0.1 && exit 1; }
for part in $(grep -oE -- '--array=[0-9,]+|-t [0-9]+-[0-9]+' submitted | sed 's/.*[= ]//; s/,/ /g; s/\(.*\)-\(.*\)/{\1..\2}/'); do
  for task in $(eval echo "$part"); do SLURM_ARRAY_TASK_ID=$task SGE_TASK_ID=$task bash "${@: -1}"; done
done
END
cp bin/sbatch bin/qsub
printf '#!/bin/bash\nwhile [[ $1 == --* ]]; do shift; done\nexec "$@"\n' > bin/srun
printf '#!/bin/bash\necho "$(basename "$0") $*" >> cancelled\n' | tee bin/scancel > bin/qdel
chmod +x bin/*
for conf in linear softmax lsh-4 blstm; do
  way=(--train-cmd local)
  [[ $conf != linear ]] || way=(--train-cmd 'slurm --mem 2G --gpus 1 --partition=long')
  PATH=$PWD/bin:$PATH recipe 0 'train loss' --encoder $conf --train train_si84 --set training.epochs=1 --set model.layers=2 --stage 5 --stop-stage 5 "${way[@]}"
  [[ -s exp/$conf/model.safetensors && $(< exp/$conf/settings) == train_si84,* ]] || fail "$conf: no model"
done

[[ $(< submitted) == *'--mem=2G --gres=gpu:1 --cpus-per-task=2 --requeue --signal=TERM@120 --open-mode=append --partition=long --job-name='* ]] || fail "sbatch got $(< submitted)"
# An interrupt cancels the job.
touch interrupt
for way in 'slurm:scancel --name=' 'gridengine:qdel '; do
  PATH=$PWD/bin:$PATH check 130 'interrupted: cancelled the job linnet-' "$recipes/common/cmd.sh" --via "${way%%:*}" --parts 2 --log hung -- true
  name=$(grep -oE 'linnet-[^ ]*' submitted)
  grep -qxF -- "${way#*:}$name" cancelled || fail "${way#*:}$name was not called, but $(cat cancelled)"
done
rm interrupt

# --- features of another system: no audio

mkdir foreign
cp exp/feats/test_dev93/{text,utt2spk,spk2utt} foreign
for name in feats cmvn; do sed "s# # $PWD/exp/#" exp/feats/test_dev93/$name.scp > foreign/$name.scp; done
check 0 'good: 5 utterances' "$recipes/common/make_features.sh" --data foreign --out taken
check 0 '5 utterances' "$linnet" posteriors --model exp/mini_wsj/model.safetensors --data taken --out taken.ark

# --- features of another build of linnet are computed again, here in folders that awk would take for an assignment

mkdir lr=1e-3
cp -r exp/data/test_dev93 lr=1e-3/data
printf '#!/bin/bash\necho "\tliblinnet.so.0 => %s/library (0x00007f00)"\n' "$PWD" > bin/ldd
chmod +x bin/ldd
rebuilt() {
  PATH=$PWD/bin:$PATH check 0 "$1" timeout 60 "$recipes/common/make_features.sh" --data lr=1e-3/data --out lr=1e-3/feats --parts 1
}
echo 1 > library
rebuilt '1 of 1 parts to run'
rebuilt 'good: 5 utterances'
! grep 'parts to run' out || fail 'finished features are computed again'
echo 2 > library
rebuilt '1 of 1 parts to run'
rm bin/ldd

# --- a model with CMVN by speaker, on folders without cmvn.scp: audio, and stored features

mkdir by-speaker
check 0 '5 utterances' "$linnet" features exp/data/test_dev93 --cmvn-frames all --out by-speaker/feats.ark --scp by-speaker/feats.scp \
  --cmvn-stats by-speaker/cmvn.ark --cmvn-scp by-speaker/cmvn.scp
sed -i 's# by-speaker/# #' by-speaker/*.scp
cp exp/data/test_dev93/{text,utt2spk,spk2utt} by-speaker
cp -r by-speaker unnormalised
rm unnormalised/cmvn.scp
for folder in by-speaker unnormalised exp/data/test_dev93; do
  check 0 '5 utterances' "$linnet" posteriors --threads 2 --model exp/mini_wsj/model.safetensors --data $folder --out "$(basename $folder).post"
done
cmp by-speaker.post unnormalised.post || fail 'stored features without cmvn.scp are not normalised by speaker'
cmp by-speaker.post test_dev93.post || fail 'audio is not normalised by speaker'

# --- checksums of SPHERE

! grep -r checksum exp/feats/*/log || fail 'a good file has another checksum'
damaged=mini/wsj0/11-1.1/wsj0/si_tr_s/011/011c0201.wv1
sum=$(sed -n 's/^sample_checksum -i //p' <(head -c 1024 $damaged | tr -d '\0'))
other=$(((sum + 1) % 10000 + 10000))
{ head -c 1024 $damaged | sed "s/^sample_checksum -i .*/sample_checksum -i ${other:0:${#sum}}/" && tail -c +1025 $damaged; } > checksum.wv1
check 0 "checksum.wv1: its samples have the checksum $sum, but the SPHERE header has ${other:0:${#sum}}" "$linnet" features checksum.wv1 --out checksum.ark

# --- the recipe for the user's corpus in docs/recipes.md

mkdir -p tree/recipes/mine own
cp -r "$recipes/common" tree/recipes
awk '/^```bash$/ {inside = 1; next} /^```$/ {inside = 0} inside' "$recipes/../docs/recipes.md" > tree/recipes/mine/run.sh
for pair in train:train_si284 dev:test_dev93 test:test_eval92; do
  mkdir "own/${pair%:*}"
  cp exp/data/"${pair#*:}"/{wav.scp,text,utt2spk} "own/${pair%:*}"
done
check 0 'test, beam:' bash tree/recipes/mine/run.sh --data own --conf "$here/mini_wsj.json" --dict mini/cmudict --exp mine
[[ $(rate mine/model/test.beam.units.score) -le 60 ]] || fail "the recipe of the manual: $(head -n 1 mine/model/test.beam.units.score)"

# --- copies of other layouts, and incomplete copies

# copy NAME SED-PROGRAM: links to the corpus, with other paths
copy() {
  local file target
  (cd mini && find wsj0 wsj1 -type f) > files
  sed -E "$2" files > targets
  sed "s#/[^/]*\$##; s#^#$1/#" targets | sort -u | xargs -d '\n' mkdir -p
  paste files targets | while IFS=$'\t' read -r file target; do ln -sf "$PWD/mini/$file" "$1/$target"; done
}

# same NAME: the folders must equal those of the discs, except for the paths of audio.
same() {
  diff -r -x wav.scp -x local -x phones -x '*_5k' -x 'dev_dt_*' exp/data/ "$1" > difference || fail "$1: $(head -n 3 difference)"
}

prepare() { # STATUS TEXT ARGUMENTS...
  check "$1" "$2" "$recipes/wsj/local/prepare.sh" --scale-counts 0.01 "${@:3}"
}

copy upper 's#^(wsj.)/(.*)#\1/\U\2#'
prepare 0 'train_cv05: 18' --out data-upper --wsj0 upper/wsj0/11-* --wsj1 upper/wsj1
same data-upper
copy flat 's#^(wsj.)/[^/]*/wsj.#\1#'
prepare 0 'train_cv05: 18' --out data-flat --wsj0 flat/wsj0 --wsj1 flat/wsj1
same data-flat
[[ ! -s data-flat/local/twice ]] || fail 'a file appears twice in a flat copy'
ln -s flat documents
prepare 0 'train_cv05: 18' --out data-both --wsj0 documents --wsj1 flat/wsj1
same data-both
[[ $(cd documents && find . -name si_et_05.ndx | wc -l) -eq 1 ]] || fail 'no lists of 5000 words'
copy under 's#^(wsj.)/([0-9]*)-([0-9]*)\.(.*)#\1/\2_\3_\4;1#; s#_1/#_1/#'
prepare 0 'train_cv05: 18' --out data-under --more-sets --wsj0 under/wsj0 --wsj1 under/wsj1
same data-under
[[ $(cat data-under/{test_{dev93,eval92,eval93}_5k,dev_dt_20}/text | cksum) == "$(cat exp/data/test_{dev93,eval92,eval93,dev93}/text | cksum)" ]] || fail 'sets of 5000 words, dev_dt_20'
[[ ! -e data-under/dev_dt_05 ]] || fail 'an empty set has a folder'
printf 'test_eval92 5643\n' > expected
prepare 1 'words, but 5643 are expected; are these other transcripts?' --out data-under --words expected --wsj0 under/wsj0 --wsj1 under/wsj1

copy cut 's#x#x#'
rm cut/wsj1/13-16.1/wsj1/si_dt_20/4k0/4k0c0202.wv1 cut/wsj0/11-2.1/wsj0/transcrp/dots/si_tr_s/01n/01nc0200.dot
cut=(--out data-cut --wsj0 cut/wsj0 --wsj1 cut/wsj1)
prepare 1 '19 utterances have no audio or no transcript' "${cut[@]}"
grep -qF ' 01nc0201 transcript 01nc0200.dot' out || fail 'the missing transcript is not printed'
grep -qxF 'test_dev93 4k0c0202 audio 13_16_1:wsj1/si_dt_20/4k0/4k0c0202.wv1' data-cut/local/missing || fail 'the missing audio is not named'
prepare 0 'train_si84: 53 utterances of 3 speakers' "${cut[@]}" --allow-missing
check 0 'good: 4 utterances' "$linnet" validate-data data-cut/test_dev93
rm cut/wsj1/13-16.1/wsj1/si_dt_20/4k0/4k0c0203.wv1
: > cut/wsj1/13-16.1/wsj1/si_dt_20/4k0/4k0c0203.wv1
prepare 0 'test_dev93: 3 utterances' "${cut[@]}" --allow-missing
grep -q '^test_dev93 4k0c0203 audio .*/4k0c0203.wv1 is empty or cannot be read' data-cut/local/missing || fail 'an empty file is not listed'

# WSJ0 alone, of which a file is damaged, with recognition as a job of a cluster.
damaged=cut/wsj0/11-1.1/wsj0/si_tr_s/01i/01ic0203.wv1
head -c 3000 "$damaged" > short
mv short "$damaged"
check 1 'with --allow-missing, one of them is enough' "$recipes/wsj/run.sh" --exp alone --wsj0 cut/wsj0
PATH=$PWD/bin:$PATH check 0 'index.html' "$recipes/wsj/run.sh" --exp alone --wsj0 cut/wsj0 --allow-missing --scale-counts 0.01 --dict mini/cmudict \
  --encoder "$here/mini_wsj.json" --jobs 2 --set training.epochs=1 --decode-cmd 'gridengine --mem 2G'
[[ $(< submitted) == *'-l mem_free=2G '* ]] || fail "qsub got $(< submitted)"
for text in 'train_si84 52 of 71 (incomplete)' 'test_dev93 0 of 5 (incomplete)' 'train_tr95, chosen on train_cv05' '| mini_wsj | greedy | units | - | [0-9.]* | - | [0-9.]* |'; do
  grep -q -- "$text" alone/RESULTS.md || fail "RESULTS.md of WSJ0 alone has no '$text'"
done
rm cut/wsj1/13-34.1/wsj1/doc/indices/h1_p0.ndx
prepare 1 'wsj1/doc/indices/h1_p0.ndx (disc 13-34.1) is missing in all folders' "${cut[@]}"
echo 'no list' > cut/wsj1/13-34.1/wsj1/doc/indices/h1_p0.ndx
prepare 1 'h1_p0.ndx:1: must have the form DISC:PATH' "${cut[@]}"
find cut -name '*.dot' -delete
prepare 1 'there are no transcripts' "${cut[@]}"
copy cut 's#x#x#'
rm cut/wsj1/13-16.1/wsj1/si_dt_20/4k0/4k0c0202.wv1
sed 's/4k0c0202/4k0c0203/' mini/wsj1/13-34.1/wsj1/doc/indices/h1_p0.ndx > ndx
mv ndx cut/wsj1/13-34.1/wsj1/doc/indices/h1_p0.ndx
prepare 1 'test_dev93 has 4 utterances, but 5 are expected' "${cut[@]}"

# --- audio read by other programs

if command -v ffmpeg > /dev/null; then
  prepare 0 'train_cv05: 18' --out data-ffmpeg --audio ffmpeg --wsj0 mini/wsj0 --wsj1 mini/wsj1
  for way in '' -ffmpeg; do
    check 0 '5 utterances' "$linnet" features "$([[ $way ]] && echo data-ffmpeg || echo exp/data)/test_dev93" --run-commands --out audio$way.ark
  done
  cmp audio.ark audio-ffmpeg.ark || fail 'ffmpeg reads other samples'
  # a script in the place of sph2pipe, with the same arguments
  printf '#!/bin/bash\n[[ $# == 3 && $1 == -f && $2 == wav ]] && ffmpeg -v error -i "$3" -f wav -\n' > bin/sph2pipe
  chmod +x bin/sph2pipe
  PATH=$PWD/bin:$PATH prepare 0 'train_cv05: 18' --out data-sph2pipe --audio sph2pipe --wsj0 mini/wsj0 --wsj1 mini/wsj1
  PATH=$PWD/bin:$PATH check 0 '5 utterances' "$linnet" features data-sph2pipe/test_dev93 --run-commands --out audio-sph2pipe.ark
  cmp audio.ark audio-sph2pipe.ark || fail 'sph2pipe: other samples'
fi
command -v sph2pipe > /dev/null || prepare 1 'sph2pipe is not installed' --out x --audio sph2pipe --wsj0 mini/wsj0 --wsj1 mini/wsj1

# --- dictionaries

dictionary() { # STATUS TEXT ARGUMENTS...
  check "$1" "$2" "$recipes/common/make_dictionary.sh" --out lang --dict mini/cmudict "${@:3}" exp/data/train_si84/text
}
echo KAZOO > further
dictionary 0 'units stress (71 with NSN and SPN)' --units stress --oov flite --words further
grep -qx 'ZORVEX Z AO1 R V EH0 K S' lang/lexicon.txt && grep -q '^KAZOO [A-Z]' lang/lexicon.txt || fail "flite's rules"
grep -qx 'THE DH IY0' lang/lexicon.txt && grep -qx -e '-DASH D AE1 SH' lang/lexicon.txt || fail 'variants'
sed 's/[012]//g' mini/cmudict > plain
check 1 'plain has no stress' "$recipes/common/make_dictionary.sh" --out lang --dict plain --units stress exp/data/train_si84/text
echo 'THE  DH Q' > strange
check 1 "phones that are not CMUdict's: Q" "$recipes/common/make_dictionary.sh" --out lang --dict strange exp/data/train_si84/text
dictionary 1 'must be 39 or stress' --units 40
dictionary 1 'must be map, flite or g2p' --oov drop

# --- recipes build in a folder of their own

mkdir -p tree/build/release
echo 'LINNET_TESTS:BOOL=ON' > tree/build/release/CMakeCache.txt
cat > bin/cmake << 'END'
#!/bin/bash
while [[ $# -gt 0 ]]; do
  case $1 in
  -B | --build) folder=$2 ;;
  -DLINNET_TESTS=*) option=$1 ;;
  esac
  shift
done
mkdir -p "$folder/tools"
[[ ! -v option ]] || echo "$option" > "$folder/CMakeCache.txt"
printf '#!/bin/bash\n' > "$folder/tools/linnet"
chmod +x "$folder/tools/linnet"
END
printf '#!/bin/bash\necho installed\n' > bin/dpkg-query
chmod +x bin/*
PATH=$PWD/bin:$PATH check 0 "$PWD/tree/build/recipes/tools/linnet" env -u LINNET bash -c '. tree/recipes/common/lib.sh; build_linnet; echo "$linnet"'
[[ $(< tree/build/release/CMakeCache.txt) == LINNET_TESTS:BOOL=ON ]] || fail "the build changed the user's settings"

# --- parts

part() { # STATUS TEXT ARGUMENTS...
  check "$1" "$2" "$recipes/common/cmd.sh" --retries 0 --log parts/log "${@:3}"
}
part 1 '1 of 3 parts failed' --parts 3 -- bash -c 'echo "{}" >> parts/ran; [ {} != 2 ] || [ -e parts/repaired ]'
touch parts/repaired
part 0 '1 of 3 parts to run' --parts 3 -- bash -c 'echo "{}" >> parts/ran; [ {} != 2 ] || [ -e parts/repaired ]'
[[ $(sort parts/ran | tr '\n' ' ') == '1 2 2 3 ' ]] || fail "parts that ran: $(sort parts/ran | tr '\n' ' ')"
part 0 '3 of 3 parts to run' --parts 3 -- bash -c 'echo {} >> parts/ran'
[[ $(wc -l < parts/ran) -eq 7 ]] || fail 'another command was not run'
part 1 'must be local, parallel, slurm or gridengine' --via cloud --parts 1 -- true
part 1 'must be a number above 0' --parts 0 -- true
command -v qsub > /dev/null || part 1 '--via gridengine: qsub is not installed' --via gridengine --parts 1 -- true
if command -v parallel > /dev/null; then
  part 0 '3 of 3 parts to run' --via parallel --jobs 2 --parts 3 -- bash -c 'echo {} >> parts/parallel'
  [[ $(sort parts/parallel | tr '\n' ' ') == '1 2 3 ' ]] || fail 'GNU parallel'
fi

echo "$failures failures"
[[ $failures -eq 0 ]]
