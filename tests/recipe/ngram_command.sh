#!/usr/bin/env bash
# The command line of `linnet ngram`: its output, files and exit status.
#
#   ngram_command.sh LINNET
# shellcheck source=tests/recipe/command.sh
. "$(dirname "$0")/command.sh"
golden=$here/../golden

# same FILE FILE: the files must be equal.
same() {
  cmp "$1" "$2" || fail "$1 and $2 differ"
}

text=$golden/ngram_text.txt
check 0 'Usage: linnet ngram [OPTIONS] [TEXT...]' "$linnet" ngram --help
check 2 'nothing to do' "$linnet" ngram "$text"
check 2 'must be 1 to 8' "$linnet" ngram --order 0 --arpa a "$text"
check 2 'must be 1 to 8' "$linnet" ngram --order 9 --arpa a "$text"
check 2 '--order -1: must be 1 to 8' "$linnet" ngram --order -1 --arpa a "$text"
check 2 'one of --model, which reads a model, and --text' "$linnet" ngram --model m --text t
check 2 'can be standard input' "$linnet" ngram --arpa a --perplexity -
check 1 'no-such-file: No such file' "$linnet" ngram --arpa a --text no-such-file
check 0 ':3: is not UTF-8, as 1 line of the texts' "$linnet" ngram --discount-fallback --order 1 --arpa - \
  <(printf 'a b\na c\ncaf\351 a\n')
check 1 'no-such-file: No such file' "$linnet" ngram --model no-such-file
check 1 'no text' "$linnet" ngram --arpa a

mark=$'\xEF\xBB\xBF' # of UTF-8, as editors on Windows write it
printf 'a b\nb <s>\n' > special
printf 'a b\nb a\n' > tiny
check 1 "special:2: '<s>' has a special meaning" "$linnet" ngram --arpa a special
check 1 'cannot estimate discounts for 1-grams' "$linnet" ngram --arpa a tiny
check 1 'or fixed discounts (--discount-fallback)' "$linnet" ngram --arpa a tiny
[[ ! -e a ]] || { echo 'FAILED: a file was written without a model'; failures=$((failures + 1)); }
check 0 'fixed discounts for 1-grams' "$linnet" ngram --discount-fallback --arpa a tiny
check 0 '2-grams 6' "$linnet" ngram --model a

# The order of sentences, a divided text and standard input do not change the model.
"$linnet" ngram --order 4 --text "$text" --arpa whole.arpa --binary whole.bin
sort -r "$text" | "$linnet" ngram -n 4 --arpa sorted.arpa
head -n 100 "$text" > first
tail -n +101 "$text" > second
"$linnet" ngram -n 4 --text first --text second --arpa pieces.arpa
same whole.arpa sorted.arpa
same whole.arpa pieces.arpa

# Conversion of each form into the others.
"$linnet" ngram --model whole.arpa --binary again.bin
"$linnet" ngram --model whole.bin --arpa again.arpa
same whole.bin again.bin
same whole.arpa again.arpa
"$linnet" ngram --model whole.arpa --quantize --binary small.bin
check 0 'values of 8 bits' "$linnet" ngram --model small.bin
check 0 '4-grams' "$linnet" ngram --model whole.bin

# Pruning gives fewer n-grams but all words; it uses the counts of a text, or the probabilities of a model.
check 2 'must be above 0 and below 1' "$linnet" ngram --prune 0 --arpa a "$text"
check 2 '--prune -1: must be above 0 and below 1' "$linnet" ngram --prune -1 --arpa a "$text"
check 2 'must be above 0 and below 1' "$linnet" ngram --prune nan --arpa a "$text"
check 2 'must be above 0 and below 1' "$linnet" ngram --prune 1.5 --model whole.bin
check 2 'pruning drops no n-grams of --order 1' "$linnet" ngram --order 1 --prune 1e-4 --arpa a "$text"
"$linnet" ngram --order 1 --text "$text" --binary one.bin
check 1 'one.bin: --prune: pruning drops no n-grams of a model of order 1' "$linnet" ngram --model one.bin --prune 0.1
check 1 'small.bin: the language model is quantized: prune the one' "$linnet" ngram --model small.bin --prune 1e-4
"$linnet" ngram --order 4 --text "$text" --prune 7.22e-05 --binary pruned.bin
"$linnet" ngram --model whole.bin --prune 1.173e-04 --quantize --binary quantized.bin
check 0 '4-grams 81' "$linnet" ngram --model pruned.bin
check 0 '4-grams 12' "$linnet" ngram --model quantized.bin
check 0 'values of 8 bits' "$linnet" ngram --model quantized.bin
sort -r "$text" | "$linnet" ngram -n 4 --prune 7.22e-05 --binary again.bin
same pruned.bin again.bin
"$linnet" ngram --order 4 --text "$text" --prune 0.001399 --arpa none.arpa
check 0 '4-grams 0' "$linnet" ngram --model none.arpa

# Perplexity: a unigram model computed by hand; all forms give the same.
printf '\\data\\\nngram 1=4\n\n\\1-grams:\n-1\t<unk>\n-99\t<s>\n-0.5\t</s>\n-0.25\ta\n\n\\end\\\n' > uni.arpa
printf 'a a\nx\n' > few
check 0 'unknown words 1' "$linnet" ngram --model uni.arpa --perplexity few
! grep -q 'warning' out || fail "a warning about one unknown word: $(< out)"
check 0 'the model lacks 2 of the 3 words' "$linnet" ngram --model uni.arpa --perplexity <(echo 'a A B')
check 2 'both write to standard output' "$linnet" ngram --model uni.arpa --binary - --perplexity few
check 0 'log10 probability -2.500000' "$linnet" ngram --model uni.arpa --perplexity few
check 0 'perplexity 3.162278' "$linnet" ngram --model uni.arpa --perplexity few
check 0 'perplexity without unknown words 2.371374' "$linnet" ngram --model uni.arpa --perplexity few
"$linnet" ngram --model whole.arpa --perplexity "$text" > one
"$linnet" ngram --model whole.bin --perplexity - < "$text" > two
same one two
sed 's/=4/=3/; /<\/s>/d' uni.arpa > endless.arpa # without </s>, the ends of sentences are no tokens
check 0 'perplexity 3.162278' "$linnet" ngram --model endless.arpa --perplexity <(echo a a x)
check 0 'perplexity without unknown words 1.778279' "$linnet" ngram --model endless.arpa --perplexity few
check 0 'unknown words 1' "$linnet" ngram --model endless.arpa --perplexity <(echo x)
! grep -q 'without unknown\|nan' out || fail "of no words: $(cat out)"
# A mark of UTF-8 in front of a text is not part of its first word; the markers of sentences are no words.
{ printf %s "$mark" && cat "$text"; } > marked
"$linnet" ngram --order 4 --text marked --arpa marked.arpa
same whole.arpa marked.arpa
"$linnet" ngram --model whole.arpa --perplexity marked > two
same one two
for marker in '<s>' '</s>'; do
  printf 'a a\na %s\n' "$marker" > special
  check 1 "special:2: '$marker' has a special meaning in a language model: remove it from the text" \
    "$linnet" ngram --model uni.arpa --perplexity special
done
check 0 'unknown words 1' "$linnet" ngram --model uni.arpa --perplexity <(echo 'a <unk>')
check 1 'no sentences' "$linnet" ngram --model uni.arpa --perplexity /dev/null

# A mixture: P(a) is 0.75 * 10^-0.25 + 0.25 * 10^-0.1, and only the other model has b.
printf '\\data\\\nngram 1=3\n\n\\1-grams:\n-1\t</s>\n-0.1\ta\n-0.5\tb\n\n\\end\\\n' > other.arpa
"$linnet" ngram --model uni.arpa --mix other.arpa --mix-weight 0.25 --arpa mixed.arpa
awk '$2 == "a" {a = $1} $2 == "b" {b = $1} END {exit !(a > -0.20738 && a < -0.20736 && b > -1.1021 && b < -1.1020)}' \
  mixed.arpa || fail "mixture: $(cat mixed.arpa)"
"$linnet" ngram --order 4 --discount-fallback --text first --mix whole.bin --binary mixed.bin
"$linnet" ngram --order 4 --discount-fallback --text first --mix whole.bin --mix-weight 0.5 --prune 1e-4 --quantize --binary mixed-small.bin
check 0 'values of 8 bits' "$linnet" ngram --model mixed-small.bin
[[ $(wc -c < mixed-small.bin) -lt $(wc -c < mixed.bin) ]] || fail 'the mixture is not pruned'
"$linnet" ngram --model small.bin --mix whole.bin --prune 1e-4 --binary again.bin || fail 'a mixture of a quantized model'
check 2 '--mix-weight 0.5: needs --mix FILE' "$linnet" ngram --model whole.bin --mix-weight 0.5
check 2 '--mix-weight 1: must be above 0 and below 1' "$linnet" ngram --model whole.bin --mix a --mix-weight 1
check 1 'no-such-file: No such file' "$linnet" ngram --model whole.bin --mix no-such-file

# Words of another case or with punctuation are other words: then a mixture does nothing, and the command says so.
tr '[:lower:]' '[:upper:]' < first > upper
check 0 "warning: whole.bin: lacks" "$linnet" ngram --order 2 --discount-fallback --text upper --mix whole.bin --binary mixed.bin
grep -qE "lacks [0-9]+ of the [0-9]+ words of the text, the first is '[^a-z]+'" out || fail "the warning: $(cat out)"
"$linnet" ngram --order 2 --discount-fallback --text first --mix whole.bin --binary mixed.bin 2> out || fail "$(cat out)"
! grep -q lacks out || fail "a warning about common words: $(cat out)"

# Outputs are tried before the work: here the text is at fault, too.
printf 'a\0b\n' > nul
for option in --arpa --binary; do
  check 1 'none/x: cannot write: No such file or directory' "$linnet" ngram --order 2 --text nul $option none/x
done
[[ -z $(find . -name '*.partial*' -o -name 'x.*') ]] || fail "what is left: $(ls)"

# Wrong files.
head -c 300 whole.arpa > cut.arpa
head -c 3000 whole.bin > cut.bin
check 1 'cut.arpa:' "$linnet" ngram --model cut.arpa
check 1 'the file is truncated' "$linnet" ngram --model cut.bin
check 1 "$text:" "$linnet" ngram --model "$text"

# The seeds of the fuzz target must be models of this version.
for seed in "$here"/../fuzz/corpus/ngram/*.bin; do check 0 '' "$linnet" ngram --model "$seed"; done

[[ $failures -eq 0 ]] || exit 1
echo 'all passed'
