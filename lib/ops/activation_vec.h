/* Activations on vectors, and the slots made of them. */

VEC_INLINE vf sigmoid_value(vf x) { return 1.0f / (1.0f + vf_exp(-x)); }

/* The normal distribution function, and its density times sqrt(2 pi): Phi(-|x|) = t poly(t) exp(-x^2 / 2) / 2 with
 * t = 1 / (1 + p |x|) (Abramowitz, Stegun 1964, 7.1.26, absolute error 7.5e-8). */
VEC_INLINE vf normal_distribution(vf x, vf *density) {
  vf t = 1.0f / (1.0f + vf_abs(x) * 0.23164189f);
  vf p = -1.453152027f * 0.5f + t * (1.061405429f * 0.5f);
  p = 1.421413741f * 0.5f + t * p;
  p = -0.284496736f * 0.5f + t * p;
  p = 0.254829592f * 0.5f + t * p;
  *density = vf_exp(x * x * -0.5f);
  vf tail = t * p * *density;
  return vf_select(x < 0.0f, tail, 1.0f - tail);
}

VEC_INLINE vf activation_value(enum linnet_activation f, vf x) {
  vf density;
  switch (f) {
  case LINNET_RELU:
    return vf_max(x, vf_set(0));
  case LINNET_GELU:
    return x * normal_distribution(x, &density);
  case LINNET_SILU:
    return x * sigmoid_value(x);
  case LINNET_IDENTITY:
    break;
  }
  return x;
}
