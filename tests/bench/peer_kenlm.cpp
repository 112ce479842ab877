// KenLM (github.com/kpu/kenlm) on the work of bench_ngram: a text's words one after another, and shuffled. Built by
// hand, K its folder or that of its Python package's sources:
//
//   g++ -O3 -DNDEBUG -std=c++17 -DKENLM_MAX_ORDER=6 -I K -o peer_kenlm peer_kenlm.cpp
//     $(ls K/{lm,util,util/double-conversion}/*.cc | grep -v 'main.cc\|test.cc')
//
// usage: peer_kenlm ARPA TEXT
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "lm/model.hh"

static double seconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

template <class Model>
static double score_all(const Model &model, const std::vector<lm::WordIndex> &words, lm::WordIndex end) {
  lm::ngram::State states[2] = {model.BeginSentenceState()};
  double sum = 0;
  int now = 0;
  for (const lm::WordIndex word : words) {
    sum += model.Score(states[now], word, states[1 - now]);
    now = 1 - now;
    if (word == end)
      states[now] = model.BeginSentenceState();
  }
  return sum;
}

template <class Model>
static void report(const char *what, const Model &model, const std::vector<lm::WordIndex> &words, lm::WordIndex end) {
  double sum = 0, best = 1e9;
  for (int round = 0; round < 9; round++) {
    const double start = seconds();
    sum = score_all(model, words, end);
    best = std::min(best, seconds() - start);
  }
  std::printf("%-24s %8.2f million look-ups/s   %6.1f ns   mean log10 %.6f\n", what, (double)words.size() / best * 1e-6,
              best / (double)words.size() * 1e9, sum / (double)words.size());
}

template <class Model> static void measure(const char *form, const char *arpa, const char *path) {
  lm::ngram::Config config;
  config.show_progress = false;
  const Model model(arpa, config);
  const lm::WordIndex end = model.GetVocabulary().EndSentence();
  std::vector<lm::WordIndex> words;
  std::ifstream file(path);
  for (std::string line, word; std::getline(file, line); words.push_back(end))
    for (std::istringstream text(line); text >> word;)
      words.push_back(model.GetVocabulary().Index(word));
  std::printf("%s\n", form);
  report("text", model, words, end);
  std::shuffle(words.begin(), words.end(), std::mt19937(3));
  report("shuffled", model, words, end);
}

int main(int argc, char **argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: peer_kenlm ARPA TEXT\n");
    return 2;
  }
  measure<lm::ngram::ProbingModel>("KenLM, probing", argv[1], argv[2]);
  measure<lm::ngram::TrieModel>("KenLM, trie", argv[1], argv[2]);
}
