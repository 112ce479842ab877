/* The structure of a network: the "config" entry of a model file, and the configuration with which training starts.
 *
 * As JSON, with the defaults (the paper's model; `outputs` has none):
 *
 *   {"encoder": "transformer", "input_dim": 40, "stack": 1, "width": 192, "heads": 6, "layers": 9,
 *    "feed_forward": 768, "activation": "relu", "norm": "post", "dropout": 0.1, "position": "sinusoidal",
 *    "attention": "linear", "convolution": 0, "outputs": 42,
 *    "feature_map": "elu", "features": 0, "lsh_rounds": 4, "lsh_buckets": 64, "lsh_chunk": 32,
 *    "causal_chunk": 0, "output": "posteriors"}
 *
 * "attention" is one name for all layers, or an array with one name per layer; the names are those of ops/attention.h.
 * "convolution_lookahead" is a number for all layers, or an array with one number per layer; if it is missing, all
 * convolutions are centred.
 * "tokens" is an array with the sizes of the embedding tables; if it is missing, the input is features of audio.
 * "causal_chunk" may be "auto" at the start of a training. Keys from "feature_map" on may be missing in model files.
 * The structures contain no pointers: they can be copied by assignment. */
#ifndef LINNET_CONFIG_H
#define LINNET_CONFIG_H

#include "backend/backend.h"
#include "base/base.h"
#include "ops/embedding.h"

/* Hard limits: every size is checked against them before anything is computed from it. */
enum {
  LINNET_MAX_INPUT_DIM = 512,
  LINNET_MAX_STACK = 4,
  LINNET_MAX_WIDTH = 4096,
  LINNET_MAX_LAYERS = 64,
  LINNET_MAX_FEED_FORWARD = 65536,
  LINNET_MAX_KERNEL = 63,
  LINNET_MAX_OUTPUTS = 65536,
  LINNET_MAX_TOKENS = 65536,       /* rows of an embedding table */
  LINNET_MAX_KEY_WIDTH = 4096,     /* of a head, after the feature map */
  LINNET_MAX_MAPPED_WIDTH = 65536, /* of all heads */
  LINNET_MAX_LSH = 1024,
  LINNET_MAX_CAUSAL_CHUNK = 65536,
  LINNET_MAX_PARAMETERS = 1 << 30
};

/* "auto": the start of a training measures the fastest chunk on its machine and stores the number. Not valid in a
 * network. */
#define LINNET_CAUSAL_CHUNK_AUTO SIZE_MAX

/* Instead of the look-ahead of a layer's convolution: as many frames after a frame as before it. */
enum { LINNET_CENTRED = 255 };

/* A stack of attention layers, or the bidirectional LSTM. The latter uses the keys "input_dim", "stack", "width" (units
 * in each direction), "layers", "dropout" (between layers) and "outputs"; "convolution" must be 0; it ignores all other
 * keys. */
enum linnet_encoder_kind { LINNET_ENCODER_TRANSFORMER, LINNET_ENCODER_BLSTM };

/* The position of the norm in a layer: post: x = norm(x + f(x)); pre: x = x + f(norm(x)), with one more norm before the
 * output. */
enum linnet_norm_order { LINNET_NORM_POST, LINNET_NORM_PRE };

enum linnet_position { LINNET_POSITION_NONE, LINNET_POSITION_SINUSOIDAL };

/* What the last linear layer's results become in inference: log-posteriors, or they stay as they are, for example the
 * parameters of a distribution. */
enum linnet_output { LINNET_OUTPUT_POSTERIORS, LINNET_OUTPUT_LINEAR };

struct linnet_config {
  enum linnet_encoder_kind encoder;
  size_t input_dim;                  /* features per frame, 1 to 512; with tokens, the number of tables */
  size_t tokens[LINNET_MAX_TABLES];  /* a frame is an index into each of these tables, and the sum of the chosen rows
                                        is the network's input (ops/embedding.h); 0 from input_dim on, and all 0 if a
                                        frame has features */
  size_t stack;                      /* frames joined into one, 1 to 4 */
  size_t width;                      /* D, 1 to 4096; even with sinusoidal positions */
  size_t heads;                      /* divides width */
  size_t layers;                     /* 1 to 64 */
  size_t feed_forward;               /* F, 1 to 65536 */
  enum linnet_activation activation; /* LINNET_RELU or LINNET_GELU */
  enum linnet_norm_order norm;
  double dropout; /* 0 to 0.9 */
  enum linnet_position position;
  unsigned char attention[LINNET_MAX_LAYERS]; /* enum linnet_attention_kind of each layer; 0 from `layers` on */
  size_t convolution;                         /* kernel of the convolution module, odd, 3 to 63; 0: no module */
  unsigned char lookahead[LINNET_MAX_LAYERS]; /* of each layer's convolution: frames after a frame, 0 to kernel - 1, or
                                                 LINNET_CENTRED, as from `layers` on */
  size_t outputs;                             /* V, 2 to 65536; the blank is index 0. 0: not known yet */
  enum linnet_feature_map feature_map;        /* of linear attention */
  size_t features;                            /* random directions of the Fourier and positive maps; 0 with others */
  size_t lsh_rounds, lsh_buckets, lsh_chunk;  /* of LSH attention; buckets are even */
  size_t causal_chunk; /* of causal linear attention: rows of a chunk; 0: the form without chunks. The fastest value
                          depends on the machine (train/causal_chunk.c); results depend on it only by rounding. It is
                          stored in the model, so that a training continues with the same bytes on any machine. */
  enum linnet_output output;
};

/* The paper's model; outputs is 0. */
void linnet_config_default(struct linnet_config *config);

/* Sets members of *config from JSON text. A missing key leaves its member unchanged; an unknown key is an error. The
 * function checks types and names, but not ranges: call linnet_config_validate when the configuration is complete.
 * `name` is the file or other source of the text, for messages. On failure *config is unchanged. */
enum linnet_status linnet_config_parse(struct linnet_context *context, const char *text, const char *name,
                                       struct linnet_config *config);

/* The strict form for model files: the required keys must be there, and the function also validates the result. */
enum linnet_status linnet_config_parse_complete(struct linnet_context *context, const char *text, const char *name,
                                                struct linnet_config *config);

/* Whether a frame has indices into embedding tables instead of features. */
static inline bool linnet_config_reads_tokens(const struct linnet_config *config) {
  return config->tokens[0] > 0;
}

/* The embedding tables of a configuration that reads tokens. */
struct linnet_embedding linnet_config_embedding(const struct linnet_config *config);

/* Frames after a frame that the convolution of a layer reads; 0 if there is none. */
size_t linnet_layer_lookahead(const struct linnet_config *config, size_t layer);

/* Checks every value, the relations between values, and the number of parameters. LINNET_ERROR_FORMAT for values that
 * contradict each other, LINNET_ERROR_LIMIT for values out of range. */
enum linnet_status linnet_config_validate(struct linnet_context *context, const char *name,
                                          const struct linnet_config *config);

/* Whether two configurations have the same tensors and use them in the same way. They may differ in dropout, which only
 * training uses, and in causal_chunk, which changes results only by rounding. */
bool linnet_config_same_network(const struct linnet_config *a, const struct linnet_config *b);

/* The JSON text of `config` on one line, all keys in the order above up to "causal_chunk". Behind them come
 * "convolution_lookahead" unless all convolutions are centred, and "output" and "tokens" unless they have their
 * defaults. Reading the doubles back gives exactly the same values. Release *text with linnet_free.
 */
enum linnet_status linnet_config_format(struct linnet_context *context, const struct linnet_config *config,
                                        char **text);

/* Number of trained parameters of a configuration whose values are in range; false if it exceeds size_t. */
bool linnet_config_count_parameters(const struct linnet_config *config, size_t *count);

#endif
