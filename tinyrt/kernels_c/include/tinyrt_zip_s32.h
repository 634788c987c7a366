/** zip: any function of two integers that stand for no real numbers, with broadcasting. */
#ifndef TINYRT_ZIP_S32_H
#define TINYRT_ZIP_S32_H

#include "tinyrt_broadcast.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A function of two integers. */
typedef int32_t (*tinyrt_function2_s32)(int32_t a, int32_t b);

/** y = f(a, b), element by element. y may be an input that does not repeat. */
void tinyrt_zip_s32(const tinyrt_broadcast *shape, tinyrt_function2_s32 f, const int32_t *a,
                    const int32_t *b, int32_t *y);

static inline int32_t tinyrt_add_whole(int32_t a, int32_t b) {
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

static inline int32_t tinyrt_sub_whole(int32_t a, int32_t b) {
    return (int32_t)((uint32_t)a - (uint32_t)b);
}

static inline int32_t tinyrt_mul_whole(int32_t a, int32_t b) {
    return (int32_t)((uint32_t)a * (uint32_t)b);
}

/** The quotient cut towards zero; 0 where b is 0. */
static inline int32_t tinyrt_divide_whole(int32_t a, int32_t b) {
    if (b == -1) {
        return tinyrt_sub_whole(0, a);
    }
    return (b == 0) ? 0 : (a / b);
}

/** The remainder, with the sign of b; 0 where b is 0. */
static inline int32_t tinyrt_floor_mod_whole(int32_t a, int32_t b) {
    const int32_t rest = ((b == 0) || (b == -1)) ? 0 : (a % b);
    return ((rest != 0) && ((rest < 0) != (b < 0))) ? (rest + b) : rest;
}

/** The quotient rounded down; 0 where b is 0. */
static inline int32_t tinyrt_floor_div_whole(int32_t a, int32_t b) {
    const int32_t quotient = tinyrt_divide_whole(a, b);
    const int is_cut = (tinyrt_floor_mod_whole(a, b) != 0) && ((a < 0) != (b < 0));
    return (is_cut != 0) ? (quotient - 1) : quotient;
}

static inline int32_t tinyrt_max_whole(int32_t a, int32_t b) {
    return (a > b) ? a : b;
}

static inline int32_t tinyrt_min_whole(int32_t a, int32_t b) {
    return (a < b) ? a : b;
}

#ifdef __cplusplus
}
#endif

#endif
