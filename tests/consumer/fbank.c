/* A program that computes features: needs the front end, and a context of the core. */
#include <stdio.h>

#include <linnet/fbank.h>

enum { SAMPLES = 16000, FRAMES = 98, MEL = 40 };

int main(void) {
  static float samples[SAMPLES], features[FRAMES][MEL];
  struct linnet_context *context = NULL;
  struct linnet_fbank *fbank = NULL;
  for (int i = 0; i < SAMPLES; i++)
    samples[i] = i % 80 < 40 ? 1000 : -1000;
  if (linnet_context_create(NULL, &context) || linnet_fbank_create(context, NULL, &fbank))
    return 1;
  size_t frames = linnet_fbank_num_frames(fbank, SAMPLES);
  printf("linnet %s: %zu frames\n", linnet_version(), frames);
  int right = frames == FRAMES && linnet_fbank_compute(fbank, samples, SAMPLES, features[0]) == LINNET_OK;
  linnet_fbank_destroy(fbank);
  linnet_context_destroy(context);
  return !right;
}
