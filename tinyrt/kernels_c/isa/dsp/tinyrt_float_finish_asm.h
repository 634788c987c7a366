/** What becomes of sums of floats, in assembly, included by tinyrt_float_tile_asm.h. */
#ifndef TINYRT_FLOAT_FINISH_ASM_H
#define TINYRT_FLOAT_FINISH_ASM_H

#include "tinyrt_float.h"
#include "tinyrt_types.h"

#include <string.h>

/* A comparison with NaN neither is less nor greater. */
#ifdef __ARM_FEATURE_NUMERIC_MAXMIN
#define TINYRT_RAISE(s)                                                                            \
    "vcmp.f32 %[low], " #s "\n"                                                                    \
    "vmrs APSR_nzcv, fpscr\n"                                                                      \
    "vselgt.f32 " #s ", %[low], " #s "\n"
#define TINYRT_LOWER(s)                                                                            \
    "vcmp.f32 " #s ", %[high]\n"                                                                   \
    "vmrs APSR_nzcv, fpscr\n"                                                                      \
    "vselgt.f32 " #s ", %[high], " #s "\n"
#else
#define TINYRT_RAISE(s)                                                                            \
    "vcmp.f32 " #s ", %[low]\n"                                                                    \
    "vmrs APSR_nzcv, fpscr\n"                                                                      \
    "it mi\n"                                                                                      \
    "vmovmi.f32 " #s ", %[low]\n"
#define TINYRT_LOWER(s)                                                                            \
    "vcmp.f32 " #s ", %[high]\n"                                                                   \
    "vmrs APSR_nzcv, fpscr\n"                                                                      \
    "it gt\n"                                                                                      \
    "vmovgt.f32 " #s ", %[high]\n"
#endif

#define TINYRT_RAISE_QUAD TINYRT_RAISE(s0) TINYRT_RAISE(s1) TINYRT_RAISE(s2) TINYRT_RAISE(s3)
#define TINYRT_LOWER_QUAD TINYRT_LOWER(s0) TINYRT_LOWER(s1) TINYRT_LOWER(s2) TINYRT_LOWER(s3)

/** Where s0 to s3 go, or their bits: side by side, or y_step apart one by one. */
#define TINYRT_STORE_QUAD                                                                          \
    "vstmia %[y], {s0-s3}\n"                                                                       \
    "add %[y], %[y], %[y_step], lsl #2\n"
#define TINYRT_STORE_BITS                                                                          \
    "strd %[first], %[second], [%[y]]\n"                                                           \
    "strd %[third], %[fourth], [%[y], #8]\n"                                                       \
    "add %[y], %[y], %[y_step], lsl #2\n"
#define TINYRT_STORE_ONE(s)                                                                        \
    "vstr " #s ", [%[y]]\n"                                                                        \
    "add %[y], %[y], %[y_step], lsl #2\n"
#define TINYRT_STORE_APART                                                                         \
    TINYRT_STORE_ONE(s0) TINYRT_STORE_ONE(s1) TINYRT_STORE_ONE(s2) TINYRT_STORE_ONE(s3)
#define TINYRT_STORE_BITS_OF_TWO(even, odd)                                                        \
    "str " even ", [%[y]]\n"                                                                       \
    "str " odd ", [%[y], %[y_step], lsl #2]\n"                                                     \
    "add %[y], %[y], %[y_step], lsl #3\n"
#define TINYRT_STORE_BITS_APART                                                                    \
    TINYRT_STORE_BITS_OF_TWO("%[first]", "%[second]")                                              \
    TINYRT_STORE_BITS_OF_TWO("%[third]", "%[fourth]")

/* What is written while inputs are still read may have no register with one of these, even where
 * both have the same value: "&". */

/** Fours of sums to y, each after these instructions on s0 to s3. */
#define TINYRT_FINISH_QUADS(limited, store)                                                        \
    __asm volatile("1:\n"                                                                          \
                   "vldmia %[sum]!, {s0-s3}\n" limited store "subs %[quads], %[quads], #1\n"       \
                   "bgt 1b\n"                                                                      \
                   : [sum] "+&r"(sum), [y] "+&r"(y), [quads] "+&r"(quads)                          \
                   : [y_step] "r"(y_step), [low] "t"(low), [high] "t"(high)                        \
                   : "cc", "memory", "s0", "s1", "s2", "s3")

/** A float's bits: those of negative floats and of -0 become 0, and high is the most. As unsigned
 *  numbers, negative floats are the largest. */
#define TINYRT_LIMIT_BITS(bits)                                                                    \
    "cmp " bits ", %[high]\n"                                                                      \
    "it hi\n"                                                                                      \
    "bichi " bits ", %[high], " bits ", asr #31\n"

/** Fours of sums limited to [0, high] by their bits. checked stays 0, or becomes NaN where a sum is
 *  NaN or infinite. */
#define TINYRT_FINISH_BITS(sums, left, most, at, checked, store)                                   \
    do {                                                                                           \
        uint32_t first, second, third, fourth;                                                     \
        __asm volatile("vsub.f32 s4, %[check], %[check]\n"                                         \
                       "1:\n"                                                                      \
                       "vldmia %[sum]!, {s0-s3}\n"                                                 \
                       "vmov %[first], %[second], s0, s1\n"                                        \
                       "vmov %[third], %[fourth], s2, s3\n"                                        \
                       "vfma.f32 %[check], s4, s0\n"                                               \
                       "vfma.f32 %[check], s4, s1\n"                                               \
                       "vfma.f32 %[check], s4, s2\n"                                               \
                       "vfma.f32 %[check], s4, s3\n" TINYRT_LIMIT_BITS("%[first]")                 \
                           TINYRT_LIMIT_BITS("%[second]") TINYRT_LIMIT_BITS("%[third]")            \
                               TINYRT_LIMIT_BITS("%[fourth]") store                                \
                       "subs %[quads], %[quads], #1\n"                                             \
                       "bgt 1b\n"                                                                  \
                       : [sum] "+&r"(sums), [y] "+&r"(at), [quads] "+&r"(left),                    \
                         [first] "=&r"(first), [second] "=&r"(second), [third] "=&r"(third),       \
                         [fourth] "=&r"(fourth), [check] "+&t"(checked)                            \
                       : [y_step] "r"(y_step), [high] "r"(most)                                    \
                       : "cc", "memory", "s0", "s1", "s2", "s3", "s4");                            \
    } while (0)

/** All of it, as the body of a function, by the limits that there are. */
#define TINYRT_FINISH(store, store_bits)                                                           \
    if (high == INFINITY) {                                                                        \
        if (low == -INFINITY) {                                                                    \
            TINYRT_FINISH_QUADS("", store);                                                        \
        } else {                                                                                   \
            TINYRT_FINISH_QUADS(TINYRT_RAISE_QUAD, store);                                         \
        }                                                                                          \
        return;                                                                                    \
    }                                                                                              \
    if (low == 0.0F) {                                                                             \
        const float *sums = sum;                                                                   \
        float *at = y;                                                                             \
        int32_t left = quads;                                                                      \
        float check = 0.0F;                                                                        \
        uint32_t bits;                                                                             \
        (void)memcpy(&bits, &high, sizeof bits);                                                   \
        TINYRT_FINISH_BITS(sums, left, bits, at, check, store_bits);                               \
        if (check == 0.0F) {                                                                       \
            return;                                                                                \
        }                                                                                          \
    }                                                                                              \
    TINYRT_FINISH_QUADS(TINYRT_RAISE_QUAD TINYRT_LOWER_QUAD, store)

static inline void tinyrt_quads_finish(const float *sum, int32_t quads, float low, float high,
                                       float *y, int32_t y_step) {
    TINYRT_FINISH(TINYRT_STORE_QUAD, TINYRT_STORE_BITS);
}

static inline void tinyrt_quads_finish_apart(const float *sum, int32_t quads, float low, float high,
                                             float *y, int32_t y_step) {
    TINYRT_FINISH(TINYRT_STORE_APART, TINYRT_STORE_BITS_APART);
}

#endif
