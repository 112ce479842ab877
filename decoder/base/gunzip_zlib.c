/* Decompresses gzip files of one or several members by zlib. */
#include "decoder/base/text_file.h"

#include <zlib.h>

struct linnet_gunzip {
  struct linnet_context *context;
  const char *name;
  linnet_pull_fn pull;
  void *user;
  z_stream stream;
  bool between; /* before the first member, or after a member */
  bool padding; /* zeros have followed a member */
};

/* zlib's memory comes from the context as well. */
static voidpf allocate(voidpf user, uInt count, uInt bytes) {
  return linnet_alloc(user, count, bytes);
}
static void release(voidpf user, voidpf block) {
  linnet_free(user, block);
}

enum linnet_status linnet_gunzip_open(struct linnet_context *context, const char *name, linnet_pull_fn pull, void *user,
                                      struct linnet_gunzip **gunzip) {
  *gunzip = NULL;
  struct linnet_gunzip *g = linnet_calloc(context, 1, sizeof *g);
  if (!g)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "%s: out of memory for decompression", name);
  *g = (struct linnet_gunzip){.context = context, .name = name, .pull = pull, .user = user, .between = true};
  g->stream = (z_stream){.zalloc = allocate, .zfree = release, .opaque = context};
  enum { GZIP_ONLY = 16 };
  if (inflateInit2(&g->stream, GZIP_ONLY + MAX_WBITS) != Z_OK) {
    linnet_free(context, g);
    return linnet_fail(context, LINNET_ERROR_MEMORY, "%s: out of memory for decompression", name);
  }
  *gunzip = g;
  return LINNET_OK;
}

/* Skips the zeros after a member. Any other bytes must be another member, which begins with 1F 8B. */
static enum linnet_status check_member(struct linnet_gunzip *g) {
  while (g->stream.avail_in > 0 && *g->stream.next_in == 0) {
    g->padding = true;
    g->stream.next_in++;
    g->stream.avail_in--;
  }
  if (g->stream.avail_in > 0 && (g->padding || *g->stream.next_in != 0x1F))
    return linnet_fail(g->context, LINNET_ERROR_FORMAT,
                       "%s: other bytes follow the gzip data: decompress the file, check it and compress it again",
                       g->name);
  return LINNET_OK;
}

/* Input for zlib, if there is any left. */
static enum linnet_status refill(struct linnet_gunzip *g) {
  const unsigned char *data;
  size_t bytes = 0;
  if (g->stream.avail_in > 0)
    return LINNET_OK;
  LINNET_TRY(g->pull(g->user, &data, &bytes));
  if (bytes == 0)
    return LINNET_END;
  g->stream.next_in = (Bytef *)data;
  g->stream.avail_in = (uInt)bytes;
  return LINNET_OK;
}

static enum linnet_status explain(const struct linnet_gunzip *g, int code) {
  if (code == Z_MEM_ERROR)
    return linnet_fail(g->context, LINNET_ERROR_MEMORY, "%s: out of memory for decompression", g->name);
  return linnet_fail(g->context, LINNET_ERROR_FORMAT, "%s: damaged gzip data%s%s: fetch or compress the file again",
                     g->name, g->stream.msg ? ": " : "", g->stream.msg ? g->stream.msg : "");
}

enum linnet_status linnet_gunzip_read(struct linnet_gunzip *g, void *buffer, size_t capacity, size_t *bytes) {
  *bytes = 0;
  while (*bytes == 0) {
    enum linnet_status status = refill(g);
    if (status == LINNET_END && g->between)
      return LINNET_OK;
    if (status == LINNET_END)
      return linnet_fail(g->context, LINNET_ERROR_FORMAT,
                         "%s: the gzip data is truncated: fetch or compress the file again", g->name);
    LINNET_TRY(status);
    if (g->between) {
      LINNET_TRY(check_member(g));
      if (g->stream.avail_in == 0)
        continue;
    }
    g->between = false;
    g->stream.next_out = buffer;
    g->stream.avail_out = (uInt)capacity;
    int code = inflate(&g->stream, Z_NO_FLUSH);
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
      return explain(g, code);
    *bytes = capacity - g->stream.avail_out;
    g->between = code == Z_STREAM_END;
    if (g->between)
      inflateReset(&g->stream);
  }
  return LINNET_OK;
}

void linnet_gunzip_close(struct linnet_gunzip *g) {
  if (!g)
    return;
  inflateEnd(&g->stream);
  linnet_free(g->context, g);
}
