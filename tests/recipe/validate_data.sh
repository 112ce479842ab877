#!/usr/bin/env bash
# `linnet validate-data`: reports every fault with its file, line and remedy; after --fix the folder has no faults.
#
#   validate_data.sh LINNET
# shellcheck source=tests/recipe/command.sh
. "$(dirname "$0")/command.sh"

validate() { # STATUS TEXT ARGUMENTS...
  check "$1" "$2" "$linnet" validate-data "${@:3}"
}

# make_wav NAME SECONDS
make_wav() {
  {
    printf 'RIFF\0\0\0\0WAVEfmt \20\0\0\0\1\0\1\0\200\76\0\0\0\175\0\0\2\0\20\0data\0\0\0\0'
    head -c $((32000 * $2)) /dev/zero
  } > "$1"
}

# make_folder NAME: utterances a-1 a-2 b-1 b-2
make_folder() {
  rm -rf "$1" && mkdir "$1"
  local id
  for id in a-1 a-2 b-1 b-2; do
    make_wav "$1/$id.wav" 1
    echo "$id $id.wav" >> "$1/wav.scp"
    echo "$id SOME WORDS" >> "$1/text"
    echo "$id ${id%-*}" >> "$1/utt2spk"
  done
  printf 'a a-1 a-2\nb b-1 b-2\n' > "$1/spk2utt"
  printf 'a m\nb f\n' > "$1/spk2gender"
}

# A good folder.
make_folder good
validate 0 'good: good: 4 utterances of 2 speakers; wav.scp, text, utt2spk, spk2utt, spk2gender' good
validate 0 'good: 4 utterances' good/ --fix
[[ ! -e good/.backup ]] || fail '--fix changed a good folder'
"$linnet" features good --out good/feats.ark --scp good/feats.scp --cmvn-stats good/cmvn.ark --cmvn-scp good/cmvn.scp \
  2> out || fail 'features'
sed -i 's#good/##' good/feats.scp good/cmvn.scp
validate 0 'feats.scp, utt2spk, spk2utt, spk2gender, cmvn.scp' good
validate 2 'DIR is missing'
validate 1 'is no folder that can be read' nowhere

# fault TEXT COUNT: the command must report the fault in the folder `bad`; --fix must leave COUNT utterances.
fault() {
  validate 1 "$1" bad
  check 0 "good: $2 utterance" "$linnet" validate-data --fix bad
  validate 0 "good: $2 utterance" bad
  make_folder bad
}

make_folder bad
(tail -n 1 bad/text && head -n 3 bad/text) > text && mv text bad/text
fault 'bad/text:1: b-2 comes before a-1; sort the file with LC_ALL=C sort (--fix does)' 4
(sed 1d bad/text && head -n 1 bad/text) > text && mv text bad/text
fault 'bad/text:4: a-1 comes after b-2; sort the file' 4
echo 'b-2 OTHER WORDS' >> bad/text
fault 'bad/text:5: b-2 appears twice, first in line 4; keep one' 4
sed -i '2d' bad/text
fault 'bad/utt2spk:2: a-2 has no line in text; add the line there' 3
echo 'c-1 WORDS' >> bad/text
fault 'bad/text:5: c-1 is missing in utt2spk; remove the line (--fix does), or add the id there' 4
sed -i 's/^a-2 .*/a-2/' bad/text
fault 'bad/text:2: a-2 has an empty transcript; correct the line' 3
echo >> bad/text
fault 'bad/text:5: the line is empty; remove' 4
printf 'a-1 x y\na-2 a\nb-1 b\nb-2 b\n' > bad/utt2spk
fault 'bad/utt2spk:1: a-1 is not followed by one speaker' 3
printf 'a a-1\nb b-1 b-2\n' > bad/spk2utt
fault 'bad/spk2utt: has 3 utterances, but utt2spk has 4; make a new spk2utt from utt2spk (--fix does)' 4
printf 'a a-1 a-1\nb b-1 b-2\n' > bad/spk2utt
fault 'bad/spk2utt:1: a has a-1 after a-1; make a new spk2utt' 4
printf 'a a-1 a-2 b-1\nb b-1 b-2\n' > bad/spk2utt
fault 'bad/spk2utt:1: a has b-1, but utt2spk gives it the speaker b' 4
rm bad/spk2utt
fault 'bad/spk2utt: is missing; make a new spk2utt from utt2spk (--fix does)' 4
sed -i 's/ f$/ x/' bad/spk2gender
fault 'bad/spk2gender:2: b is not followed by m or f' 2
sed -i 1d bad/spk2gender
fault 'bad/utt2spk:1: a-1 has speaker a, who has no line in spk2gender; add the line there' 2
sed -i 1d bad/spk2gender
rm bad/spk2utt
validate 1 'bad/utt2spk:1: a-1 has speaker a, who has no line in spk2gender' bad
validate 1 'bad: 2 faults' bad
fault 'bad/spk2utt: is missing' 2
sed -i '2s/ .*/ cat a-2.wav/' bad/wav.scp
fault 'bad/wav.scp:2: a-2 cat a-2.wav: No such file or directory (a command ends with |); correct the path' 3
sed -i '3s/b-1.wav/./' bad/wav.scp
fault 'bad/wav.scp:3: b-1 .: is a folder; correct the path' 3
cp good/feats.ark bad
sed '2s/feats.ark/./' good/feats.scp > bad/feats.scp
fault 'bad/feats.scp:2: a-2 .: is a folder; correct the path' 3
sed -i '3s/b-1.wav/ |/' bad/wav.scp
fault 'bad/wav.scp:3: b-1 has an empty command; correct the line' 3
rm bad/b-1.wav
fault 'bad/wav.scp:3: b-1 b-1.wav: No such file or directory; correct the path' 3
: > bad/b-1.wav
fault 'b-1.wav: is empty; replace the file' 3
make_wav bad/b-1.wav 0
fault 'bad/wav.scp:3: b-1 b-1.wav: has no samples; replace the file' 3
printf 'no audio' > bad/b-1.wav
fault 'bad/wav.scp:3: b-1 bad/b-1.wav:' 3
make_wav bad/b-1.wav 1
printf '\0\372\0\0' | dd of=bad/b-1.wav bs=1 seek=40 conv=notrunc 2> /dev/null # a header of 2 s
fault 'wav.scp:3: b-1 bad/b-1.wav: no audio after 1.00 seconds: its header announces 2.00 seconds' 3
if command -v sox > /dev/null; then
  sox -R -n -r 16000 -b 16 whole.flac synth 5 noise
  head -c 100000 whole.flac > bad/b-1.wav
  fault 'wav.scp:3: b-1 bad/b-1.wav: no audio after 3.' 3
  make_folder bad
  sox -R -n -r 16000 -b 16 none.flac trim 0 0 2> out
  cp none.flac bad/b-1.wav # its header does not say its length
  fault 'bad/wav.scp:3: b-1 b-1.wav: has no samples; replace the file' 3
  cp whole.flac bad/b-1.wav
  validate 0 'good: 4 utterances' bad
fi
make_folder bad
printf 'no audio' > bad/b-1.wav
validate 0 'good: 4 utterances' --no-audio bad
make_folder bad
cp good/feats.ark bad
sed 's/^\(b-2 .*\):.*/\1:99999999/' good/feats.scp > bad/feats.scp
fault 'bad/feats.scp:4: b-2 feats.ark: ends before byte 99999999' 3

# What Kaldi's programs refuse.
make_folder bad
printf 'b-2 SOME WORDS' > last
sed -i '$d' bad/text
cat last >> bad/text
fault 'bad/text:4: the last line has no line feed; end each line with one line feed' 4
sed -i 's/$/\r/' bad/utt2spk
validate 1 'bad: 1 fault' bad
fault 'bad/utt2spk:1: carriage returns in 4 of 4 lines, this one first; end each line with one line feed' 4
printf 'a-1 X\na-2 Y\r\nb-1 Z\nb-2 Z\r' > bad/text
validate 1 'bad/text:2: carriage returns in 2 of 4 lines, this one first' bad
fault 'bad/text:4: the last line has no line feed' 4
for word in '<s>' '</s>' '#0'; do
  sed -i "2s|WORDS|$word|" bad/text
  fault "bad/text:2: a-2 has the word $word, which Kaldi reserves" 3
done
for bytes in '\xff' '\xc3 ' '\xed\xa0\x80' '\xf5\x80\x80\x80'; do
  sed -i "3s/SOME/$bytes/" bad/text
  fault 'bad/text:3: b-1 is not UTF-8; correct the line' 3
done
for bytes in '\xc2\xa0' '\xe3\x80\x80' '\xe2\x80\x89' '\x0b'; do
  sed -i "3s/SOME/SOME${bytes}MORE/" bad/text
  fault 'bad/text:3: b-1 has white space other than spaces and tabs' 3
done
sed -i '3s/SOME/\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80/' bad/text
validate 0 'good: 4 utterances' bad
for line in 'b-2' 'b-2 0' 'b-2 -1.5' 'b-2 1.5 s' 'b-2 long'; do
  (sed '$d' bad/text | sed 's/ .*/ 1.5/' && echo "$line") > bad/utt2dur
  fault 'bad/utt2dur:4: b-2 is not followed by a number of seconds' 3
done
printf 'a-1 1\na-2 1\nb-1 1\nb-3 1\n' > bad/utt2dur
fault 'bad/utt2dur:4: b-3 is missing in utt2spk' 3
printf 'a-1 a-1 A\na-2 a-2 B\nb-1 b-1 1\nb-2 b-2 A\n' > bad/reco2file_and_channel
fault 'bad/reco2file_and_channel:3: b-1 is not followed by a file and A or B' 3
printf 'a-1 en\na-2 en\nb-1 en\n' > bad/utt2lang
fault 'bad/utt2spk:4: b-2 has no line in utt2lang' 3
printf 'a a-2 a-1\nb b-1 b-2\n' > bad/spk2utt
fault 'bad/spk2utt:1: a has a-1 after a-2; make a new spk2utt' 4

# A wrong line is one fault, whatever other files have of its id.
make_folder bad
cp good/feats.ark bad
cp good/feats.scp bad
sed -i '2s/ a/ a a/' bad/utt2spk
validate 1 'bad: 1 fault' bad
fault 'bad/utt2spk:2: a-2 is not followed by one speaker' 3
rm bad/b-1.wav
sed -i '2s/ .*//' bad/text
validate 1 'bad: 2 faults' bad
fault 'bad/wav.scp:3: b-1 b-1.wav: No such file' 2
printf 'a a-1\nb b-1 b-2 c-1\n' > bad/spk2utt
validate 1 'bad/spk2utt:2: b has c-1, but utt2spk gives it no speaker' bad
validate 1 'bad: 1 fault' bad

# Notes, which are no faults.
make_folder bad
validate 0 'good: 4 utterances' bad
[[ $(wc -l < out) -eq 1 ]] || fail 'a note on recordings that are all of one kind'
printf '\2' | dd of=bad/a-2.wav bs=1 seek=22 conv=notrunc 2> /dev/null        # two channels
printf '\100\37' | dd of=bad/b-2.wav bs=1 seek=24 conv=notrunc 2> /dev/null # 8000 Hz
note='bad/wav.scp: the recordings differ: 2 of 16000 Hz with 1 channel, 1 of 16000 Hz with 2 channels, 1 of 8000 Hz'
validate 0 "$note with 1 channel; no fault" bad
validate 0 'good: 4 utterances' bad
sed -i '1s/ .*/ false |/' bad/wav.scp
validate 0 'bad/wav.scp: 1 recording is the output of a command, which was not run; no fault' bad
validate 0 'good: 4 utterances' bad
sed -i '2s/ .*/ false |/' bad/wav.scp
validate 0 'bad/wav.scp: 2 recordings are outputs of commands, which were not run; no fault' bad

# Segments of recordings.
segments() {
  make_folder bad
  sed 's/^/rec-/' bad/wav.scp > wav && mv wav bad/wav.scp
  sed 's/\(.*\) .*/\1 rec-\1 0 -1/' bad/utt2spk > bad/segments
}
segments
validate 0 'good: 4 utterances' bad
sed -i '1s/0 -1/0 1.6/' bad/segments
fault 'bad/segments:1: a-1 runs from 0 to 1.6 s, but rec-a-1 has 1 s; correct the times' 3

# What is a fault here is what the reader of audio warns of.
segments
sed -i '1s/0 -1/0 1.4/' bad/segments
validate 0 'good: 4 utterances' bad
check 0 '' "$linnet" features bad --out features.ark
! grep -F 'is cut' out || fail 'a segment within the tolerance is cut with a warning'
sed -i '1s/0 1.4/0 1.6/' bad/segments
check 0 'the part from 0.000 to 1.600 seconds is cut' "$linnet" features bad --out features.ark
segments
sed -i '1s/0 -1/2 -1/;2s/0 -1/0.5 0.5/;3s/rec-b-1/rec-x/' bad/segments
validate 1 'bad/segments:1: a-1 runs from 2 to -1 s, but' bad
validate 1 'bad/segments:2: a-2 runs from 0.5 to 0.5 s' bad
validate 1 'bad/segments:3: b-1 is part of rec-x, which is missing in wav.scp' bad
fault 'bad/segments:3' 1
segments
sed -i '1s/0 -1/0/' bad/segments
fault 'bad/segments:1: a-1 is not followed by: recording start end' 3
for times in 'nan nan' '0 inf' 'inf -1' '0 nan'; do
  segments
  sed -i "1s/0 -1/$times/" bad/segments
  fault 'bad/segments:1: a-1 is not followed by: recording start end' 3
done
segments
sed -i '1s/0 -1/2 1/' bad/segments
rm bad/b-1.wav
validate 1 'bad: 2 faults' bad
fault 'bad/segments:1: a-1 runs from 2 to 1 s' 2
segments
sed -i '1s/rec-a-1/rec-a-2/' bad/segments
fault 'bad/wav.scp:1: rec-a-1 is in no line of segments' 4

# The byte order mark of UTF-8 is no part of the first id.
make_folder bad
for file in text utt2spk wav.scp; do
  sed -i '1s/^/\xef\xbb\xbf/' bad/$file
  fault "bad/$file: begins with the byte order mark of UTF-8; remove these three bytes" 4
done
for frames in 123456789012 +5 ' -5' 0 5x; do
  sed 's/ .*/ 98/' bad/text | sed "\$s/ .*/ $frames/" > bad/utt2num_frames
  fault 'bad/utt2num_frames:4: b-2 is not followed by a number of frames' 3
done

# What --fix does to files: saves the old ones, removes unknown recordings, and leaves the rest unchanged.
segments
sed -i 2d bad/text
cp bad/utt2spk before
validate 0 'kept 3 of 4 utterances' --fix bad
cmp bad/.backup/utt2spk before || fail 'there is no copy of the old utt2spk'
[[ $(wc -l < bad/wav.scp) -eq 3 && $(cat bad/spk2utt) == $'a a-1\nb b-1 b-2' ]] || fail 'wav.scp or spk2utt is wrong'
[[ ! -e bad/.backup/text ]] || fail 'an unchanged file was written again'

# A second run keeps the originals of the first, and names its own folder.
cp bad/text second
echo 'c-1 WORDS' >> bad/text
validate 0 'the files as they were are in bad/.backup.1' --fix bad
cmp bad/.backup/utt2spk before || fail 'the second --fix replaced the originals of the first'
[[ $(tail -n 1 bad/.backup.1/text) == 'c-1 WORDS' ]] || fail 'the second --fix saved no text'
cmp bad/text second || fail 'the second --fix did not mend text'
rm bad/spk2utt
validate 0 'no file that was there changed' --fix bad
[[ ! -e bad/.backup.2 ]] || fail '--fix made an empty backup'

# What --fix cannot do.
make_folder bad
sed -i '1s/a$/c/' bad/utt2spk
rm bad/spk2gender
validate 1 "bad/utt2spk:1: a-1 has speaker c, but a-2 after it has a; correct the speaker, or begin" --fix bad
validate 1 'bad: 1 fault' bad
make_folder bad
sed -i '4s/b$/a/' bad/utt2spk
printf 'a a-1 a-2 b-2\nb b-1\n' > bad/spk2utt
validate 1 'bad/utt2spk:4: b-2 has speaker a, but b-1 before it has b; correct the speaker' bad
validate 1 'bad: 1 fault' bad
make_folder bad
rm bad/utt2spk
validate 1 'bad/utt2spk: is missing' bad
validate 1 'cannot be fixed without utt2spk' --fix bad
make_folder bad
: > bad/text
validate 1 'no utterance is in all lists' --fix bad
[[ ! -s bad/text && ! -e bad/.backup ]] || fail '--fix changed a folder of which no utterance would remain'
printf 'a\0b\n' > bad/text
validate 1 'bad/text: is binary' bad
printf '\377\376a\0\n\0' > bad/text
validate 1 'bad/text: is UTF-16, but should be UTF-8: convert it with iconv' bad
rm bad/text bad/wav.scp
validate 1 'bad/wav.scp: is missing, and so is feats.scp; add the file, or name the right folder' bad

# Many faults of one kind: the command prints the first and counts the others.
make_folder bad
for i in $(seq 1 30); do echo "c-$((i + 10)) WORDS"; done >> bad/text
validate 1 'bad/text: 20 more such faults' bad
validate 1 'bad: 30 faults' bad --max-faults 40
[[ $(grep -c 'is missing in utt2spk' out) -eq 30 ]] || fail '--max-faults has no effect'
[[ -z $(find . -name '*.tmp.*') ]] || fail 'temporary files are left'

echo "$failures failures"
[[ $failures -eq 0 ]]
