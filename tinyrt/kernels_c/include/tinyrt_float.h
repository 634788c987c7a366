/** Functions of floats that kernels take as arguments, beside those of <math.h>. */
#ifndef TINYRT_FLOAT_H
#define TINYRT_FLOAT_H

#include "tinyrt_types.h"

#include <math.h>

/** A function of one float, and one of two. */
typedef float (*tinyrt_function)(float x);
typedef float (*tinyrt_function2)(float a, float b);

/** sum + a * b, rounded once where that is one instruction. */
static inline float tinyrt_mlaf(float sum, float a, float b) {
#ifdef __FP_FAST_FMAF
    return fmaf(a, b, sum);
#else
    return sum + (a * b);
#endif
}

/** x, rounded by itself, even where the next operation could take it unrounded. */
static inline float tinyrt_rounded(float x) {
    const volatile float kept = x;
    return kept;
}

/** value limited to [low, high]; NaN stays. */
static inline float tinyrt_clampf(float value, float low, float high) {
    if (value < low) {
        return low;
    }
    return (value > high) ? high : value;
}

static inline float tinyrt_negf(float x) {
    return -x;
}

static inline float tinyrt_signf(float x) {
    if ((x == 0.0F) || isnan(x)) {
        return x;
    }
    return (x > 0.0F) ? 1.0F : -1.0F;
}

static inline float tinyrt_squaref(float x) {
    return x * x;
}

static inline float tinyrt_rsqrtf(float x) {
    return 1.0F / sqrtf(x);
}

static inline float tinyrt_eluf(float x) {
    return (x > 0.0F) ? x : expm1f(x);
}

/** 1 / (1 + exp(-x)), from an exponential that cannot overflow. */
static inline float tinyrt_logisticf(float x) {
    const float small = expf(-fabsf(x));
    return ((x >= 0.0F) ? 1.0F : small) / (1.0F + small);
}

static inline float tinyrt_hard_swishf(float x) {
    return x * tinyrt_clampf(x + 3.0F, 0.0F, 6.0F) / 6.0F;
}

/** x * (1 + erf(x / sqrt(2))) / 2. */
static inline float tinyrt_geluf(float x) {
    return 0.5F * x * erfcf(-0.707106781F * x);
}

/** The same with tanh in place of erf. */
static inline float tinyrt_gelu_tanhf(float x) {
    const float inner = 0.797884561F * (x + (0.044715F * x * x * x));
    return 0.5F * x * (1.0F + tanhf(inner));
}

/** The remainder of a / b with b's sign. */
static inline float tinyrt_floor_modf(float a, float b) {
    const float rest = fmodf(a, b);
    return ((rest != 0.0F) && ((rest < 0.0F) != (b < 0.0F))) ? (rest + b) : rest;
}

/** The quotient a / b rounded down: one less where rounding to a float lifts it to a whole number.
 */
static inline float tinyrt_floor_divf(float a, float b) {
    const float quotient = a / b;
    const float whole = floorf(quotient);
    const int is_lifted = (whole == quotient) && fabsf(tinyrt_floor_modf(a, b)) > (0.5F * fabsf(b));
    return is_lifted ? (whole - 1.0F) : whole;
}

static inline float tinyrt_addf(float a, float b) {
    return a + b;
}

static inline float tinyrt_subf(float a, float b) {
    return a - b;
}

static inline float tinyrt_mulf(float a, float b) {
    return a * b;
}

static inline float tinyrt_divf(float a, float b) {
    return a / b;
}

static inline float tinyrt_squared_differencef(float a, float b) {
    return (a - b) * (a - b);
}

static inline float tinyrt_preluf(float x, float alpha) {
    return (x >= 0.0F) ? x : (x * alpha);
}

/** The larger, the smaller; NaN if either is. */
static inline float tinyrt_maxf(float a, float b) {
    return (a > b) || isnan(a) ? a : b;
}

static inline float tinyrt_minf(float a, float b) {
    return (a < b) || isnan(a) ? a : b;
}

#endif
