/** Depthwise outputs of channels one after the other, two lines at a time, for cores with MVE.
 *
 *  A vector has what two outputs, one above the other, read of a channel: its product with the
 *  weights is one of them, that with the weights some lines further down the other one. */
#ifndef TINYRT_MVE_PLANES_H
#define TINYRT_MVE_PLANES_H

#include "tinyrt_flexible.h"
#include "tinyrt_mve.h"
#include "tinyrt_product_types.h"

/** Pairs of outputs that are finished at once. */
#define TINYRT_MVE_PAIRS_AT_ONCE 4

/** One channel: weights of the upper and of the lower output, and how sums are scaled.
 *  left >= 0 >= right. */
typedef struct {
    int8_t upper[TINYRT_VECTOR];
    int8_t lower[TINYRT_VECTOR];
    int32_t bias;
    int32_t mult;
    int32_t right;
    int32_t left;
} tinyrt_mve_channel;

/** Loops, by how results are rounded, and by the bytes from one window to the next. */
enum {
    TINYRT_PLANE_POSITIVE_4,
    TINYRT_PLANE_POSITIVE_2,
    TINYRT_PLANE_POSITIVE_10,
    TINYRT_PLANE_SIGNED_4,
    TINYRT_PLANE_SIGNED_2,
    TINYRT_PLANE_SIGNED_10,
    TINYRT_PLANE_ANY
};

/** What all channels share. The assembly below knows the offsets.
 *  places: where outputs go, in bytes from a channel's first one, an upper and a lower one to a
 * word; those below 0 are not stored. times: fours of windows. */
typedef struct {
    int16x8_t act_min;
    int16x8_t act_max;
    const uint32_t *places;
    int32_t times;
    int32_t plane_bytes;
    const tinyrt_mve_channel *end;
    int32_t step;
    int32_t loop;
    int32_t y_zp;
} tinyrt_mve_plane;

#if TINYRT_ASM_LOOPS

/* q0 has a window; r0 to r6 have its products, which go to q4 and q5: the upper and the lower
 * outputs of four windows. q1 and q2 are weights, q3 is the bias, q7 the shift, q6 the zero point.
 */
#define TINYRT_MVE_PLANE_WINDOW(x, upper, lower)                                                   \
    "vldrb.8 q0, " x "\n"                                                                          \
    "vmladav.s8 " upper ", q0, q1\n"                                                               \
    "vmladav.s8 " lower ", q0, q2\n"
#define TINYRT_MVE_PLANE_ODD                                                                       \
    "vmov q4[3], q4[1], r0, r4\n"                                                                  \
    "vmov q5[3], q5[1], r2, r6\n"
#define TINYRT_MVE_PLANE_EVEN                                                                      \
    "vmov q4[2], q4[0], r4, r0\n"                                                                  \
    "vmov q5[2], q5[0], r6, r2\n"                                                                  \
    "vadd.i32 q4, q4, q3\n"                                                                        \
    "vadd.i32 q5, q5, q3\n"

/** Windows that are one, two and three steps behind a, and the one at a, which goes on by four. */
#define TINYRT_MVE_PLANE_WINDOWS(one, two, three, four)                                            \
    TINYRT_MVE_PLANE_WINDOW("[%[a], #" one "]", "r0", "r2")                                        \
    TINYRT_MVE_PLANE_WINDOW("[%[a], #" three "]", "r4", "r6")                                      \
    TINYRT_MVE_PLANE_ODD TINYRT_MVE_PLANE_WINDOW("[%[a], #" two "]", "r0", "r2")                   \
        TINYRT_MVE_PLANE_WINDOW("[%[a]], #" four, "r4", "r6") TINYRT_MVE_PLANE_EVEN

/** The same for any step. */
#define TINYRT_MVE_PLANE_STEP(r, instruction)                                                      \
    "ldr " r ", [%[plane], #48]\n" instruction " %[a], %[a], " r
#define TINYRT_MVE_PLANE_ANY_WINDOWS                                                               \
    TINYRT_MVE_PLANE_STEP("r0", "add")                                                             \
    "\n" TINYRT_MVE_PLANE_WINDOW("[%[a]]", "r0", "r2") TINYRT_MVE_PLANE_STEP(                      \
        "r4", "add") ", lsl #1\n" TINYRT_MVE_PLANE_WINDOW("[%[a]]", "r4", "r6")                    \
        TINYRT_MVE_PLANE_ODD TINYRT_MVE_PLANE_STEP("r0", "sub") "\n" TINYRT_MVE_PLANE_WINDOW(      \
            "[%[a]]", "r0", "r2")                                                                  \
            TINYRT_MVE_PLANE_STEP("r4", "sub") ", lsl #1\n" TINYRT_MVE_PLANE_WINDOW("[%[a]]",      \
                                                                                    "r4", "r6")    \
                TINYRT_MVE_PLANE_EVEN TINYRT_MVE_PLANE_STEP("r0", "add") ", lsl #2\n"

/** To q0 and q4 where the sign does not matter. */
#define TINYRT_MVE_PLANE_POSITIVE                                                                  \
    "vqrdmulh.s32 q0, q4, %[mult]\n"                                                               \
    "vqrdmulh.s32 q4, q5, %[mult]\n"                                                               \
    "vrshl.s32 q0, q0, q7\n"                                                                       \
    "vrshl.s32 q4, q4, q7\n"

/** The same with r0 less for negative sums: the high half of twice a sum is its sign. */
#define TINYRT_MVE_PLANE_ROUND_BELOW                                                               \
    "vqrdmulh.s32 q0, q4, %[mult]\n"                                                               \
    "vqdmlah.s32 q0, q4, r0\n"                                                                     \
    "vqrdmulh.s32 q4, q5, %[mult]\n"                                                               \
    "vqdmlah.s32 q4, q5, r0\n"                                                                     \
    "vrshl.s32 q0, q0, q7\n"                                                                       \
    "vrshl.s32 q4, q4, q7\n"
#define TINYRT_MVE_PLANE_SIGNED "movs r0, #1\n" TINYRT_MVE_PLANE_ROUND_BELOW
#define TINYRT_MVE_PLANE_ANY                                                                       \
    "ldrd r0, r2, [%[channel], #-8]\n"                                                             \
    "lsrs r0, r0, #31\n"                                                                           \
    "vshl.s32 q4, r2\n"                                                                            \
    "vshl.s32 q5, r2\n" TINYRT_MVE_PLANE_ROUND_BELOW

#define TINYRT_MVE_PLANE_LIMIT "vqmovnb.s16 q0, q0\n"
#define TINYRT_MVE_PLANE_ANY_LIMIT                                                                 \
    "vldrw.32 q5, [%[plane], #0]\n"                                                                \
    "vmax.s16 q0, q0, q5\n"                                                                        \
    "vldrw.32 q5, [%[plane], #16]\n"                                                               \
    "vmin.s16 q0, q0, q5\n"

/** All windows of a channel: eight outputs at a time, pair by pair in 16 bits. */
#define TINYRT_MVE_PLANE_LOOP(label, windows, requant, limit)                                      \
    label ":\n" windows requant "vqmovnb.s32 q0, q0\n"                                             \
          "vqmovnt.s32 q0, q4\n"                                                                   \
          "vqadd.s16 q0, q0, q6\n"                                                                 \
          "vldrw.32 q4, [%[places]], #16\n" limit "vpt.s16 ge, q4, zr\n"                           \
          "vstrbt.16 q0, [%[y], q4]\n"                                                             \
          "le lr, " label "b\n"                                                                    \
          "b 9f\n"
#define TINYRT_MVE_PLANE_LOOPS(four, two, ten, requant)                                            \
    TINYRT_MVE_PLANE_LOOP(four, TINYRT_MVE_PLANE_WINDOWS("4", "8", "12", "16"), requant,           \
                          TINYRT_MVE_PLANE_LIMIT)                                                  \
    TINYRT_MVE_PLANE_LOOP(two, TINYRT_MVE_PLANE_WINDOWS("2", "4", "6", "8"), requant,              \
                          TINYRT_MVE_PLANE_LIMIT)                                                  \
    TINYRT_MVE_PLANE_LOOP(ten, TINYRT_MVE_PLANE_WINDOWS("10", "20", "30", "40"), requant,          \
                          TINYRT_MVE_PLANE_LIMIT)

#define TINYRT_MVE_PLANE_PLACE_OF(label) ".2byte (" label "f - 3b) / 2\n"

/** Outputs of all channels up to plane->end; the first windows of the first one begin at copy. */
static inline void tinyrt_mve_plane_outputs(const tinyrt_mve_plane *plane,
                                            const tinyrt_mve_channel *channel, const int8_t *copy,
                                            int8_t *y) {
    const int8_t *a;
    const uint32_t *places;
    int32_t mult;
    uint32_t p0;
    (void)p0;
    __asm volatile(
        TINYRT_MVE_KEEP_P0
        "ldr r0, [%[plane], #56]\n"
        "vdup.16 q6, r0\n"
        "1:\n"
        "vldrw.32 q1, [%[channel]], #16\n"
        "vldrw.32 q2, [%[channel]], #16\n"
        "ldrd r0, %[mult], [%[channel]], #8\n"
        "ldr r2, [%[channel]], #8\n"
        "ldrd %[places], r4, [%[plane], #32]\n"
        "ldr r6, [%[plane], #52]\n"
        "vdup.32 q3, r0\n"
        "vdup.32 q7, r2\n"
        "mov %[a], %[copy]\n"
        "dls lr, r4\n"
        "tbh [pc, r6, lsl #1]\n"
        "3:\n" TINYRT_MVE_PLANE_PLACE_OF("10") TINYRT_MVE_PLANE_PLACE_OF("11")
            TINYRT_MVE_PLANE_PLACE_OF("12") TINYRT_MVE_PLANE_PLACE_OF("13")
                TINYRT_MVE_PLANE_PLACE_OF("14") TINYRT_MVE_PLANE_PLACE_OF("15")
                    TINYRT_MVE_PLANE_PLACE_OF("16")
                        TINYRT_MVE_PLANE_LOOPS("10", "11", "12", TINYRT_MVE_PLANE_POSITIVE)
                            TINYRT_MVE_PLANE_LOOPS("13", "14", "15", TINYRT_MVE_PLANE_SIGNED)
                                TINYRT_MVE_PLANE_LOOP(
                                    "16", TINYRT_MVE_PLANE_ANY_WINDOWS, TINYRT_MVE_PLANE_ANY,
                                    TINYRT_MVE_PLANE_ANY_LIMIT) "9:\n"
                                                                "ldrd r0, r2, [%[plane], #40]\n"
                                                                "add %[y], #1\n"
                                                                "add %[copy], r0\n"
                                                                "cmp %[channel], r2\n"
                                                                "bne 1b\n" TINYRT_MVE_RESTORE_P0
        : [channel] "+r"(channel), [copy] "+r"(copy), [y] "+r"(y), [a] "=&r"(a),
          [places] "=&r"(places), [mult] "=&r"(mult)TINYRT_MVE_KEPT_P0
        : [plane] "r"(plane)
        : "r0", "r2", "r4", "r6", "lr", "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "cc",
          "memory" TINYRT_MVE_CLOBBERS_P0);
}

#else

/** How sums of a channel are scaled. */
typedef struct {
    int32_t bias;
    int32_t mult;
    int32_t right;
    int32_t left;
} tinyrt_mve_scale_of_plane;

static inline int32x4_t tinyrt_mve_plane_scaled(tinyrt_mve_scale_of_plane scale, int is_any,
                                                int32x4_t sums) {
    int32x4_t value = vaddq_n_s32(sums, scale.bias);
    if (is_any != 0) {
        value = vqrdmulhq_n_s32(vshlq_r_s32(value, scale.left), scale.mult);
        return tinyrt_mve_rounding_shift_right(value, vdupq_n_s32(scale.right));
    }
    /* The high half of twice the sum, times 1, is its sign. */
    value = vqdmlahq_n_s32(vqrdmulhq_n_s32(value, scale.mult), value, 1);
    return vrshlq_n_s32(value, scale.right);
}

/** All windows of a channel. */
static inline void tinyrt_mve_plane_channel(const tinyrt_mve_plane *plane,
                                            const tinyrt_mve_channel *channel, int is_any,
                                            const int8_t *a, int8_t *y) {
    const int8x16_t above = vldrbq_s8(channel->upper);
    const int8x16_t below = vldrbq_s8(channel->lower);
    const tinyrt_mve_scale_of_plane scale = {channel->bias, channel->mult, channel->right,
                                             channel->left};
    const int16_t y_zp = (int16_t)plane->y_zp;
    const int16x8_t low = plane->act_min;
    const int16x8_t high = plane->act_max;
    const int32_t step = plane->step;
    const uint32_t *places = plane->places;
    for (int32_t times = plane->times; times > 0; --times) {
        const int8x16_t first = vldrbq_s8(a);
        const int8x16_t second = vldrbq_s8(a + step);
        const int8x16_t third = vldrbq_s8(a + (2 * step));
        const int8x16_t fourth = vldrbq_s8(a + (3 * step));
        const int32_t upper[] = {vmladavq_s8(first, above), vmladavq_s8(second, above),
                                 vmladavq_s8(third, above), vmladavq_s8(fourth, above)};
        const int32_t lower[] = {vmladavq_s8(first, below), vmladavq_s8(second, below),
                                 vmladavq_s8(third, below), vmladavq_s8(fourth, below)};
        a += TINYRT_MVE_PAIRS_AT_ONCE * step;
        const int32x4_t even = tinyrt_mve_plane_scaled(scale, is_any, vldrwq_s32(upper));
        const int32x4_t odd = tinyrt_mve_plane_scaled(scale, is_any, vldrwq_s32(lower));
        int16x8_t both = vqmovntq_s32(vqmovnbq_s32(vdupq_n_s16(0), even), odd);
        both = vqaddq_n_s16(both, y_zp);
        both = vminq_s16(vmaxq_s16(both, low), high);
        const int16x8_t to = vreinterpretq_s16_u32(vldrwq_u32(places));
        vstrbq_scatter_offset_p_s16(y, vreinterpretq_u16_s16(to), both, vcmpgeq_n_s16(to, 0));
        places += TINYRT_MVE_PAIRS_AT_ONCE;
    }
}

static inline void tinyrt_mve_plane_outputs(const tinyrt_mve_plane *plane,
                                            const tinyrt_mve_channel *channel, const int8_t *copy,
                                            int8_t *y) {
    for (; channel != plane->end; ++channel) {
        if (plane->loop == TINYRT_PLANE_ANY) {
            tinyrt_mve_plane_channel(plane, channel, 1, copy, y);
        } else {
            tinyrt_mve_plane_channel(plane, channel, 0, copy, y);
        }
        copy += plane->plane_bytes;
        ++y;
    }
}

#endif

#endif
