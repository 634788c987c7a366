/** Two lines of outputs of a 3 x 3 depthwise filter at once, on cores with dual multiplies: with
 * the output zero point -128, or with any where TINYRT_SIGNED is set. Included by
 *  tinyrt_depthwise3x3_loop.h alone. */
#ifndef TINYRT_DEPTHWISE_PAIR_H
#define TINYRT_DEPTHWISE_PAIR_H

#include "tinyrt_copy.h"
#include "tinyrt_flexible.h"

#if defined(__ARM_FEATURE_DSP) && TINYRT_ASM_LOOPS
#define TINYRT_PAIR_ASSEMBLY
/** Set where the loop has registers neither for outputs nor for operands in memory, as with clang:
 *  it has one for the channel, which then knows the end of saved, and how far outputs lie from
 * inputs.
 */
#ifdef __clang__
#define TINYRT_PAIR_ASIDE
#endif
#endif

/** A column of the filter: the pair of its first two weights, and of its last two. */
typedef struct {
    uint32_t first;
    uint32_t last;
} tinyrt_filter_pairs;

/** From a doubled sum to an output, before its shift. */
typedef struct {
    int32_t mult;
    int32_t rounding;
} tinyrt_pair_scale;

/** The four activations of a column that two lines of outputs read. */
typedef struct {
    uint32_t upper;
    uint32_t lower;
} tinyrt_column4;

/** What the loop needs: the filter, column by column; what sums begin with; bytes to the next
 *  element of a line, and to the next line. */
typedef struct {
    tinyrt_filter_pairs filter[3];
    tinyrt_pair_scale scale;
    int32_t shift;
    int32_t init;
    int32_t head;
    int32_t tail;
    int32_t step;
    int32_t row;
    int32_t x_zp;
#ifdef TINYRT_PAIR_ASIDE
    const int8_t *end;
    uintptr_t aside;
#endif
} tinyrt_pair_channel;

/** The sums of both lines for the outputs whose windows have begun. */
typedef struct {
    int32_t two[2];
    int32_t one[2];
} tinyrt_pair_sums;

/** The column at x, between the line before, which is in saved, and the last one, which lies
 *  beside the input where bottom is set; saved takes the lower of both lines. */
static inline tinyrt_column4 tinyrt_next_column4(const tinyrt_pair_channel *k, int bottom,
                                                 const int8_t *x, int8_t *saved) {
    const uint32_t before = (uint32_t)*saved;
    const uint32_t upper = (uint32_t)x[0];
    const int8_t lower = x[k->row];
    const uint32_t behind = (bottom != 0) ? (uint32_t)k->x_zp : (uint32_t)x[2 * k->row];
    const tinyrt_column4 column = {tinyrt_low_halves(before, upper),
                                   tinyrt_low_halves((uint32_t)lower, behind)};
    *saved = lower;
    return column;
}

/** The products of a column, added to the sums of both lines. */
static inline void tinyrt_add_column4(tinyrt_filter_pairs f, tinyrt_column4 x, const int32_t *from,
                                      int32_t *sums) {
    const int32_t upper = tinyrt_dot_pair(x.upper, f.first, from[0]);
    const int32_t lower = tinyrt_add_low_high(f.first, x.upper, from[1]);
    sums[0] = tinyrt_add_low_high(x.lower, f.last, upper);
    sums[1] = tinyrt_dot_pair(x.lower, f.last, lower);
}

/** The output's zero point. */
#ifdef TINYRT_SIGNED
#define TINYRT_PAIR_Y_ZP(p) ((p)->y_zp)
#else
#define TINYRT_PAIR_Y_ZP(p) INT8_MIN
#endif

/** An output. With the zero point -128 no sum below zero gives more than that, so that the second
 *  rounding needs no sign. */
static inline int8_t tinyrt_finish_pair(const tinyrt_pair_channel *k, int32_t doubled) {
#ifdef TINYRT_SIGNED
    const int32_t sum = tinyrt_signed_high_mul(doubled, k->scale.mult, k->scale.rounding);
#else
    const int32_t sum = tinyrt_add_high_mul(doubled, k->scale.mult, k->scale.rounding);
#endif
    return (int8_t)tinyrt_saturate(sum >> k->shift);
}

#ifdef TINYRT_PAIR_ASSEMBLY

#ifdef TINYRT_PAIR_ASIDE
#define TINYRT_PAIR_FIELD(name) "[%[k], %[" name "]]"
#else
#define TINYRT_PAIR_FIELD(name) "%[" name "]"
#endif

/** Adds the step to a place. Where it is in memory, it is loaded before, behind another load, which
 * it overlaps. */
#define TINYRT_PAIR_LOAD_STEP(t)                                                                   \
    TINYRT_FIND_SPILLED("%[step]")                                                                 \
    TINYRT_IF_SPILLED("ldr %[" t "], %[step]\n", "")
#define TINYRT_PAIR_STEP(place, t)                                                                 \
    TINYRT_FIND_SPILLED("%[step]")                                                                 \
    TINYRT_IF_SPILLED("add %[" place "], %[" t "]\n", "add %[" place "], %[step]\n")

#define TINYRT_PAIR_COLUMN(behind)                                                                 \
    TINYRT_PAIR_STEP("x", "t0")                                                                    \
    "ldrsb %[t0], [%[saved]]\n"                                                                    \
    "ldrsb %[t1], [%[x]]\n"                                                                        \
    "ldrsb %[t2], [%[x], %[row]]\n" behind "strb %[t2], [%[saved]], #1\n"                          \
    "pkhbt %[t0], %[t0], %[t1], lsl #16\n"                                                         \
    "pkhbt %[t1], %[t2], %[t3], lsl #16\n"

#define TINYRT_PAIR_BEHIND "ldrsb %[t3], [%[x], %[row], lsl #1]\n"
#define TINYRT_PAIR_BESIDE "ldr %[t3], " TINYRT_PAIR_FIELD("zp") "\n"

#define TINYRT_PAIR_PRODUCTS(filter, a, b, from_a, from_b)                                         \
    "ldrd %[t2], %[t3], " TINYRT_PAIR_FIELD(filter) "\n"                                           \
                                                    "smlad %[" a "], %[t0], %[t2], %[" from_a      \
                                                    "]\n"                                          \
                                                    "smlatb %[" b "], %[t0], %[t2], %[" from_b     \
                                                    "]\n"                                          \
                                                    "smlabt %[" a "], %[t1], %[t3], %[" a "]\n"    \
                                                    "smlad %[" b "], %[t1], %[t3], %[" b "]\n"

#ifdef TINYRT_PAIR_ASIDE
#define TINYRT_PAIR_LOAD_Y_STEP
#define TINYRT_PAIR_BEGIN                                                                          \
    "ldr %[oa], " TINYRT_PAIR_FIELD("init") "\n"                                                   \
                                            "mov %[ob], %[oa]\n" TINYRT_PAIR_PRODUCTS(             \
                                                "k0", "oa", "ob", "oa", "ob")
#define TINYRT_PAIR_STORE                                                                          \
    "ldr %[t2], " TINYRT_PAIR_FIELD("aside") "\n"                                                  \
                                             "strb %[ta], [%[x], %[t2]]\n"                         \
                                             "add %[t2], %[row]\n"                                 \
                                             "strb %[tb], [%[x], %[t2]]\n"
#else
#define TINYRT_PAIR_LOAD_Y_STEP TINYRT_PAIR_LOAD_STEP("t3")
#define TINYRT_PAIR_BEGIN                                                                          \
    TINYRT_FIND_SPILLED("%[init]")                                                                 \
    TINYRT_IF_SPILLED("ldr %[oa], %[init]\n"                                                       \
                      "mov %[ob], %[oa]\n" TINYRT_PAIR_PRODUCTS("k0", "oa", "ob", "oa", "ob"),     \
                      TINYRT_PAIR_PRODUCTS("k0", "oa", "ob", "init", "init"))

#define TINYRT_PAIR_STORE                                                                          \
    TINYRT_FIND_SPILLED("%[y]")                                                                    \
    TINYRT_IF_SPILLED("ldr %[t2], %[y]\n"                                                          \
                      "strb %[ta], [%[t2]]\n"                                                      \
                      "strb %[tb], [%[t2], %[row]]\n" TINYRT_PAIR_STEP("t2", "t3") "str %[t2], "   \
                                                                                   "%[y]\n",       \
                      "strb %[ta], [%[y]]\n"                                                       \
                      "strb %[tb], [%[y], %[row]]\n" TINYRT_PAIR_STEP("y", "t3"))
#endif

/** The high half of a product; where it takes a sign, that is the sum's. */
#ifdef TINYRT_SIGNED
#define TINYRT_PAIR_HIGH(sum)                                                                      \
    "add %[t3], %[t3], %[" sum "], asr #31\n"                                                      \
    "smmlar %[" sum "], %[" sum "], %[t2], %[t3]\n"
#define TINYRT_PAIR_AGAIN "ldr %[t3], " TINYRT_PAIR_FIELD("rounding") "\n"
#else
#define TINYRT_PAIR_HIGH(sum) "smmlar %[" sum "], %[" sum "], %[t2], %[t3]\n"
#define TINYRT_PAIR_AGAIN
#endif

#define TINYRT_PAIR_OUTPUTS                                                                        \
    "ldrd %[t2], %[t3], " TINYRT_PAIR_FIELD("scale") "\n" TINYRT_PAIR_HIGH("ta")                   \
        TINYRT_PAIR_AGAIN TINYRT_PAIR_HIGH("tb") "ldr %[t2], " TINYRT_PAIR_FIELD(                  \
            "shift") "\n" TINYRT_PAIR_LOAD_Y_STEP "asr %[ta], %[ta], %[t2]\n"                      \
                     "asr %[tb], %[tb], %[t2]\n"                                                   \
                     "ssat %[ta], #8, %[ta]\n"                                                     \
                     "ssat %[tb], #8, %[tb]\n" TINYRT_PAIR_STORE

#define TINYRT_PAIR_LOOP(behind)                                                                   \
    TINYRT_PAIR_LOAD_STEP("t0")                                                                    \
    "1:\n" TINYRT_PAIR_COLUMN(behind) TINYRT_PAIR_PRODUCTS("k2", "ta", "tb", "ta", "tb")           \
        TINYRT_PAIR_OUTPUTS TINYRT_PAIR_PRODUCTS("k1", "ta", "tb", "oa", "ob") TINYRT_PAIR_BEGIN   \
        "ldr %[t2], " TINYRT_PAIR_FIELD("end") "\n" TINYRT_PAIR_LOAD_STEP(                         \
            "t0") "cmp %[saved], %[t2]\n"                                                          \
                  "bne 1b\n"

/** The columns from the one behind x on, until saved is at its end; from outputs at y on. Takes
 *  every register that there is. */
#ifdef TINYRT_PAIR_ASIDE
#define TINYRT_PAIR_AT(name, field) [name] "i"(offsetof(tinyrt_pair_channel, field))
#define TINYRT_PAIR_COLUMNS(behind)                                                                \
    __asm volatile(TINYRT_PAIR_LOOP(behind)                                                        \
                   : [x] "+r"(x), [saved] "+r"(saved), [ta] "+r"(sums.two[0]),                     \
                     [tb] "+r"(sums.two[1]), [oa] "+r"(sums.one[0]), [ob] "+r"(sums.one[1]),       \
                     [t0] "=&r"(t0), [t1] "=&r"(t1), [t2] "=&r"(t2), [t3] "=&r"(t3)                \
                   : [row] "r"(k->row), [step] "r"(k->step), [k] "r"(k),                           \
                     TINYRT_PAIR_AT(init, init), TINYRT_PAIR_AT(aside, aside),                     \
                     TINYRT_PAIR_AT(end, end), TINYRT_PAIR_AT(zp, x_zp),                           \
                     TINYRT_PAIR_AT(scale, scale), TINYRT_PAIR_AT(shift, shift),                   \
                     TINYRT_PAIR_AT(rounding, scale.rounding), TINYRT_PAIR_AT(k0, filter[0]),      \
                     TINYRT_PAIR_AT(k1, filter[1]), TINYRT_PAIR_AT(k2, filter[2])                  \
                   : "cc", "memory")
#else
#define TINYRT_PAIR_COLUMNS(behind)                                                                \
    __asm volatile(                                                                                \
        TINYRT_PAIR_LOOP(behind)                                                                   \
        : [x] "+r"(x), [saved] "+r"(saved), [y] "+rm"(y), [ta] "+r"(sums.two[0]),                  \
          [tb] "+r"(sums.two[1]), [oa] "+r"(sums.one[0]), [ob] "+r"(sums.one[1]), [t0] "=&r"(t0),  \
          [t1] "=&r"(t1), [t2] "=&r"(t2), [t3] "=&r"(t3)                                           \
        : [row] "r"(k->row), [init] "rm"(k->init), [step] "rm"(k->step), [end] "m"(end),           \
          [zp] "m"(k->x_zp), [scale] "m"(k->scale), [shift] "m"(k->shift), [k0] "m"(k->filter[0]), \
          [k1] "m"(k->filter[1]), [k2] "m"(k->filter[2]), [rounding] "m"(k->scale.rounding)        \
        : "cc", "memory")
#endif

#else

/** The same in C, once for each of both borders. Returns where outputs go on. */
static inline int8_t *tinyrt_pair_columns(const tinyrt_pair_channel *k, int bottom, const int8_t *x,
                                          int8_t *saved, const int8_t *end, tinyrt_pair_sums *sums,
                                          int8_t *y) {
    const int32_t init[2] = {k->init, k->init};
    while (saved != end) {
        x += k->step;
        const tinyrt_column4 column = tinyrt_next_column4(k, bottom, x, saved++);
        int32_t sum[2];
        tinyrt_add_column4(k->filter[2], column, sums->two, sum);
        y[0] = tinyrt_finish_pair(k, sum[0]);
        y[k->row] = tinyrt_finish_pair(k, sum[1]);
        y += k->step;
        tinyrt_add_column4(k->filter[1], column, sums->one, sums->two);
        tinyrt_add_column4(k->filter[0], column, init, sums->one);
    }
    return y;
}

#endif

/** Two lines; the first input line is in saved. */
static inline void tinyrt_slide_pair(const tinyrt_depthwise3x3_s8_params *p,
                                     const tinyrt_pair_channel *k, int bottom, const int8_t *x,
                                     int8_t *saved, int8_t *y) {
    const int32_t init[2] = {k->init, k->init};
    tinyrt_pair_sums sums = {{k->head, k->head}, {0, 0}};
    const int8_t *const end = saved + p->along.x_count;
    tinyrt_column4 column = tinyrt_next_column4(k, bottom, x, saved++);
    tinyrt_add_column4(k->filter[1], column, sums.two, sums.two);
    tinyrt_add_column4(k->filter[0], column, init, sums.one);
#ifdef TINYRT_PAIR_COLUMNS
    uint32_t t0, t1, t2, t3;
    if (saved != end) {
        if (bottom != 0) {
            TINYRT_PAIR_COLUMNS(TINYRT_PAIR_BESIDE);
        } else {
            TINYRT_PAIR_COLUMNS(TINYRT_PAIR_BEHIND);
        }
#ifdef TINYRT_PAIR_ASIDE
        y = (int8_t *)((uintptr_t)x + k->aside) + k->step;
#endif
    }
#else
    if (bottom != 0) {
        y = tinyrt_pair_columns(k, 1, x, saved, end, &sums, y);
    } else {
        y = tinyrt_pair_columns(k, 0, x, saved, end, &sums, y);
    }
#endif
    y[0] = tinyrt_finish_pair(k, sums.two[0] + k->tail);
    y[k->row] = tinyrt_finish_pair(k, sums.two[1] + k->tail);
}

/** The last line alone, beside the input's end: its lowest weights see the zero point. */
static inline void tinyrt_slide_last(const tinyrt_depthwise3x3_s8_params *p,
                                     const tinyrt_pair_channel *k, const int8_t *x,
                                     const int8_t *saved, int8_t *y) {
    const uint32_t zp = (uint32_t)k->x_zp;
    const uint32_t border = tinyrt_low_halves(zp, zp);
    int32_t init = k->init;
    for (int32_t kx = 0; kx < 3; ++kx) {
        init = tinyrt_add_low_high(zp, k->filter[kx].last, init);
    }
    const int8_t *const end = saved + p->along.x_count;
    const int32_t zero = tinyrt_dot_pair(border, k->filter[0].first, init);
    uint32_t column = tinyrt_low_halves((uint32_t)*saved++, (uint32_t)*x);
    int32_t two = tinyrt_dot_pair(column, k->filter[1].first, zero);
    int32_t one = tinyrt_dot_pair(column, k->filter[0].first, init);
    while (saved != end) {
        x += k->step;
        column = tinyrt_low_halves((uint32_t)*saved++, (uint32_t)*x);
        *y = tinyrt_finish_pair(k, tinyrt_dot_pair(column, k->filter[2].first, two));
        y += k->step;
        two = tinyrt_dot_pair(column, k->filter[1].first, one);
        one = tinyrt_dot_pair(column, k->filter[0].first, init);
    }
    *y = tinyrt_finish_pair(k, tinyrt_dot_pair(border, k->filter[2].first, two));
}

/** Channel c; its borders see the zero point themselves. */
static inline void tinyrt_set_pair_channel(const tinyrt_depthwise3x3_s8_params *p, int32_t c,
                                           tinyrt_pair_channel *k) {
    const tinyrt_column3 border = tinyrt_load_column3(p->x_zp, p->x_zp, p->x_zp);
    const int32_t i = c & -(p->requant_step >> 2);
    tinyrt_filter3 f = TINYRT_LOAD_FILTER3(p->w, c, p->shift[i]);
    tinyrt_double3(&f);
    for (int32_t kx = 0; kx < 3; ++kx) {
        const uint32_t lowest = (kx == 2) ? f.lowest_2 : (f.lowest_01 >> (16 * kx));
        k->filter[kx].first = f.upper[kx];
        k->filter[kx].last = tinyrt_low_halves(f.upper[kx] >> 16, lowest);
    }
    k->scale.mult = p->mult[i];
    k->shift = TINYRT_RIGHT(p->shift[i]) - 1;
    k->scale.rounding = tinyrt_rounding_of(k->shift, (2 * TINYRT_PAIR_Y_ZP(p)) + 1);
    k->init = 2 * p->init[c];
    k->head = tinyrt_add_column3(&f, 0, border, k->init);
    k->tail = tinyrt_add_column3(&f, 2, border, 0);
    k->step = p->along.x_step;
    k->row = p->across.x_step;
    k->x_zp = p->x_zp;
}

/** Lines of channel c two at a time, and a last one beside the input's end. Returns how many lines
 *  there were: none where sums need a sign that they do not take, or outputs do not lie as inputs
 *  do. Where they do, lines have padding at both ends; across them there is none in rows of a
 * larger image. */
static TINYRT_NOINLINE int32_t tinyrt_slide_pairs(const tinyrt_depthwise3x3_s8_params *p, int32_t c,
                                                  const int8_t *x, int8_t *saved, int8_t *y) {
    const tinyrt_axis *const across = &p->across;
    if ((p->stride != 1) || (across->x_step != across->y_step)) {
        return 0;
    }
#ifdef TINYRT_SIGNED
    if (TINYRT_RIGHT(p->shift[c & -(p->requant_step >> 2)]) == 1) {
        return 0; /* nothing is rounded a second time, which the sum's sign would alter */
    }
#else
    if (p->y_zp != TINYRT_PAIR_Y_ZP(p)) {
        return 0;
    }
#endif
    if (across->pad == 1) {
        tinyrt_fill((int8_t)p->x_zp, saved + p->along.x_count, saved);
    }
    tinyrt_pair_channel k;
    tinyrt_set_pair_channel(p, c, &k);
    TINYRT_IN_MEMORY(k);
    /* What the line behind the lower one is. */
    int32_t behind = 3 - across->pad;
    x += (1 - across->pad) * across->x_step;
#ifdef TINYRT_PAIR_ASIDE
    k.end = saved + p->along.x_count;
    k.aside = (uintptr_t)y - (uintptr_t)(x + k.step);
#endif
    for (int32_t left = across->y_count; left > 1; left -= 2, behind += 2) {
        tinyrt_slide_pair(p, &k, behind >= across->x_count, x, saved, y);
        x += 2 * across->x_step;
        y += 2 * across->y_step;
    }
    if (((across->y_count & 1) == 0) || (behind != (across->x_count + 1))) {
        return across->y_count & ~1;
    }
    tinyrt_slide_last(p, &k, x, saved, y);
    return across->y_count;
}

#endif
