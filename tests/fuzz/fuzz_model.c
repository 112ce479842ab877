/* Model files: any bytes either load as a valid model or are refused, within a budget of memory and without leaks. */
#include "fuzz.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/format/model.h"

/* --- the target ------------------------------------------------------------------------------------------------ */

static void check_model(const struct linnet_model *model) {
  check(linnet_model_num_symbols(model) >= 2, "too few symbols");
  for (int i = 0; (size_t)i < linnet_model_num_symbols(model); i++)
    check(linnet_model_symbol(model, i)[0] != '\0', "an empty symbol");
  for (size_t i = 0; i < model->parameters->size; i++)
    check(isfinite(model->weights[i]), "a weight that is not finite");
  check(!model->whole || linnet_model_num_parameters(model) <= model->parameters->size,
        "more parameters than the capacity");
  struct linnet_feature_config features;
  linnet_model_features(model, &features);
  check((features.cmvn == LINNET_CMVN_GLOBAL || features.cmvn == LINNET_CMVN_RUNNING) ==
            (linnet_model_cmvn(model) != NULL),
        "statistics without need, or none in need");
  for (size_t i = 0; linnet_model_metadata_key(model, i); i++)
    check(linnet_model_metadata(model, linnet_model_metadata_key(model, i)) != NULL, "metadata without value");
}

/* A file of a model for recognition is one of a whole model, too. */
static void check_whole(struct linnet_context *context, const uint8_t *data, size_t size) {
  struct linnet_model *model = NULL;
  budget.limit = budget.live + 6 * size + (2 << 20);
  check(linnet_model_load_bytes(context, data, size, "FILE", (struct linnet_model_use){.whole = true}, &model) ==
            LINNET_OK,
        linnet_context_error(context));
  budget.limit = 0;
  check_model(model);
  linnet_model_destroy(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static struct linnet_context *context;
  if (!context)
    context = budget_context();
  check(context != NULL, "no context");
  struct linnet_model *model = NULL;
  size_t before = budget.live;
  budget.limit = before + 5 * size + (2 << 20);
  enum linnet_status status = linnet_model_load_memory(context, data, size, "FILE", &model);
  budget.limit = 0;
  check(!budget.exceeded, "asked for more memory than such a file deserves");
  check((status == LINNET_OK) == (model != NULL), "status and result disagree");
  if (model)
    check_model(model);
  else
    check(strstr(linnet_context_error(context), "FILE") != NULL, "a message that does not name the file");
  linnet_model_destroy(model);
  if (status == LINNET_OK)
    check_whole(context, data, size);
  check(budget.live == before, "memory was not released");
  return 0;
}

/* Mutates either the header or the data, and keeps the size of the header correct; otherwise the loader would refuse
 * nearly all inputs there. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed) {
  uint64_t header = 0;
  for (int i = 0; i < 8 && size >= 8; i++)
    header |= (uint64_t)data[i] << 8 * i;
  if (size < 8 || header > size - 8 || seed % 8 == 0)
    return LLVMFuzzerMutate(data, size, capacity);
  size_t start = 8 + (size_t)header, rest = size - start;
  if (seed % 8 == 1)
    return start + LLVMFuzzerMutate(data + start, rest, capacity - start);
  uint8_t *tail = malloc(rest + 1);
  check(tail != NULL, "no memory");
  memcpy(tail, data + start, rest);
  size_t mutated = LLVMFuzzerMutate(data + 8, (size_t)header, capacity - 8 - rest);
  memcpy(data + 8 + mutated, tail, rest);
  free(tail);
  for (int i = 0; i < 8; i++)
    data[i] = (uint8_t)((uint64_t)mutated >> 8 * i);
  return 8 + mutated + rest;
}
