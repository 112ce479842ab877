/* linnet plot: draws a recording as a picture, with the recognised phones or the aligned phones of a known text. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "align_text.h"
#include "common/default_model.h"
#include "common/inputs.h"
#include "common/search_options.h"
#include "picture.h"

enum { MAX_PIXELS = 20000 };

static struct {
  char *model, *output, *text, *phones, *lexicon;
  int width, height;
  double start, end;
} options = {.width = 1200, .height = 800, .end = -1};

struct plotting {
  struct linnet_recognizer *recognizer;
  const struct linnet_model *model;        /* of the recognizer */
  struct linnet_calibrations calibrations; /* of its confidences */
  struct inputs inputs;
  struct linnet_recognizer_stream *stream;
  float *samples;
  struct picture picture;
  struct align_words_source words; /* of a known text: */
  struct linnet_text_aligner *aligner;
  struct linnet_aligned_text *text;
};

static const char *symbol_name(const void *user, int symbol) {
  return linnet_model_symbol(user, symbol);
}

/* --- what is drawn ------------------------------------------------------------------------------------------------ */

static bool compute_features(struct plotting *p, struct linnet_context *context) {
  struct picture *picture = &p->picture;
  struct linnet_feature_config config;
  struct linnet_fbank *fbank = NULL;
  linnet_model_features(p->model, &config);
  if (linnet_fbank_create(context, &config.fbank, &fbank) != LINNET_OK) {
    tool_fail_context(context);
    return false;
  }
  struct rows *rows = &picture->features;
  rows->cols = linnet_fbank_dim(fbank);
  rows->count = linnet_fbank_num_frames(fbank, picture->sample_count);
  rows->values = malloc((rows->count + 1) * rows->cols * sizeof *rows->values);
  picture->feature_seconds = (double)linnet_fbank_shift(fbank) / picture->sample_rate;
  bool good = rows->values && linnet_fbank_compute(fbank, p->samples, picture->sample_count, rows->values) == LINNET_OK;
  if (!rows->values)
    tool_fail("out of memory for %zu frames", rows->count);
  else if (!good)
    tool_fail_context(context);
  linnet_fbank_destroy(fbank);
  return good;
}

static bool compute_posteriors(struct plotting *p, struct linnet_context *context) {
  struct picture *picture = &p->picture;
  picture->posteriors.cols = linnet_model_num_symbols(p->model);
  if (linnet_recognizer_stream_create(context, p->recognizer, &p->stream) == LINNET_OK) {
    linnet_recognizer_stream_set_sink(p->stream, rows_keep, &picture->posteriors);
    if (linnet_recognizer_stream_accept(p->stream, p->samples, picture->sample_count) == LINNET_OK &&
        linnet_recognizer_stream_finish(p->stream) == LINNET_OK) {
      picture->posterior_seconds = linnet_model_frame_seconds(p->model);
      return true;
    }
  }
  tool_fail_context(context);
  return false;
}

static bool read_text(struct plotting *p, struct linnet_context *context) {
  const char *title = p->picture.title;
  if ((options.phones ? linnet_aligned_text_create_phones(context, p->aligner, options.phones, title, &p->text)
                      : linnet_aligned_text_create(context, p->aligner, options.text, "--text", &p->text)) == LINNET_OK)
    return options.phones || align_text_check(p->text, &p->words, NULL, title, "--text");
  tool_fail_context(context);
  return false;
}

static bool align(struct plotting *p, struct linnet_context *context) {
  struct picture *picture = &p->picture;
  const struct rows *rows = &picture->posteriors;
  struct linnet_align_settings settings;
  struct linnet_output output = {.size = sizeof output, .id = picture->title};
  linnet_align_settings_default(&settings);
  settings.calibrations = &p->calibrations;
  if (!read_text(p, context))
    return false;
  if (linnet_aligned_text_align(p->text, rows->values, rows->count, picture->posterior_seconds,
                                linnet_recognizer_stream_seconds(p->stream), &settings) != LINNET_OK) {
    tool_fail_context(context);
    return false;
  }
  linnet_aligned_text_describe(p->text, &output);
  picture->phones = output.phones;
  picture->num_phones = output.num_phones;
  picture->words = output.words;
  picture->num_words = output.num_words;
  return true;
}

static bool recognise(struct plotting *p, struct linnet_context *context) {
  const struct linnet_result *result;
  if (linnet_recognizer_stream_result(p->stream, &result) != LINNET_OK) {
    tool_fail_context(context);
    return false;
  }
  p->picture.phones = result->alternatives[0].phones;
  p->picture.num_phones = result->alternatives[0].num_phones;
  return true;
}

/* --- the picture -------------------------------------------------------------------------------------------------- */

/* Whether the end of a picture is that of its format. gnuplot does not report failed writes, so this detects them. */
static bool is_complete(FILE *drawn, bool bitmap) {
  static const char end_of_png[] = "IEND\xAE\x42\x60\x82", end_of_svg[] = "</svg>";
  const char *wanted = bitmap ? end_of_png : end_of_svg;
  char end[64];
  long size = fseek(drawn, 0, SEEK_END) == 0 ? ftell(drawn) : -1;
  if (size < 0 || fseek(drawn, size > (long)sizeof end ? size - (long)sizeof end : 0, SEEK_SET) != 0)
    return false;
  size_t n = fread(end, 1, sizeof end, drawn), length = strlen(wanted);
  while (!bitmap && n > 0 && strchr(" \r\n", end[n - 1]))
    n--;
  return n >= length && memcmp(end + n - length, wanted, length) == 0;
}

/* Writes to a file beside the target and renames it when it is complete. */
static bool copy(FILE *drawn, const char *path) {
  struct tool_output output;
  char piece[4096];
  rewind(drawn);
  if (!tool_output_open(&output, path))
    return false;
  for (size_t n; (n = fread(piece, 1, sizeof piece, drawn)) > 0;)
    if (fwrite(piece, 1, n, output.stream) != n)
      break;
  if (!ferror(drawn))
    return tool_output_commit(&output);
  tool_fail("%s: cannot read what gnuplot drew: %s", path, strerror(errno));
  tool_output_abandon(&output);
  return false;
}

/* gnuplot draws into a file without a name, which is then checked. */
static bool draw(const struct picture *picture, const char *path) {
  FILE *script = tmpfile(), *drawn = tmpfile();
  bool good = script && drawn;
  if (!good)
    tool_fail("cannot make temporary files for gnuplot: %s", strerror(errno));
  good = good && picture_write(picture, script) && gnuplot_run(script, drawn);
  if (good && !is_complete(drawn, picture->bitmap)) {
    tool_fail("%s: gnuplot could not write the whole picture: free space in the folder of temporary files", path);
    good = false;
  }
  good = good && copy(drawn, path);
  if (script)
    fclose(script);
  if (drawn)
    fclose(drawn);
  return good;
}

static bool has_ending(const char *path, const char *ending) {
  size_t length = strlen(path), n = strlen(ending);
  return length > n && strcmp(path + length - n, ending) == 0;
}

/* The given name, or the name of the input without folders and with another extension; the caller frees it. */
static char *output_path(const struct inputs *inputs) {
  if (options.output)
    return strdup(options.output);
  const char *id = inputs_id(inputs, 0), *slash = strrchr(id, '/');
  id = slash ? slash + 1 : id;
  size_t size = strlen(id) + sizeof ".svg";
  char *path = malloc(size);
  if (path)
    snprintf(path, size, "%s.svg", id);
  return path;
}

static bool plot(struct plotting *p, struct linnet_context *context) {
  struct picture *picture = &p->picture;
  double seconds = (double)picture->sample_count / picture->sample_rate;
  picture->start = options.start;
  picture->end = options.end >= 0 && options.end < seconds ? options.end : seconds;
  char *path = output_path(&p->inputs);
  if (!path)
    tool_fail("out of memory");
  bool good = path && compute_features(p, context) && compute_posteriors(p, context) &&
              (options.text || options.phones ? align : recognise)(p, context);
  if (good) {
    picture->bitmap = has_ending(path, ".png");
    good = draw(picture, path);
  }
  free(path);
  return good;
}

static int plot_input(struct plotting *p, struct linnet_context *context, const char **paths, size_t count) {
  struct picture *picture = &p->picture;
  int code;
  if (!inputs_open(&p->inputs, context, p->recognizer, paths, count, &code))
    return code;
  code = TOOL_FAILURE;
  tool_catch_interrupt();
  *picture = (struct picture){.width = options.width, .height = options.height, .name = symbol_name, .user = p->model};
  picture->title = inputs_id(&p->inputs, 0);
  picture->sample_rate = tool_sample_rate(p->model);
  if (p->inputs.count != 1)
    code = tool_usage("only one recording can be drawn, but there are %zu", p->inputs.count);
  else if (inputs_read(&p->inputs, context, 0, &p->samples, &picture->sample_count) != LINNET_OK)
    tool_fail_context(context);
  else {
    picture->samples = p->samples;
    code = plot(p, context) && p->inputs.walk.num_failed == 0 ? TOOL_OK : TOOL_FAILURE;
  }
  linnet_aligned_text_destroy(p->text);
  linnet_recognizer_stream_destroy(p->stream);
  free(picture->features.values);
  free(picture->posteriors.values);
  linnet_audio_release(context, p->samples);
  inputs_close(&p->inputs);
  return tool_interrupted() ? TOOL_INTERRUPTED : code;
}

static bool open_recognizer(struct plotting *p, struct linnet_context *context, const char *path, int *code) {
  struct linnet_search_settings search;
  linnet_search_settings_default(&search);
  if (beam_options_given())
    search.kind = LINNET_SEARCH_SYMBOLS;
  beam_options_read(&search);
  p->recognizer = tool_open_recognizer(context, path, &search, &p->calibrations, code);
  if (p->recognizer)
    p->model = linnet_recognizer_model(p->recognizer);
  return p->recognizer != NULL;
}

static int run(struct linnet_context *context, const char *path, const char **paths, size_t count) {
  struct plotting p = {.words.named = NULL};
  const bool known = options.text || options.phones;
  int code = TOOL_FAILURE;
  if (options.text) {
    p.words.files = tool_find_word_files(context, options.model);
    p.words.named = tool_choose_lexicon(options.lexicon, &p.words.files);
  }
  if (options.text && !align_words_pronounced(&p.words, true))
    code = align_words_fail();
  else if (open_recognizer(&p, context, path, &code)) {
    p.aligner = known ? align_text_open(context, p.recognizer, options.text ? &p.words : NULL) : NULL;
    code = !known || p.aligner ? plot_input(&p, context, paths, count) : TOOL_FAILURE;
  }
  linnet_text_aligner_destroy(p.aligner);
  linnet_recognizer_destroy(p.recognizer);
  tool_free_word_files(&p.words.files);
  return code;
}

static bool check_options(void) {
  const char *path = options.output, *words = options.lexicon ? "--lexicon" : align_words_given();
  if (path && !has_ending(path, ".svg") && !has_ending(path, ".png"))
    tool_usage("--output %s: must end in .svg or .png", path);
  else if (options.text && options.phones)
    tool_usage("only one of --text and --phones");
  else if (!options.text && words)
    tool_usage("%s: needs --text WORDS", words);
  else if ((options.text || options.phones) && beam_options_any())
    tool_usage("--beam, --lm and other options of a search: %s is aligned, not searched for: omit them",
               options.text ? "--text" : "--phones");
  else if (options.width < 100 || options.height < 100 || options.width > MAX_PIXELS || options.height > MAX_PIXELS)
    tool_usage("--width %d, --height %d: must be 100 to %d", options.width, options.height, MAX_PIXELS);
  else if (!(options.start >= 0) || (options.end >= 0 && !(options.end > options.start)))
    tool_usage("--start %g, --end %g: the end must be above the start", options.start, options.end);
  else
    return beam_options_check(true, false);
  return false;
}

int tool_plot(int argc, const char **argv) {
  const struct poptOption table[] = {
      {"output", 'o', TOOL_OUTPUT, &options.output, 0,
       "picture to write, NAME.svg or NAME.png (default: FILE's name with .svg, in this folder)", "NAME"},
      {"text", 't', POPT_ARG_STRING, &options.text, 0, "align these words (default: recognise)", "WORDS"},
      {"phones", 'p', POPT_ARG_STRING, &options.phones, 0, "align these phones (default: recognise)", "PHONES"},
      {"lexicon", 'l', TOOL_INPUT, &options.lexicon, 0,
       "pronunciations for --text, as in CMUdict or Kaldi (default: those of the recognizer; without one, "
       "$LINNET_LEXICON)",
       "FILE"},
      {"start", 0, POPT_ARG_DOUBLE, &options.start, 0, "draw from this time on (default 0)", "SECONDS"},
      {"end", 0, POPT_ARG_DOUBLE, &options.end, 0, "draw up to this time (default: the end)", "SECONDS"},
      {"width", 0, POPT_ARG_INT, &options.width, 0, "width of the picture (default 1200)", "PIXELS"},
      {"height", 0, POPT_ARG_INT, &options.height, 0, "height of the picture (default 800)", "PIXELS"},
      TOOL_MODEL_ROW(options.model),
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, align_words_options, 0, "Words of the text:", NULL},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, beam_options_table, 0,
       "Beam search for phones (default: greedy; the defaults of its options are those after 'else'):", NULL},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, inputs_options, 0, "Input:", NULL},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, tool_common_options, 0, "Common options:", NULL},
      POPT_TABLEEND};
  poptContext parsed =
      tool_parse(argc, argv, table, "[OPTIONS] FILE   ('-' is standard input; needs gnuplot)", NULL, NULL);
  size_t count = 0;
  const char **paths = parsed ? inputs_arguments(parsed, &count) : NULL;
  if (paths && count > 1) {
    tool_usage("'%s' is one argument too many: only one recording can be drawn", paths[1]);
    paths = NULL;
  }
  int code = tool_with_recognizer(options.model, paths && check_options() ? paths : NULL, count, run);
  poptFreeContext(parsed);
  return code;
}
