// ctcdecode (github.com/parlance/ctcdecode) without its Python: decodes raw posteriors as bench_words does.
// peer_words.py runs it. Built by hand: C the sources of PyPI's ctcdecode 1.0.2, which lack their headers, H those
// headers written from the definitions (ThreadPool.h among them), K the sources of PyPI's kenlm 0.3.0, OpenFst as
// Debian's libfst-dev has it:
//
//   g++ -O3 -DNDEBUG -std=c++17 -DKENLM_MAX_ORDER=6 -I H -I K -o peer_ctcdecode peer_ctcdecode.cpp
//     C/ctcdecode/src/[cdps]*.cpp $(ls K/{lm,util,util/double-conversion}/*.cc | grep -v 'main.cc\|test.cc')
//     -lfst -lpthread -ldl -lrt
//
// usage: peer_ctcdecode LABELS ARPA RAW LENGTHS BEAM TOP WEIGHT BONUS
//
// LABELS has a line for each symbol, blank first; "|" ends words. RAW are float32 rows of log-posteriors, LENGTHS the
// frames of each utterance. Prints the seconds of the processor that the search took, then a line of words for each
// utterance.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "ctc_beam_search_decoder.h"

static double seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char **argv) {
  if (argc != 9) {
    std::fprintf(stderr, "usage: peer_ctcdecode LABELS ARPA RAW LENGTHS BEAM TOP WEIGHT BONUS\n");
    return 2;
  }
  std::vector<std::string> labels;
  std::ifstream names(argv[1]), raw(argv[3], std::ios::binary), lengths(argv[4]);
  for (std::string name; std::getline(names, name);)
    labels.push_back(name == "|" ? " " : name);
  const auto beam = (size_t)std::atoi(argv[5]);
  const size_t top = std::min(labels.size(), (size_t)std::atoi(argv[6]));
  Scorer scorer(std::atof(argv[7]), std::atof(argv[8]), argv[2], labels);
  double spent = 0;
  std::string text;
  for (size_t frames; lengths >> frames;) {
    std::vector<std::vector<double>> rows(frames, std::vector<double>(labels.size()));
    std::vector<float> row(labels.size());
    for (auto &values : rows) {
      raw.read((char *)row.data(), (std::streamsize)(row.size() * sizeof(float)));
      values.assign(row.begin(), row.end());
    }
    const double start = seconds();
    const auto best = ctc_beam_search_decoder(rows, labels, beam, 1.0, top, 0, 1, &scorer);
    spent += seconds() - start;
    for (const int token : best.at(0).second.tokens)
      text += labels[(size_t)token];
    text += '\n';
  }
  std::cout << spent << '\n' << text;
}
