/** Tiles of Winograd's F(2 x 2, 3 x 3), two side by side, two channels at a time.
 *
 *  A tile's places are pairs of 16-bit numbers: of every four channels the even ones, then the odd
 *  ones. Both tiles' words of a pair of channels lie side by side, behind one another those of a
 *  place, and places in the order in which tinyrt_winograd_s8 sums them up: columns 1, 2, 0, 3, and
 *  of each rows 3, 1, 2, 0. */
#ifndef TINYRT_TILES_H
#define TINYRT_TILES_H

#include "tinyrt_columns.h"

/** The differences along a row of places of both tiles, from six columns that are summed up. */
static inline void tinyrt_tile_row(const uint32_t *column, int32_t step, tinyrt_taps_word *to) {
    to[0] = tinyrt_add_pairs(column[1], column[2]);
    to[1] = tinyrt_add_pairs(column[3], column[4]);
    to += 4 * step;
    to[0] = tinyrt_subtract_pairs(column[2], column[1]);
    to[1] = tinyrt_subtract_pairs(column[4], column[3]);
    to += 4 * step;
    to[0] = tinyrt_subtract_pairs(column[0], column[2]);
    to[1] = tinyrt_subtract_pairs(column[2], column[4]);
    to += 4 * step;
    to[0] = tinyrt_subtract_pairs(column[3], column[1]);
    to[1] = tinyrt_subtract_pairs(column[5], column[3]);
}

/** Row 0 or 3 of places: the differences of two rows of inputs, which may be one instruction. */
static inline void tinyrt_outer_row(const int8_t *from, const int8_t *less, int32_t channels,
                                    int32_t step, tinyrt_taps_word *to) {
    uint32_t even[6];
    uint32_t odd[6];
    for (int32_t i = 0; i < 6; ++i) {
        const uint32_t first = tinyrt_load_word(from + (i * channels));
        const uint32_t second = tinyrt_load_word(less + (i * channels));
        even[i] = tinyrt_subtract_pairs(tinyrt_even_bytes(first), tinyrt_even_bytes(second));
        odd[i] = tinyrt_subtract_pairs(tinyrt_odd_bytes(first), tinyrt_odd_bytes(second));
    }
    tinyrt_tile_row(even, step, to);
    tinyrt_tile_row(odd, step, to + 2);
}

/** Rows 1 and 2 of places: the sum and the difference of the inner rows of inputs. */
static inline void tinyrt_inner_rows(const int8_t *from, int32_t row, int32_t channels,
                                     int32_t step, tinyrt_taps_word *to) {
    uint32_t sum[6];
    uint32_t difference[6];
    for (int32_t i = 0; i < 6; ++i) {
        const uint32_t first = tinyrt_even_bytes(tinyrt_load_word(from + (i * channels)));
        const uint32_t second = tinyrt_even_bytes(tinyrt_load_word(from + row + (i * channels)));
        sum[i] = tinyrt_add_pairs(first, second);
        difference[i] = tinyrt_subtract_pairs(second, first);
    }
    tinyrt_tile_row(sum, step, to + step);
    tinyrt_tile_row(difference, step, to + (2 * step));
    for (int32_t i = 0; i < 6; ++i) {
        const uint32_t first = tinyrt_odd_bytes(tinyrt_load_word(from + (i * channels)));
        const uint32_t second = tinyrt_odd_bytes(tinyrt_load_word(from + row + (i * channels)));
        sum[i] = tinyrt_add_pairs(first, second);
        difference[i] = tinyrt_subtract_pairs(second, first);
    }
    tinyrt_tile_row(sum, step, to + step + 2);
    tinyrt_tile_row(difference, step, to + (2 * step) + 2);
}

/** Both tiles of 4 x 6 inputs, whose rows lie so many bytes apart. */
static TINYRT_NOINLINE void tinyrt_set_tiles(const int8_t *x, int32_t row, int32_t channels,
                                             tinyrt_taps_word *tiles) {
    const int32_t step = channels;
    for (const int8_t *const end = x + channels; x != end; x += 4, tiles += 4) {
        tinyrt_outer_row(x, x + (2 * row), channels, step, tiles + (3 * step));
        tinyrt_inner_rows(x + row, row, channels, step, tiles);
        tinyrt_outer_row(x + (3 * row), x + row, channels, step, tiles);
    }
}

#if defined(__ARM_FEATURE_DSP) && TINYRT_ASM_LOOPS && !defined(__clang__)

#define TINYRT_TILE_SUM(sum, w, x, t) "tinyrt_add smlad, \"%[" sum "]\", %[" w "], %[" x "], %[" t "]\n"

/** Two channels, where some of the last sums may be in memory. */
#define TINYRT_TILE_PAIR_SPILLED                                                                   \
    "ldrd %[x0], %[x1], [%[x]], #8\n"                                                              \
    "ldrd %[w0], %[w1], [%[w]], #8\n"                                                              \
    "smlad %[a0], %[w0], %[x0], %[a0]\n"                                                           \
    "smlad %[b0], %[w0], %[x1], %[b0]\n"                                                           \
    "smlad %[a1], %[w1], %[x0], %[a1]\n"                                                           \
    "smlad %[b1], %[w1], %[x1], %[b1]\n"                                                           \
    "ldr %[w0], [%[w]], #4\n" TINYRT_TILE_SUM("a2", "w0", "x0", "w1")                              \
        TINYRT_TILE_SUM("b2", "w0", "x1", "w1") "ldr %[w0], [%[w]], #4\n" TINYRT_TILE_SUM(         \
            "a3", "w0", "x0", "w1") TINYRT_TILE_SUM("b3", "w0", "x1", "w1")

#define TINYRT_TILE_PAIR                                                                           \
    "ldrd %[x0], %[x1], [%[x]], #8\n"                                                              \
    "ldrd %[w0], %[w1], [%[w]], #8\n"                                                              \
    "smlad %[a0], %[w0], %[x0], %[a0]\n"                                                           \
    "smlad %[b0], %[w0], %[x1], %[b0]\n"                                                           \
    "smlad %[a1], %[w1], %[x0], %[a1]\n"                                                           \
    "smlad %[b1], %[w1], %[x1], %[b1]\n"                                                           \
    "ldrd %[w0], %[w1], [%[w]], #8\n"                                                              \
    "smlad %[a2], %[w0], %[x0], %[a2]\n"                                                           \
    "smlad %[b2], %[w0], %[x1], %[b2]\n"                                                           \
    "smlad %[a3], %[w1], %[x0], %[a3]\n"                                                           \
    "smlad %[b3], %[w1], %[x1], %[b3]\n"
#define TINYRT_TILE_PAIR_CODE 44

/** Adds the products of a place of two tiles with four output channels to acc: those of the first
 *  tile, then those of the second one. Requires: channels is a multiple of four, and not 0. Returns
 *  the end of w. */
static inline const int32_t *tinyrt_dot_tiles(const int32_t *w, const tinyrt_taps_word *tiles,
                                              int32_t channels, int32_t *acc) {
    const tinyrt_taps_word *const end = tiles + channels;
    const int32_t skip = tinyrt_skipped(channels, TINYRT_TILE_PAIR_CODE / 2);
    int32_t a0 = acc[0], a1 = acc[1], a2 = acc[2], a3 = acc[3];
    int32_t b0 = acc[4], b1 = acc[5], b2 = acc[6], b3 = acc[7];
    uint32_t x0, x1, w0, w1;
    (void)skip;
    TINYRT_OPAQUE(a2, a3);
    TINYRT_OPAQUE(b2, b3);
    __asm(TINYRT_FIND_SPILLED("%[a2]%[a3]%[b2]%[b3]") TINYRT_WITH_ADD(TINYRT_IF_SPILLED(
              "1:\n" TINYRT_TILE_PAIR_SPILLED,
              TINYRT_ENTER("%[w0]") TINYRT_LOOP_OF(TINYRT_TILE_PAIR TINYRT_TILE_PAIR)))
              "ldr %[w0], %[end]\n"
              "cmp %[x], %[w0]\n"
              "bne 1b\n"
          : [a0] "+r"(a0), [a1] "+r"(a1), [a2] "+rm"(a2), [a3] "+rm"(a3), [b0] "+r"(b0),
            [b1] "+r"(b1), [b2] "+rm"(b2), [b3] "+rm"(b3), [w] "+r"(w), [x] "+r"(tiles),
            [x0] "=&r"(x0), [x1] "=&r"(x1), [w0] "=&r"(w0), [w1] "=&r"(w1)
          : [end] "m"(end)TINYRT_SKIP(skip)
          : "cc", "memory");
    acc[0] = a0, acc[1] = a1, acc[2] = a2, acc[3] = a3;
    acc[4] = b0, acc[5] = b1, acc[6] = b2, acc[7] = b3;
    return w;
}

#else

static inline const int32_t *tinyrt_dot_tiles(const int32_t *TINYRT_RESTRICT w,
                                              const tinyrt_taps_word *TINYRT_RESTRICT tiles,
                                              int32_t channels, int32_t *TINYRT_RESTRICT acc) {
    int32_t sum[8] = {acc[0], acc[1], acc[2], acc[3], acc[4], acc[5], acc[6], acc[7]};
    for (const tinyrt_taps_word *const end = tiles + channels; tiles != end; tiles += 2, w += 4) {
        const uint32_t x0 = tiles[0];
        const uint32_t x1 = tiles[1];
        for (int32_t i = 0; i < 4; ++i) {
            sum[i] = tinyrt_dot_pair((uint32_t)w[i], x0, sum[i]);
            sum[4 + i] = tinyrt_dot_pair((uint32_t)w[i], x1, sum[4 + i]);
        }
    }
    for (int32_t i = 0; i < 8; ++i) {
        acc[i] = sum[i];
    }
    return w;
}

#endif

#endif
