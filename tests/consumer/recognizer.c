/* A program that uses a recognizer and streams: needs all of the library, whatever its target is called. */
#include <stdio.h>
#include <string.h>

#include <linnet/recognizer.h>

int main(void) {
  struct linnet_context *context = NULL;
  struct linnet_recognizer *recognizer = NULL;
  struct linnet_endpoint_settings endpoint;
  if (linnet_context_create(NULL, &context))
    return 1;
  linnet_endpoint_settings_default(&endpoint);
  const int refused = linnet_recognizer_load(context, "missing.json", &recognizer) == LINNET_ERROR_IO;
  const int named = strstr(linnet_context_error(context), "missing.json") != NULL;
  printf("linnet %s: %s\n", linnet_version(), linnet_context_error(context));
  linnet_stream_destroy(NULL);
  linnet_recognizer_stream_destroy(NULL);
  linnet_recognizer_destroy(recognizer);
  linnet_context_destroy(context);
  return !(refused && named && endpoint.num_rules > 0);
}
