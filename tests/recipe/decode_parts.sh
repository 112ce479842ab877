#!/usr/bin/env bash
# recipes/common/decode.sh: recognition in parts gives the bytes of one run, parts that die run again, and what is lost is
# listed.
#
#   decode_parts.sh LINNET
# shellcheck source=tests/recipe/cluster.sh
. "$(dirname "$0")/cluster.sh"
make_stored '"epochs": 40'
sed -i '3s/feats/late/' stored/feats.scp
cp stored/feats.ark stored/late.ark
check 0 'train loss' "$linnet" train --train stored --dev stored --config conf.json --exp model
model=(--model model/model.safetensors)
in_parts() { # STATUS TEXT NAME ARGUMENTS...
  check "$1" "$2" "$recipes/common/decode.sh" --data stored --out "parts/$3" --parts 4 "${@:4}"
}

# --- the results of one run, by all commands

"$linnet" transcribe "${model[@]}" --data stored --output greedy.hyp 2> log
check 0 '6 utterances' "$linnet" posteriors "${model[@]}" --data stored --out post.ark
printf 'A\nB\n' > symbols
search=(decode --symbols symbols --beam 8)
"$linnet" "${search[@]}" --output beam.hyp ark:post.ark 2> log
in_parts 0 '4 of 4 parts to run' greedy -- transcribe "${model[@]}"
cmp greedy.hyp parts/greedy.hyp || fail 'transcribe in parts'
in_parts 0 '4 of 4 parts to run' post --jobs 1 -- posteriors "${model[@]}"
in_parts 0 '4 of 4 parts to run' beam --posteriors parts/post.scp -- "${search[@]}"
cmp beam.hyp parts/beam.hyp || fail 'decode in parts'
[[ $(find parts -name '*.parts') == '' && -s parts/beam.log ]] || fail "files that are left: $(ls parts)"

# --- tabs between the fields of a list

mkdir tabs
echo u1 > list
printf 'r1\tr1.wav\nr2\tr2.wav\n' > tabs/wav.scp
printf 'u1\tr1\t0\t1\nu2\tr2\t0\t1\n' > tabs/segments
printf 'u1\ts\nu2\ts\n' > tabs/utt2spk
printf 'u1\tA B\nu2\n' > tabs/phones
bash -euc '. "$0"; select_utterances tabs one list; phone_sentences tabs' "$recipes/common/lib.sh" > sentences
[[ $(cat one/wav.scp) == $'r1\tr1.wav' && $(cat sentences) == 'A B' ]] || fail "tabs: $(cat one/wav.scp sentences)"

# --- a finished command does not run again, unless something that it reads has changed

in_parts 0 'parts/beam.hyp is finished' beam --posteriors parts/post.scp -- "${search[@]}"
printf 'B\nA\n' > symbols
in_parts 0 '4 of 4 parts to run' beam --posteriors parts/post.scp -- "${search[@]}"
cmp -s beam.hyp parts/beam.hyp && fail 'other symbols had no effect'

# Other posteriors have the same list if the model has the same form.
cp parts/beam.hyp before.hyp
check 0 'train loss' "$linnet" train --train stored --dev stored --config conf.json --exp other --set epochs=1
in_parts 0 '4 of 4 parts to run' post -- posteriors --model=other/model.safetensors
in_parts 0 '4 of 4 parts to run' beam --posteriors parts/post.scp -- "${search[@]}"
in_parts 0 '4 of 4 parts to run' post -- posteriors "${model[@]}"
in_parts 0 '4 of 4 parts to run' post --posteriors parts/post.scp -- "${search[@]}"
cmp before.hyp parts/post.hyp || fail 'a search beside its posteriors'
[[ -s parts/post.scp && -s parts/post.4.ark ]] || fail 'the search removed its posteriors'
grep -v u5 parts/post.scp > some.scp
in_parts 1 '1 of 6 utterances have no result' some --posteriors some.scp -- "${search[@]}"

# A model that the environment names, and the library of the program. A script takes the place of ldd.
mkdir bin
printf '#!/bin/bash\necho "\tliblinnet.so.0 => %s/the library (0x00007f00)"\n' "$PWD" > bin/ldd
chmod +x bin/ldd
echo 1 > 'the library'
named() { PATH=$PWD/bin:$PATH LINNET_MODEL=$1 in_parts 0 "$2" named -- transcribe; }
named model/model.safetensors '4 of 4 parts to run'
named model/model.safetensors 'parts/named.hyp is finished'
named other/model.safetensors '4 of 4 parts to run'
echo 2 > 'the library'
named other/model.safetensors '4 of 4 parts to run'

# Folders whose names awk would take for assignments.
mkdir lr=1
cp -r stored parts/post.scp lr=1
sed "s# # $PWD/stored/#" stored/feats.scp > lr=1/stored/feats.scp
check 0 'parts to run' timeout 60 "$recipes/common/decode.sh" --data lr=1/stored --out lr=1/greedy --parts 4 -- transcribe "${model[@]}"
cmp greedy.hyp lr=1/greedy.hyp || fail 'a folder lr=1'
check 0 'parts to run' timeout 60 "$recipes/common/decode.sh" --data lr=1/stored --out lr=1/beam --posteriors lr=1/post.scp -- "${search[@]}"
cmp parts/beam.hyp lr=1/beam.hyp || fail 'posteriors in a folder lr=1'
take() { bash -euc '. "$0"; set=(); take_options "data dev set+ x+" "$@"; echo "$data $dev ${set[*]} ${x[*]}"' "$recipes/common/lib.sh" "$@"; }
[[ $(take --data a=b --dev a=b --set a=b c=d --x lr=1/a a.b=c) == './a=b ./a=b a=b c=d ./lr=1/a a.b=c' ]] || fail 'take_options: paths'

# --- what is lost is listed, and only its part runs again

mv stored/late.ark hidden
in_parts 1 '1 of 6 utterances have no result' lost -- transcribe "${model[@]}"
grep -q 'they run again (2 of 2)' out || fail "no retries: $(cat out)"
[[ $(cut -d ' ' -f 1,2 parts/lost.missing) == 'u3 2' ]] || fail "$(cat parts/lost.missing)"
[[ $(cut -d ' ' -f 1 parts/lost.hyp | paste -s -d ' ') == 'u1 u2 u4 u5 u6' ]] || fail "$(cat parts/lost.hyp)"
mv hidden stored/late.ark
in_parts 0 '1 of 4 parts to run' lost -- transcribe "${model[@]}"
cmp greedy.hyp parts/lost.hyp && [[ ! -e parts/lost.missing ]] || fail 'the lost utterance is still lost'

# --- a process that is killed

cat > dies << END
#!/bin/bash
[[ -e died || \$* != *parts/2* ]] || { touch died && kill -KILL \$\$; }
exec $linnet "\$@"
END
chmod +x dies
LINNET=$PWD/dies in_parts 0 '1 of 4 parts failed; they run again (1 of 2)' killed -- transcribe "${model[@]}"
cmp greedy.hyp parts/killed.hyp || fail 'a part that was killed'

# Part 2 has finished two utterances of three and written a part of the third when it dies, three times.
cat > half << END
#!/bin/bash
$linnet "\$@" || exit
[[ \$* == *' --output $PWD/parts/half.parts/2.hyp '* ]] || exit 0
cd parts/half.parts && head -c -2 2.hyp > 2.hyp.partial && rm 2.hyp && kill -KILL \$\$
END
chmod +x half
LINNET=$PWD/half in_parts 1 '1 of 6 utterances have no result' half --parts 2 -- transcribe "${model[@]}"
[[ $(cut -d ' ' -f 1,2 parts/half.missing) == 'u6 2' && $(wc -l < parts/half.hyp) -eq 5 ]] || fail "$(cat parts/half.hyp)"
# Its partial results do not pass for those of another model that was finished before.
in_parts 0 '2 of 2 parts to run' half --parts 2 -- transcribe "${model[@]}"
LINNET=$PWD/half in_parts 1 'have no result' half --parts 2 -- transcribe --model other/model.safetensors
in_parts 0 '2 of 2 parts to run' half --parts 2 -- transcribe "${model[@]}"
cmp greedy.hyp parts/half.hyp || fail 'partial results of another model'

in_parts 1 'COMMAND align: must be one of transcribe posteriors decode' x -- align
in_parts 1 'SCP is missing: decode wants --posteriors SCP' x -- decode
for format in '--format json' --format=json '-f json' -fjson; do
  read -r -a words <<< "$format"
  in_parts 1 '--format json: parts are joined as text only: leave it out' x -- transcribe "${model[@]}" "${words[@]}"
done
for option in '--estimate-priors=x' '--scp x' '--out x'; do
  read -r -a words <<< "$option"
  in_parts 1 "${words[0]%=*}: such results of parts cannot be joined: leave it out" x -- posteriors "${model[@]}" "${words[@]}"
done
for option in '--nbest 2' '-n2' '--output x' '-o x' '--output-dir=x' '--lattice x'; do
  read -r -a words <<< "$option"
  in_parts 1 "${words[0]%=*}: such results of parts cannot be joined: leave it out" x -- transcribe "${model[@]}" "${words[@]}"
done
in_parts 0 '4 of 4 parts to run' text -- transcribe "${model[@]}" --format text
in_parts 1 '--cmd cloud: must be one of local' x --cmd cloud -- transcribe

echo "$failures failures"
[[ $failures -eq 0 ]]
