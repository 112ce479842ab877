/* Loads a model of pronunciations when it is first needed. */
#include "decoder/g2p/g2p_demand.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/settings.h"
#include "decoder/g2p/g2p.h"

struct linnet_g2p_demand {
  struct linnet_context *context; /* a handle of its own: callers have theirs */
  char *path;                     /* NULL: loaded when this was created */
  pthread_mutex_t mutex;          /* protects `g2p` and `context` */
  struct linnet_g2p *g2p;         /* NULL: not yet loaded */
};

/* Whether it can be read later, or is missing so far. */
static bool can_wait(const struct linnet_source *source) {
  struct stat information;
  return !source->data && (stat(source->path, &information) != 0 || S_ISREG(information.st_mode));
}

static enum linnet_status open_source(struct linnet_g2p_demand *d, const struct linnet_source *source) {
  if (!can_wait(source))
    return linnet_g2p_load_source(d->context, source, &d->g2p);
  d->path = linnet_strdup(d->context, source->path);
  return d->path ? LINNET_OK : linnet_fail(d->context, LINNET_ERROR_MEMORY, "%s: out of memory", source->path);
}

/* The sentence of a failure of the own handle goes to that of the caller. */
static enum linnet_status pass_failure(const struct linnet_g2p_demand *d, struct linnet_context *context,
                                       enum linnet_status status) {
  return status == LINNET_OK ? status : linnet_context_fail(context, status, linnet_context_error(d->context));
}

enum linnet_status linnet_g2p_demand_create(struct linnet_context *context, const struct linnet_source *source,
                                            struct linnet_g2p_demand **demand) {
  *demand = NULL;
  if (!linnet_source_given(source))
    return LINNET_OK;
  struct linnet_g2p_demand *d = linnet_calloc(context, 1, sizeof *d);
  if (!d || linnet_context_share(context, &d->context) != LINNET_OK) {
    linnet_free(context, d);
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a model of pronunciations");
  }
  linnet_context_set_cancel(d->context, NULL, NULL); /* the hooks may be gone when the model is loaded */
  linnet_context_set_progress(d->context, NULL, NULL);
  pthread_mutex_init(&d->mutex, NULL);
  enum linnet_status status = pass_failure(d, context, open_source(d, source));
  if (status == LINNET_OK)
    *demand = d;
  else
    linnet_g2p_demand_destroy(d);
  return status;
}

enum linnet_status linnet_g2p_demand_check(const struct linnet_g2p_demand *d, struct linnet_context *context) {
  char head[LINNET_G2P_MAGIC_BYTES];
  if (!d || !d->path)
    return LINNET_OK;
  FILE *stream = fopen(d->path, "rb");
  if (!stream)
    return linnet_fail_errno(context, d->path, errno);
  const bool model =
      fread(head, 1, sizeof head, stream) == sizeof head && memcmp(head, LINNET_G2P_MAGIC, sizeof head) == 0;
  fclose(stream);
  return model ? LINNET_OK : linnet_g2p_fail_kind(context, d->path);
}

enum linnet_status linnet_g2p_demand_model(struct linnet_g2p_demand *d, struct linnet_context *context,
                                           const struct linnet_g2p **g2p) {
  enum linnet_status status = LINNET_OK;
  pthread_mutex_lock(&d->mutex);
  if (!d->g2p)
    status = pass_failure(d, context, linnet_g2p_load(d->context, d->path, &d->g2p));
  *g2p = d->g2p;
  pthread_mutex_unlock(&d->mutex);
  return status;
}

void linnet_g2p_demand_destroy(struct linnet_g2p_demand *d) {
  if (!d)
    return;
  struct linnet_context *context = d->context;
  linnet_g2p_destroy(d->g2p);
  pthread_mutex_destroy(&d->mutex);
  linnet_free(context, d->path);
  linnet_free(context, d);
  linnet_context_destroy(context);
}
