/* Training steps and attention on a device, against its limits, which are measured in the same run: the rate of a large
 * product in the same precision, and the bandwidth of y += x.
 *
 *   bench_cuda [--device NAME] [--precision float32|tf32|bfloat16] [--work limits|training|attention|longest]
 *              [--network NAME] [--frames N] [--seconds S] [--limit S] [--no-limits] [--profile] [--json]
 *
 * A step begins with a batch in host memory and ends with updated weights and the losses on the host. "floor" is the
 * minimum time of its ops: each op runs at the limit that it meets first, with bytes and operations counted as in
 * bench_profile.h. Batches have the lengths of WSJ: 800 frames on average, at most 2400, 100 labels. `longest` looks
 * for the longest utterance that the device can train on; it runs only on request. */
#include "bench_side.h"
#include "bench_step.h"
#include "model/layer.h"

/* --- training ----------------------------------------------------------------------------------------------------- */

static const struct encoder {
  struct bench_network network;
  bool all_batches; /* or only the smallest */
  double published; /* seconds of an epoch, Katharopoulos et al. 2020, table 3 */
} encoders[] = {{{"linear", "{}"}, true, 824},
                {{"softmax", "{\"attention\": \"softmax\"}"}, false, 2711},
                {{"lsh-4", "{\"attention\": \"lsh\", \"lsh_rounds\": 4}"}, false, 2250},
                {{"blstm", "{\"encoder\": \"blstm\", \"width\": 320, \"layers\": 3}"}, false, 1047}};
enum { ENCODERS = sizeof encoders / sizeof *encoders };

static const size_t batches[] = {20000, 50000, 100000, 200000};
enum { BATCHES = sizeof batches / sizeof *batches };

static const double epoch_frames = 80 * 3600 * 100.0;

struct step_result {
  double wall, queued;    /* seconds; until all was queued, too */
  size_t memory, fitting; /* bytes of the device; the frames for which all of it suffices */
  struct bench_work work;
};

static enum linnet_status run_step(struct bench_step *s, double *queued) {
  double start = bench_wall();
  LINNET_TRY(bench_step_queue(s));
  *queued = bench_wall() - start;
  return bench_step_finish(s);
}

/* Medians, after steps in which memory grows and algorithms are chosen. Slow ones are not run often. */
static enum linnet_status time_steps(struct bench_step *s, double seconds, struct step_result *r) {
  enum { MAX_CALLS = 31 };
  static const double slow = 1;
  double wall[MAX_CALLS], queued[MAX_CALLS], start = bench_wall();
  LINNET_TRY(run_step(s, queued));
  bool once = bench_wall() - start > slow;
  if (!once)
    LINNET_TRY(run_step(s, queued));
  size_t n = 0, min_calls = once ? 1 : 3;
  for (start = bench_wall(); n < MAX_CALLS && (n < min_calls || bench_wall() - start < seconds); n++) {
    double began = bench_wall();
    LINNET_TRY(run_step(s, &queued[n]));
    wall[n] = bench_wall() - began;
  }
  r->wall = bench_middle(wall, n);
  r->queued = bench_middle(queued, n);
  return LINNET_OK;
}

/* One more step, which counts operations, and with --profile measures each op. */
static enum linnet_status count_step(const struct bench_side_options *o, const struct bench_side *side,
                                     struct bench_step *s, struct bench_work *work) {
  double queued;
  bench_profile_begin(s->network.device, o->profile, side->limits);
  double start = bench_wall();
  enum linnet_status status = run_step(s, &queued);
  double total = bench_wall() - start;
  *work = bench_profile_end(s->network.device);
  if (status == LINNET_OK && o->profile && !o->json)
    bench_profile_print(1, total);
  return status;
}

static enum linnet_status measure_step(const struct bench_side_options *o, const struct bench_side *side,
                                       struct bench_step *s, size_t free_before, struct step_result *r) {
  LINNET_TRY(bench_step_load(s));
  LINNET_TRY(time_steps(s, o->seconds, r));
  size_t left = bench_device_free(s->context);
  r->memory = free_before > left ? free_before - left : 0;
  r->fitting = r->memory > 0 ? (size_t)((double)free_before / (double)r->memory * (double)s->corpus.total) : 0;
  return count_step(o, side, s, &r->work);
}

static void print_step_header(void) {
  printf("%-8s %-8s %7s %5s %9s %9s %9s %8s %6s %8s %6s %6s %8s %8s %9s %8s %6s %6s\n", "encoder", "products", "frames",
         "utts", "ms", "queued", "kframe/s", "TFLOP/s", "limit", "GB/s", "limit", "floor", "kB moved", "kB saved",
         "Mframes", "epoch s", "times", "paper");
}

static void print_step(const struct bench_side_options *o, const struct bench_side *side, const struct encoder *e,
                       const struct bench_step *s, const struct step_result *r) {
  double frames = (double)s->corpus.total, flops = r->work.flops / r->wall, bytes = r->work.bytes / r->wall;
  double epoch = epoch_frames / frames * r->wall;
  if (o->json)
    printf("{\"bench\": \"cuda\", \"work\": \"training\", \"network\": \"%s\", \"precision\": \"%s\", \"frames\": %zu, "
           "\"utterances\": %zu, \"loss\": %.4f, \"wall\": %.9f, \"queued\": %.9f, \"flops\": %.0f, \"bytes\": %.0f, "
           "\"floor\": %.9f, \"memory\": %zu, \"fitting\": %zu, \"epoch\": %.3f}\n",
           e->network.name, side->name, s->corpus.total, s->corpus.count, s->loss, r->wall, r->queued, r->work.flops,
           r->work.bytes, r->work.floor, r->memory, r->fitting, epoch);
  else
    printf("%-8s %-8s %7zu %5zu %9.2f %9.2f %9.1f %8.2f %5.1f%% %8.1f %5.1f%% %5.1f%% %8.1f %8.1f %9.2f %8.1f %6.2f "
           "%6.2f\n",
           e->network.name, side->name, s->corpus.total, s->corpus.count, r->wall * 1e3, r->queued * 1e3,
           frames / r->wall * 1e-3, flops * 1e-12, bench_percent(flops, side->limits.flops), bytes * 1e-9,
           bench_percent(bytes, side->limits.bandwidth), 100 * r->work.floor / r->wall, r->work.bytes / frames * 1e-3,
           (double)r->memory / frames * 1e-3, (double)r->fitting * 1e-6, epoch,
           side->linear > 0 ? r->wall / frames / side->linear : 0, e->published / encoders[0].published);
}

/* Reports a batch that does not fit, and skips it. */
static void measure_batch(const struct bench_side_options *o, struct bench_side *side, const struct encoder *e,
                          struct bench_step *s, size_t free_before, size_t frames) {
  const struct bench_set set = {"", frames, 740, 2400};
  struct step_result r = {0};
  bench_corpus_fill(&s->corpus, &set);
  enum linnet_status status = measure_step(o, side, s, free_before, &r);
  if (status == LINNET_ERROR_MEMORY)
    fprintf(stderr, "%s\n", linnet_context_error(s->context));
  else
    bench_check(s->context, status);
  if (status != LINNET_OK)
    return;
  double total = (double)s->corpus.total;
  if (e == &encoders[0]) {
    side->linear = side->linear > 0 ? side->linear : r.wall / total;
    side->rate = total / r.wall;
  }
  print_step(o, side, e, s, &r);
}

/* A device loads code when it runs an encoder first; this does not count as memory of a batch. */
static void load_kernels(const struct bench_side *side, const struct encoder *e) {
  double queued;
  struct bench_step *s = bench_step_create(side->context, &e->network);
  bench_corpus_single(&s->corpus, 100);
  bench_check(side->context, bench_step_load(s));
  bench_check(side->context, run_step(s, &queued));
  bench_step_destroy(s);
}

static void measure_encoder(const struct bench_side_options *o, struct bench_side *side, const struct encoder *e) {
  if (!bench_time_left(o, "training", e->network.name, side, o->frames))
    return;
  load_kernels(side, e);
  size_t free_before = bench_device_free(side->context);
  struct bench_step *s = bench_step_create(side->context, &e->network);
  for (size_t i = 0; i < (e->all_batches && o->frames == 0 ? BATCHES : 1); i++) {
    size_t frames = o->frames > 0 ? o->frames : batches[i];
    if (bench_time_left(o, "training", e->network.name, side, frames))
      measure_batch(o, side, e, s, free_before, frames);
  }
  bench_step_destroy(s);
}

/* --- the longest utterance ---------------------------------------------------------------------------------------- */

struct longest {
  size_t frames, memory; /* bytes of the device that its step takes */
  double wall;           /* of the step, which is the first of that length */
  bool bounded;          /* by memory: one that is a thirtieth longer does not fit; otherwise by time */
};

static enum linnet_status try_length(struct bench_step *s, size_t free_before, size_t frames, struct longest *best) {
  double queued, start = bench_wall();
  bench_corpus_single(&s->corpus, frames);
  LINNET_TRY(bench_step_load(s));
  LINNET_TRY(run_step(s, &queued));
  size_t left = bench_device_free(s->context);
  best->frames = frames;
  best->memory = free_before > left ? free_before - left : 0;
  best->wall = bench_wall() - start;
  return LINNET_OK;
}

/* Doubles the length until it does not fit, then bisects. A step may take four times as long as one of half its
 * length. */
static enum linnet_status find_longest(const struct bench_side_options *o, struct bench_step *s, size_t free_before,
                                       struct longest *best) {
  size_t n = o->frames > 0 ? o->frames : 1 << 16, unfit = 0;
  *best = (struct longest){0};
  do {
    enum linnet_status status = try_length(s, free_before, n, best);
    if (status == LINNET_ERROR_MEMORY)
      unfit = n;
    else if (status != LINNET_OK)
      return status;
    n = unfit > 0 ? best->frames + (unfit - best->frames) / 2 : 2 * n;
    best->bounded = unfit > 0 && n - best->frames <= best->frames / 30;
  } while (!best->bounded && n > best->frames && bench_wall() - o->started + 4 * best->wall < o->limit);
  return LINNET_OK;
}

static void print_longest(const struct bench_side_options *o, const struct bench_side *side, const struct encoder *e,
                          const struct longest *best) {
  if (o->json)
    printf("{\"bench\": \"cuda\", \"work\": \"longest\", \"network\": \"%s\", \"precision\": \"%s\", \"frames\": %zu, "
           "\"wall\": %.9f, \"memory\": %zu, \"bounded\": %s}\n",
           e->network.name, side->name, best->frames, best->wall, best->memory, best->bounded ? "true" : "false");
  else
    printf("%-8s %-8s trains on %zu frames at once (%.2f h) in %.2f s with %.1f GB; %s\n", e->network.name, side->name,
           best->frames, (double)best->frames / 360000, best->wall, (double)best->memory * 1e-9,
           best->bounded ? "more does not fit" : "more was not tried, for want of time");
}

static void longest_of(const struct bench_side_options *o, struct bench_side *side) {
  for (size_t i = 0; i < ENCODERS; i++) {
    const struct encoder *e = &encoders[i];
    if (!bench_chosen(o->network, e->network.name) || !bench_time_left(o, "longest", e->network.name, side, 0))
      continue;
    struct longest best;
    load_kernels(side, e);
    size_t free_before = bench_device_free(side->context);
    struct bench_step *s = bench_step_create(side->context, &e->network);
    bench_check(side->context, find_longest(o, s, free_before, &best));
    print_longest(o, side, e, &best);
    bench_step_destroy(s);
  }
}

/* --- attention alone ---------------------------------------------------------------------------------------------- */

static const struct bench_network kinds[] = {{"linear", "{}"},
                                             {"causal-linear", "{\"attention\": \"causal-linear\"}"},
                                             {"softmax", "{\"attention\": \"softmax\"}"},
                                             {"lsh-4", "{\"attention\": \"lsh\", \"lsh_rounds\": 4}"}};
enum { KINDS = sizeof kinds / sizeof *kinds, ATTENTION_FRAMES = 1 << 16, SHORTEST = 1 << 9 };

struct attention {
  struct linnet_context *context;
  struct linnet_device *device;
  enum linnet_attention_kind kind;
  struct linnet_attention a;
  struct linnet_pack pack;
  size_t columns; /* of queries, keys and values */
  size_t offsets[ATTENTION_FRAMES / SHORTEST + 1];
  void *qkv, *dqkv, *out, *dout;
  void *saved, *work;
};

static void attention_both(void *user) {
  struct attention *r = user;
  const struct linnet_attention *a = &r->a;
  bool keys = !linnet_attention_traits[r->kind].shared_key;
  size_t key = a->heads * a->key_width, value = r->columns - a->out_ld;
  const struct linnet_device *d = r->device;
  const void *q = r->qkv, *k = keys ? linnet_activation_at(d, q, key) : q, *v = linnet_activation_at(d, q, value);
  void *dq = r->dqkv, *dk = keys ? linnet_activation_at(d, dq, key) : dq, *dv = linnet_activation_at(d, dq, value);
  const struct linnet_attention_call call = {.attention = a,
                                             .pack = &r->pack,
                                             .q = q,
                                             .k = k,
                                             .v = v,
                                             .saved = r->saved,
                                             .out = r->out,
                                             .work = r->work,
                                             .dout = r->dout,
                                             .dq = dq,
                                             .dk = dk,
                                             .dv = dv};
  r->device->ops->attention_forward(r->device, &call);
  r->device->ops->attention_backward(r->device, &call);
}

/* Ops find the tables of a packed batch with the batch that was uploaded last. */
static void upload_pack(struct attention *r) {
  void *features;
  size_t frames = r->offsets[r->pack.sequences];
  float *host = bench_alloc(frames * sizeof *host);
  struct linnet_host_batch batch = {.pack = r->pack, .features = host, .columns = 1};
  bench_check(r->context, r->device->ops->upload_batch(r->device, r->context, &batch, &features));
  bench_check(r->context, r->device->ops->wait(r->device, r->context));
  free(host);
}

static void attention_create(struct attention *r, struct linnet_context *context, const struct bench_network *kind,
                             size_t length, size_t sequences) {
  struct linnet_config config = bench_config(context, kind);
  struct linnet_device *d = linnet_device_of(context);
  size_t frames = length * sequences;
  r->context = context, r->device = d;
  r->kind = config.attention[0];
  r->a = linnet_layer_attention(&config, 0);
  r->columns = linnet_attention_columns(&config, 0);
  r->pack = (struct linnet_pack){sequences, r->offsets};
  for (size_t s = 0; s <= sequences; s++)
    r->offsets[s] = s * length;
  upload_pack(r);
  r->qkv = bench_device_activations(context, frames * r->columns);
  r->dqkv = bench_device_alloc(context, frames * r->columns * d->activation_bytes);
  r->out = bench_device_alloc(context, frames * r->a.out_ld * d->activation_bytes);
  r->dout = bench_device_activations(context, frames * r->a.out_ld);
  r->saved = bench_device_alloc(context, d->ops->attention_saved_bytes(d, &r->a, frames, sequences));
  r->work = bench_device_alloc(context, d->ops->attention_work_bytes(d, &r->a, frames, sequences));
}

static void attention_destroy(struct attention *r) {
  void *blocks[] = {r->qkv, r->dqkv, r->out, r->dout, r->saved, r->work};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
    r->device->ops->free(r->device, blocks[i]);
  bench_check(r->context, r->device->ops->wait(r->device, r->context));
}

static void print_attention(const struct bench_side_options *o, const struct bench_side *side,
                            const struct bench_network *kind, size_t length, size_t sequences, double wall,
                            const struct bench_work *work) {
  double bytes = work->bytes / wall, flops = work->flops / wall;
  if (o->json)
    printf("{\"bench\": \"cuda\", \"work\": \"attention\", \"network\": \"%s\", \"precision\": \"%s\", \"length\": "
           "%zu, \"sequences\": %zu, \"wall\": %.9f, \"flops\": %.0f, \"bytes\": %.0f, \"floor\": %.9f}\n",
           kind->name, side->name, length, sequences, wall, work->flops, work->bytes, work->floor);
  else
    printf("%-13s %-8s %7zu %5zu %10.3f %8.1f %5.1f%% %8.2f %5.1f%%\n", kind->name, side->name, length, sequences,
           wall * 1e3, bytes * 1e-9, bench_percent(bytes, side->limits.bandwidth), flops * 1e-12,
           bench_percent(flops, side->limits.flops));
}

static void measure_attention(const struct bench_side_options *o, const struct bench_side *side,
                              const struct bench_network *kind, size_t length, size_t sequences) {
  static struct attention r;
  attention_create(&r, side->context, kind, length, sequences);
  bench_profile_begin(r.device, false, side->limits);
  attention_both(&r); /* counts, and makes choices that hold for all calls */
  struct bench_work work = bench_profile_end(r.device);
  double wall = bench_device_time(side->context, attention_both, &r, o->seconds);
  print_attention(o, side, kind, length, sequences, wall, &work);
  attention_destroy(&r);
}

static void measure_kind(const struct bench_side_options *o, const struct bench_side *side,
                         const struct bench_network *kind) {
  size_t frames = o->frames > 0 && o->frames < ATTENTION_FRAMES ? o->frames : ATTENTION_FRAMES;
  for (size_t length = SHORTEST; length <= frames; length *= 2)
    if (bench_time_left(o, "attention", kind->name, side, length))
      measure_attention(o, side, kind, length, frames / length);
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */

static void training_of(const struct bench_side_options *o, struct bench_side *side, bool all_batches) {
  for (size_t e = 0; e < ENCODERS; e++)
    if (encoders[e].all_batches == all_batches && bench_chosen(o->network, encoders[e].network.name))
      measure_encoder(o, side, &encoders[e]);
}

static void training_first(const struct bench_side_options *o, struct bench_side *side) {
  training_of(o, side, true);
}

static void training_others(const struct bench_side_options *o, struct bench_side *side) {
  training_of(o, side, false);
}

static void attention_of(const struct bench_side_options *o, struct bench_side *side) {
  for (size_t k = 0; k < KINDS; k++)
    if (bench_chosen(o->network, kinds[k].name))
      measure_kind(o, side, &kinds[k]);
}

static void measure_all(const struct bench_side_options *o, struct bench_side *sides, size_t count) {
  if (!o->no_limits)
    bench_for_each_side(o, sides, count, bench_side_limits);
  if (bench_chosen(o->work, "training")) {
    if (!o->json)
      print_step_header();
    bench_for_each_side(o, sides, count, training_first);
    bench_for_each_side(o, sides, count, training_others);
  }
  if (bench_chosen(o->work, "attention")) {
    if (!o->json)
      printf("%-13s %-8s %7s %5s %10s %8s %6s %8s %6s\n", "attention", "products", "length", "seqs", "ms", "GB/s",
             "limit", "TFLOP/s", "limit");
    bench_for_each_side(o, sides, count, attention_of);
  }
  if (o->work && strcmp(o->work, "longest") == 0)
    bench_for_each_side(o, sides, count, longest_of);
}

/* The line of the run in a table. */
static void summarise(const struct bench_side *sides, size_t count) {
  size_t peak = 0;
  printf("linear, kframes/s:");
  for (size_t i = 0; i < count; i++)
    if (sides[i].context) {
      peak = linnet_context_device_peak_bytes(sides[i].context);
      printf(" %s %.0f", sides[i].name, sides[i].rate * 1e-3);
    }
  printf("; peak %.1f GB\n", (double)peak * 1e-9);
}

int main(int argc, char **argv) {
  struct bench_side_options o;
  struct bench_side sides[] = {{.name = "float32", .precision = LINNET_FLOAT32},
                               {.name = "tf32", .precision = LINNET_TF32},
                               {.name = "bfloat16", .precision = LINNET_BFLOAT16}};
  enum { SIDES = sizeof sides / sizeof *sides };
  char error[256] = "";
  const char *device = NULL;
  enum linnet_status status = LINNET_OK;
  setvbuf(stdout, NULL, _IOLBF, 0); /* flushed, so that the figures are there if the run is stopped */
  if (!bench_side_parse(argc, argv, &o))
    return bench_side_usage(argv[0]);
  for (size_t i = 0; i < SIDES && status == LINNET_OK; i++)
    if (bench_chosen(o.precision, sides[i].name)) {
      status = bench_side_open(&o, &sides[i], error);
      device = status == LINNET_OK ? linnet_context_device(sides[i].context) : NULL;
    }
  if (status == LINNET_ERROR_DEVICE)
    return test_skip(error);
  if (!device)
    return fprintf(stderr, "no context: %s\n", error), bench_side_usage(argv[0]);
  if (!o.json)
    printf("%s\n", device);
  measure_all(&o, sides, SIDES);
  if (!o.json && bench_chosen(o.work, "training"))
    summarise(sides, SIDES);
  for (size_t i = 0; i < SIDES; i++)
    bench_side_close(&sides[i]);
  return 0;
}
