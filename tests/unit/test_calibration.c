/* The calibration recovers a known map, is monotone, and refuses what it cannot use. */
#include <linnet/calibration.h>

#include "test.h"

enum { COUNT = 200000 };

static double logit(double p) {
  return log(p / (1 - p));
}

/* Results that are right with probability sigmoid(slope * logit(confidence) + offset). */
static void test_recovery(double slope, double offset) {
  static float confidence[COUNT];
  static unsigned char correct[COUNT];
  struct linnet_context *context = test_context();
  struct test_random r = {17};
  for (size_t i = 0; i < COUNT; i++) {
    confidence[i] = (float)(0.5 + 0.49 * test_uniform(&r));
    double p = 1 / (1 + exp(-slope * logit((double)confidence[i]) - offset));
    correct[i] = 0.5 + 0.5 * test_uniform(&r) < p;
  }
  struct linnet_calibration c;
  REQUIRE(linnet_calibration_fit(context, confidence, correct, COUNT, &c) == LINNET_OK, "fit");
  CHECK(fabs(c.slope - slope) <= 0.03 && fabs(c.offset - offset) <= 0.03,
        "slope %g, expected %g; offset %g, expected %g", c.slope, slope, c.offset, offset);
  float last = -1;
  for (int i = 0; i <= 100; i++) {
    float value = linnet_calibrate(&c, (float)i / 100);
    CHECK(value >= last && value >= 0 && value <= 1, "%g after %g", (double)value, (double)last);
    last = value;
  }
  linnet_context_destroy(context);
}

static void test_refusals(void) {
  struct linnet_context *context = test_context();
  struct linnet_calibration c = {2, 3};
  const float confidence[4] = {0, 0.2f, 0.9f, 1};
  const unsigned char right[4] = {1, 1, 1, 1}, apart[4] = {0, 0, 1, 1}, against[4] = {1, 1, 0, 0};
  CHECK(linnet_calibration_fit(context, confidence, right, 4, &c) == LINNET_ERROR_ARGUMENT, "all right");
  CHECK(linnet_calibration_fit(context, confidence, right, 0, &c) == LINNET_ERROR_ARGUMENT, "nothing");
  CHECK(c.slope == 2 && c.offset == 3, "changed by a failure");
  CHECK(linnet_calibration_fit(context, confidence, apart, 4, &c) == LINNET_OK && isfinite(c.slope), "separable");
  CHECK(linnet_calibration_fit(context, confidence, against, 4, &c) == LINNET_OK && c.slope > 0, "never falling");
  static const char *const bad[] = {"",
                                    "{}",
                                    "{\"slope\": 1}",
                                    "{\"slope\": 0, \"offset\": 1}",
                                    "[1, 2]",
                                    "{\"slope\": \"1\", \"offset\": 1}",
                                    "{\"slope\": 1, \"offset\": 1, \"more\": 1}"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    CHECK(linnet_calibration_parse(context, bad[i], "m", &c) == LINNET_ERROR_FORMAT, "accepted %s", bad[i]);
  CHECK(linnet_calibration_parse(context, NULL, "m", &c) == LINNET_OK && linnet_calibrate(&c, 0.3f) == 0.3f, "none");
  CHECK(linnet_calibration_parse(context, "{\"slope\": 0.5, \"offset\": -1}", "m", &c) == LINNET_OK && c.slope == 0.5 &&
            c.offset == -1,
        "a good one");
  CHECK(linnet_calibration_parse(context, "{}", NULL, &c) == LINNET_ERROR_ARGUMENT &&
            linnet_calibration_parse(context, "{}", "m", NULL) == LINNET_ERROR_ARGUMENT &&
            linnet_calibration_parse(NULL, "{}", "m", &c) == LINNET_ERROR_FORMAT,
        "NULL arguments of parse");
  CHECK(linnet_calibration_fit(context, NULL, apart, 4, &c) == LINNET_ERROR_ARGUMENT &&
            linnet_calibration_fit(context, confidence, NULL, 4, &c) == LINNET_ERROR_ARGUMENT &&
            linnet_calibration_fit(context, confidence, apart, 4, NULL) == LINNET_ERROR_ARGUMENT,
        "NULL arguments of fit");
  linnet_context_destroy(context);
}

int main(void) {
  test_recovery(1, 0);
  test_recovery(0.5, -0.7);
  test_recovery(2, 1);
  test_refusals();
  return test_result();
}
