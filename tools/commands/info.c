/* linnet info: prints what this build supports, or describes a model file. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include <linnet/model.h>

#include "common/default_model.h"
#include "common/tool.h"

static int option_json, option_symbols;

static const struct poptOption table[] = {
    {"json", 0, POPT_ARG_NONE, &option_json, 0, "write one JSON object (default: text)", NULL},
    {"symbols", 0, POPT_ARG_NONE, &option_symbols, 0,
     "write only the symbols, lines 'name index' as in Kaldi; without MODEL those of the model that ships (default: "
     "describe the model)",
     NULL},
    {NULL, 0, POPT_ARG_INCLUDE_TABLE, tool_device_options, 0, "Common options:", NULL},
    POPT_TABLEEND};

enum { LABEL = 12, WIDTH = 100 }; /* columns */

static const char *const compiler =
#if defined(__clang__)
    "clang " __clang_version__;
#elif defined(__GNUC__)
    "gcc " __VERSION__;
#else
    "unknown";
#endif

/* Prints an object on one line and releases it; NULL means that it could not be built. */
static int print_json(json_t *object) {
  int failed = !object || json_dumpf(object, stdout, JSON_REAL_PRECISION(15)) != 0;
  json_decref(object);
  if (failed)
    return tool_fail("cannot write JSON");
  putchar('\n');
  return TOOL_OK;
}

/* --- this build --------------------------------------------------------------------------------------------------- */

static bool runs_here(const char *kernels) {
  struct linnet_context_settings settings;
  struct linnet_context *context = NULL;
  linnet_context_settings_default(&settings);
  settings.num_threads = 1;
  settings.kernels = kernels;
  bool good = linnet_context_create(&settings, &context) == LINNET_OK;
  linnet_context_destroy(context);
  return good;
}

/* The names of all kernels that this build has and this processor runs. */
static json_t *list_kernels(void) {
  static const char *const names[] = {"reference", "generic",     "cblas",           "avx2",
                                      "avx512",    "avx512-bf16", "avx512-amx-bf16", "avx2-int8",
                                      "avxvnni",   "avx512-vnni", "avx512-amx-int8", "dotprod"};
  json_t *list = json_array();
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (runs_here(names[i]))
      json_array_append_new(list, json_string(names[i]));
  return list;
}

static void print_list(const json_t *list, const char *separator) {
  for (size_t i = 0; i < json_array_size(list); i++)
    printf("%s%s", i > 0 ? separator : "", json_string_value(json_array_get(list, i)));
}

static int describe_build(const struct linnet_context *context) {
  json_t *kernels = list_kernels();
  if (option_json)
    return print_json(json_pack("{ss ss so si ss ss ss ss}", "version", linnet_version(), "kernels",
                                linnet_context_kernels(context), "kernels_available", kernels, "threads",
                                (int)linnet_context_num_threads(context), "device", linnet_context_device(context),
                                "blas", LINNET_BUILD_BLAS, "build", LINNET_BUILD_TYPE, "compiler", compiler));
  printf("%-*s linnet %s\n", LABEL, "version", linnet_version());
  printf("%-*s %s (of: ", LABEL, "kernels", linnet_context_kernels(context));
  print_list(kernels, ", ");
  printf(")\n%-*s %zu\n", LABEL, "threads", linnet_context_num_threads(context));
  printf("%-*s %s\n", LABEL, "device", linnet_context_device(context));
  printf("%-*s %s\n", LABEL, "blas", LINNET_BUILD_BLAS);
  printf("%-*s %s, %s\n", LABEL, "build", LINNET_BUILD_TYPE, compiler);
  json_decref(kernels);
  return TOOL_OK;
}

/* --- a model as JSON ---------------------------------------------------------------------------------------------- */

/* Entries that other fields already show. */
static bool is_shown_elsewhere(const char *key) {
  return strcmp(key, "config") == 0 || strcmp(key, "features") == 0 || strcmp(key, "symbols") == 0;
}

/* A metadata entry whose value is JSON; the loader has checked it. */
static json_t *parse_metadata(const struct linnet_model *model, const char *key) {
  return json_loads(linnet_model_metadata(model, key), 0, NULL);
}

static json_t *free_metadata(const struct linnet_model *model) {
  json_t *map = json_object();
  const char *key;
  for (size_t i = 0; (key = linnet_model_metadata_key(model, i)); i++)
    if (!is_shown_elsewhere(key))
      json_object_set_new(map, key, json_string(linnet_model_metadata(model, key)));
  return map;
}

/* How much later audio a causal model needs for a symbol, but for the length of a window. */
static double lookahead_seconds(const struct linnet_model *model) {
  const double stride = (double)linnet_model_stride(model);
  return ((double)linnet_model_lookahead(model) + (stride - 1) / stride) * linnet_model_frame_seconds(model);
}

static int describe_model_json(const struct linnet_model *model, const char *path) {
  return print_json(json_pack("{so so sI sI si sf sb sf so so so}", "file", json_string(path), "metadata",
                              free_metadata(model), "parameters", (json_int_t)linnet_model_num_parameters(model),
                              "memory_bytes", (json_int_t)linnet_model_memory_bytes(model), "stride",
                              (int)linnet_model_stride(model), "frame_seconds", linnet_model_frame_seconds(model),
                              "causal", linnet_model_is_causal(model), "lookahead_seconds", lookahead_seconds(model),
                              "config", parse_metadata(model, "config"), "features", parse_metadata(model, "features"),
                              "symbols", parse_metadata(model, "symbols")));
}

/* --- a model as text ---------------------------------------------------------------------------------------------- */

/* Prints text of the file without control characters: C0 and C1 controls become '?'. Newlines stay and are followed by
 * `indent` spaces; if `indent` is negative, they become '?' too. */
static void print_plain(const char *text, int indent) {
  for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
    bool c1 = *c == 0xC2 && c[1] < 0xA0;
    if (*c == '\n' && indent >= 0)
      printf("\n%*s", indent, "");
    else
      putchar(*c < 0x20 || *c == 0x7F || c1 ? '?' : *c);
    c += c1;
  }
}

static void print_entry(const char *label, const char *text) {
  int padding = LABEL - (int)strlen(label);
  print_plain(label, -1);
  printf("%*s", padding > 0 ? padding + 1 : 1, "");
  print_plain(text, LABEL + 1);
  putchar('\n');
}

static void print_metadata(const struct linnet_model *model) {
  const char *key;
  for (size_t i = 0; (key = linnet_model_metadata_key(model, i)); i++)
    if (!is_shown_elsewhere(key))
      print_entry(key, linnet_model_metadata(model, key));
}

static void print_features(const struct linnet_model *model) {
  static const char *const cmvn[] = {"none", "per utterance", "per speaker", "global", "running"};
  struct linnet_feature_config features;
  linnet_model_features(model, &features);
  const struct linnet_fbank_settings *fbank = &features.fbank;
  printf("%-*s %zu log-mel bands of %g Hz audio, %g ms every %g ms, from %g Hz", LABEL, "features", fbank->num_mel,
         fbank->sample_rate, fbank->frame_length, fbank->frame_shift, fbank->low_frequency);
  if (fbank->high_frequency != 0)
    printf(fbank->high_frequency > 0 ? " to %g Hz" : " to the Nyquist frequency %g Hz", fbank->high_frequency);
  printf("\n%-*s %s", LABEL, "cmvn", cmvn[features.cmvn]);
  if (features.cmvn != LINNET_CMVN_NONE)
    printf(", %s of %s frames", features.cmvn_variance ? "mean and variance" : "mean",
           features.cmvn_frames == LINNET_CMVN_SPEECH_FRAMES ? "speech" : "all");
  putchar('\n');
}

/* All symbols, wrapped. */
static void print_symbols(const struct linnet_model *model) {
  int column = LABEL;
  printf("%-*s", LABEL, "symbols");
  for (int i = 0; (size_t)i < linnet_model_num_symbols(model); i++) {
    const char *symbol = linnet_model_symbol(model, i);
    int width = (int)strlen(symbol) + 1;
    if (column + width > WIDTH && column > LABEL)
      column = printf("\n%*s", LABEL, "") - 1;
    printf(" %s", symbol);
    column += width;
  }
  putchar('\n');
}

static int describe_model_text(const struct linnet_model *model, const char *path) {
  print_entry("file", path);
  print_metadata(model);
  printf("%-*s %zu\n", LABEL, "parameters", linnet_model_num_parameters(model));
  printf("%-*s %.1f MB\n", LABEL, "memory", (double)linnet_model_memory_bytes(model) / 1e6);
  print_entry("config", linnet_model_metadata(model, "config"));
  print_features(model);
  printf("%-*s %zu symbols every %g ms\n", LABEL, "output", linnet_model_num_symbols(model),
         1000 * linnet_model_frame_seconds(model));
  if (linnet_model_is_causal(model))
    printf("%-*s frame by frame, with a look-ahead of %g ms\n", LABEL, "causal", 1000 * lookahead_seconds(model));
  print_symbols(model);
  return TOOL_OK;
}

static int list_symbols_json(const struct linnet_model *model, const char *path) {
  return print_json(json_pack("{so so}", "file", json_string(path), "symbols", parse_metadata(model, "symbols")));
}

/* A table of symbols, as `linnet decode --symbols` and Kaldi read it. */
static int list_symbols(const struct linnet_model *model) {
  for (int i = 0; (size_t)i < linnet_model_num_symbols(model); i++)
    printf("%s %d\n", linnet_model_symbol(model, i), i);
  return TOOL_OK;
}

static int describe_model(struct linnet_context *context, const char *path) {
  struct linnet_model *model = NULL;
  if (linnet_model_load(context, path, &model) != LINNET_OK)
    return tool_fail_context(context);
  int code = option_symbols && option_json ? list_symbols_json(model, path)
             : option_symbols              ? list_symbols(model)
             : option_json                 ? describe_model_json(model, path)
                                           : describe_model_text(model, path);
  linnet_model_destroy(model);
  return code;
}

/* Describes the named model. To list symbols without a name, it uses the model that ships; else it describes the build.
 */
static int describe(struct linnet_context *context, const char **arguments, size_t count) {
  const char *path = count > 0 ? arguments[0] : NULL;
  if (!path && !option_symbols)
    return describe_build(context);
  char *model = tool_find_model(context, path);
  int code = model ? describe_model(context, model) : TOOL_FAILURE;
  free(model);
  return code;
}

int tool_info(int argc, const char **argv) {
  const struct tool_command command = {
      .options = table,
      .usage = "[OPTIONS] [MODEL]   (of a recognizer the first model; without MODEL: this build)",
      .needed = "",
      .max_arguments = 1,
      .run = describe};
  return tool_run(argc, argv, &command);
}
