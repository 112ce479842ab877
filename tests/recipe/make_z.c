/* Standard input in the form of compress(1) (".Z": LZW with codes of 9 to 16 bits, 0x1f 0x9d before them), to
 * standard output. The table is cleared before codes need 10 bits, so all codes are literals of 9 bits: larger than
 * the input, but valid. */
#include <stdio.h>

enum { CLEAR = 256, GROUP = 8, GROUPS = 31 }; /* codes come in groups of 8; 31 groups keep the table below 512 */

static unsigned long bits;
static int pending;

static void put_code(unsigned code) { /* lowest bit first */
  bits |= (unsigned long)code << pending;
  for (pending += 9; pending >= 8; pending -= 8, bits >>= 8)
    putchar((int)(bits & 255));
}

int main(void) {
  int c, codes = 0;
  fwrite("\x1f\x9d\x90", 1, 3, stdout);
  while ((c = getchar()) != EOF) {
    put_code((unsigned)c);
    if (++codes % (GROUP * GROUPS - 1) != 0)
      continue;
    put_code(CLEAR); /* the last of its group */
    codes = 0;
  }
  if (pending > 0)
    putchar((int)(bits & 255));
  return fflush(stdout) == 0 ? 0 : 1;
}
