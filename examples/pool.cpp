// Transcribes many files at once with one recognizer: pool RECOGNIZER AUDIO...
// Prints one line per file, in the order of the arguments. Each thread has its own context handle and stream; all
// threads share the model, the lexicon and the language model.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <linnet/recognizer.h>

namespace {

template <auto destroy> struct Destroy {
  template <typename T> void operator()(T *object) const { destroy(object); }
};
using Context = std::unique_ptr<linnet_context, Destroy<linnet_context_destroy>>;
using Recognizer = std::unique_ptr<linnet_recognizer, Destroy<linnet_recognizer_destroy>>;
using Stream = std::unique_ptr<linnet_recognizer_stream, Destroy<linnet_recognizer_stream_destroy>>;

struct Transcript {
  std::string text;
  bool good = false;
};

Transcript transcribe(linnet_context *context, linnet_recognizer_stream *stream, const char *path) {
  const linnet_result *result = nullptr;
  if (linnet_recognizer_stream_run_file(stream, path, nullptr, &result) != LINNET_OK)
    return {linnet_context_error(context), false};
  const linnet_alternative &best = result->alternatives[0];
  const linnet_span *spans = best.words ? best.words : best.phones;
  const size_t count = best.words ? best.num_words : best.num_phones;
  Transcript transcript{"", true};
  for (size_t i = 0; i < count; i++)
    transcript.text += (i > 0 ? " " : "") + std::string(spans[i].text);
  return transcript;
}

// A thread: transcribes the next file until no file remains.
void work(linnet_context *shared, const linnet_recognizer *recognizer, const std::vector<std::string> &paths,
          std::vector<Transcript> &transcripts, std::atomic<size_t> &next) {
  linnet_recognizer_stream *made = nullptr;
  Context context(shared);
  const bool ready = linnet_recognizer_stream_create(context.get(), recognizer, &made) == LINNET_OK;
  const Stream stream(made);
  for (size_t i; (i = next++) < paths.size();)
    transcripts[i] = ready ? transcribe(context.get(), stream.get(), paths[i].c_str())
                           : Transcript{linnet_context_error(context.get()), false};
}

} // namespace

int main(int argc, char **argv) {
  linnet_context *context = nullptr;
  linnet_recognizer *loaded = nullptr;
  if (argc < 3 || linnet_context_create(nullptr, &context) != LINNET_OK)
    return 2;
  const Context main_context(context);
  if (linnet_recognizer_load(context, argv[1], &loaded) != LINNET_OK) {
    std::fprintf(stderr, "pool: %s\n", linnet_context_error(context));
    return 1;
  }
  const Recognizer recognizer(loaded);
  const std::vector<std::string> paths(argv + 2, argv + argc);
  std::vector<Transcript> transcripts(paths.size());
  std::vector<std::thread> threads;
  std::atomic<size_t> next{0};
  const size_t wanted = std::min<size_t>(linnet_context_num_threads(context), paths.size());
  for (size_t i = 0; i < wanted; i++) {
    linnet_context *shared = nullptr;
    if (linnet_context_share(context, &shared) == LINNET_OK)
      threads.emplace_back(work, shared, recognizer.get(), std::cref(paths), std::ref(transcripts), std::ref(next));
  }
  for (std::thread &thread : threads)
    thread.join();
  bool good = !threads.empty();
  for (size_t i = 0; i < paths.size(); i++) {
    std::fprintf(transcripts[i].good ? stdout : stderr, "%s\t%s\n", paths[i].c_str(), transcripts[i].text.c_str());
    good = good && transcripts[i].good;
  }
  return !good;
}
