/* A program that turns posteriors into symbols: needs only the core. */
#include <stdio.h>

#include <linnet/greedy.h>

int main(void) {
  /* Four frames of the symbols blank, a, b: a a blank b. */
  static const float posteriors[4][3] = {{-3, -.1f, -4}, {-3, -.1f, -4}, {-.1f, -3, -4}, {-3, -4, -.1f}};
  struct linnet_context *context = NULL;
  struct linnet_greedy *greedy = NULL;
  size_t count = 0;
  if (linnet_context_create(NULL, &context) || linnet_greedy_create(context, 3, &greedy) ||
      linnet_greedy_accept(greedy, posteriors[0], 4))
    return 1;
  const struct linnet_segment *segments = linnet_greedy_segments(greedy, &count);
  printf("linnet %s:", linnet_version());
  for (size_t i = 0; i < count; i++)
    printf(" %d [%zu, %zu)", segments[i].symbol, segments[i].start, segments[i].end);
  putchar('\n');
  int right = count == 2 && segments[0].symbol == 1 && segments[0].end == 2 && segments[1].symbol == 2;
  linnet_greedy_destroy(greedy);
  linnet_context_destroy(context);
  return !right;
}
