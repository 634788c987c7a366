/** Tiles of Winograd's F(2 x 2, 3 x 3), two side by side, channel by channel.
 *
 *  The places of tiles are words. Both tiles' words of a place lie side by side; then come the
 * other places, and other channels. Places come in the order in which they are summed up: columns
 * 1, 2, 0, 3, and of each rows 3, 1, 2, 0. */
#ifndef TINYRT_TILES_H
#define TINYRT_TILES_H

#include "tinyrt_columns.h"
#include "tinyrt_flexible.h"

/** Words from a place to the next one, from a column of places, and from a channel. */
enum { TINYRT_PLACE = 2, TINYRT_PLACES_COLUMN = 8, TINYRT_CHANNEL_TILES = 32 };

/** One tile's places of columns 1, 2 and 0. */
static inline void tinyrt_set_columns(int32_t c0, int32_t c1, int32_t c2, tinyrt_taps_word *to) {
    to[0] = c1 + c2;
    to[TINYRT_PLACES_COLUMN] = c2 - c1;
    to[2 * TINYRT_PLACES_COLUMN] = c0 - c2;
}

/** A row of both tiles' places: a row of six columns, and another one times sign. */
static inline void tinyrt_set_row(const int8_t *x, int32_t other, int32_t sign, int32_t channels,
                                  tinyrt_taps_word *to) {
    for (const int8_t *const end = x + channels; x != end; ++x) {
        const int8_t *from = x;
        const int32_t c0 = from[0] + (sign * from[other]);
        from += channels;
        const int32_t c1 = from[0] + (sign * from[other]);
        from += channels;
        const int32_t c2 = from[0] + (sign * from[other]);
        tinyrt_set_columns(c0, c1, c2, to);
        from += channels;
        const int32_t c3 = from[0] + (sign * from[other]);
        to[3 * TINYRT_PLACES_COLUMN] = c3 - c1;
        from += channels;
        const int32_t c4 = from[0] + (sign * from[other]);
        tinyrt_set_columns(c2, c3, c4, to + 1);
        from += channels;
        to[(3 * TINYRT_PLACES_COLUMN) + 1] = from[0] + (sign * from[other]) - c3;
        to += TINYRT_CHANNEL_TILES;
    }
}

/** Row 1 of places, which is a sum. */
static TINYRT_NOINLINE void tinyrt_add_row(const int8_t *x, int32_t other, int32_t channels,
                                           tinyrt_taps_word *to) {
    tinyrt_set_row(x, other, 1, channels, to);
}

/** Another row of places, which is a difference. */
static TINYRT_NOINLINE void tinyrt_subtract_row(const int8_t *x, int32_t other, int32_t channels,
                                                tinyrt_taps_word *to) {
    tinyrt_set_row(x, other, -1, channels, to);
}

/** Both tiles of 4 x 6 inputs, whose rows lie so many bytes apart. */
static inline void tinyrt_set_tiles(const int8_t *x, int32_t row, int32_t channels,
                                    tinyrt_taps_word *tiles) {
    tinyrt_subtract_row(x + (3 * row), -2 * row, channels, tiles);
    tinyrt_add_row(x + row, row, channels, tiles + TINYRT_PLACE);
    tinyrt_subtract_row(x + (2 * row), -row, channels, tiles + (2 * TINYRT_PLACE));
    tinyrt_subtract_row(x, 2 * row, channels, tiles + (3 * TINYRT_PLACE));
}

#if defined(TINYRT_THUMB_ASSEMBLY) && (__ARM_ARCH_ISA_THUMB == 2)

#define TINYRT_TILE_WEIGHT(c)                                                                      \
    "ldrsh %[w0], [%[w]], #2\n"                                                                    \
    "mla %[a" c "], %[w0], %[x0], %[a" c "]\n"                                                     \
    "mla %[b" c "], %[w0], %[x1], %[b" c "]\n"
#define TINYRT_TILE_ONE                                                                            \
    "ldrd %[x0], %[x1], [%[x]], #128\n" TINYRT_TILE_WEIGHT("0") TINYRT_TILE_WEIGHT("1")            \
        TINYRT_TILE_WEIGHT("2") TINYRT_TILE_WEIGHT("3")

/** The same of which x0 and w0 are the only operands in registers. */
#define TINYRT_TILE_WEIGHT_HELD(c)                                                                 \
    "ldrsh %[w0], [%[w]], #2\n"                                                                    \
    "ldr %[x0], [%[x]]\n"                                                                          \
    "mla %[a" c "], %[w0], %[x0], %[a" c "]\n"                                                     \
    "ldr %[x0], [%[x], #4]\n"                                                                      \
    "mla %[b" c "], %[w0], %[x0], %[b" c "]\n"
#define TINYRT_TILE_ONE_HELD                                                                       \
    TINYRT_TILE_WEIGHT_HELD("0")                                                                   \
    TINYRT_TILE_WEIGHT_HELD("1")                                                                   \
    TINYRT_TILE_WEIGHT_HELD("2") TINYRT_TILE_WEIGHT_HELD("3") "add %[x], %[x], #128\n"

#define TINYRT_TILE_FOUR ".rept 4\n" TINYRT_TILE_ONE ".endr\n"
#define TINYRT_TILE_FOUR_HELD ".rept 4\n" TINYRT_TILE_ONE_HELD ".endr\n"
#define TINYRT_TILE_FOUR_CODE 208
#define TINYRT_TILE_FOURS 1
#define TINYRT_TILE_REPEAT ".rept 1\n"
#define TINYRT_PLACE_BYTES "8"
#define TINYRT_SECOND_WORD "%[w1]"

#include "tinyrt_tile_loop.h"

#else

/** A channel of both tiles. */
#define TINYRT_TILE_CHANNEL(channel)                                                               \
    {                                                                                              \
        const int32_t x0 = x[(channel) * TINYRT_CHANNEL_TILES];                                    \
        const int32_t x1 = x[((channel) * TINYRT_CHANNEL_TILES) + 1];                              \
        TINYRT_TILE_BY(0, channel)                                                                 \
        TINYRT_TILE_BY(1, channel)                                                                 \
        TINYRT_TILE_BY(2, channel)                                                                 \
        TINYRT_TILE_BY(3, channel)                                                                 \
        TINYRT_HOLD(TINYRT_FOUR_SUMS(a), TINYRT_FOUR_SUMS(b));                                     \
    }
#define TINYRT_TILE_BY(i, channel)                                                                 \
    {                                                                                              \
        const int32_t w_##i = tinyrt_half_of(w + (2 * (channel)), i);                              \
        a##i = tinyrt_add_product(a##i, w_##i, x0);                                                \
        b##i = tinyrt_add_product(b##i, w_##i, x1);                                                \
    }

static TINYRT_NOINLINE const int32_t *tinyrt_tile_sums(const int32_t *w,
                                                       const tinyrt_taps_word *tiles,
                                                       int32_t channels, const int32_t *init,
                                                       int32_t *sums) {
    int32_t a0 = 0, a1 = 0, a2 = 0, a3 = 0, b0 = 0, b1 = 0, b2 = 0, b3 = 0;
    for (int32_t place = 0; place < 16; ++place) {
        if ((place & 3) == 0) {
            a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = 0;
        }
        if (place == 1) {
            a0 = tinyrt_add_product(a0, init[0], 1), b0 = tinyrt_add_product(b0, init[0], 1);
            a1 = tinyrt_add_product(a1, init[1], 1), b1 = tinyrt_add_product(b1, init[1], 1);
            a2 = tinyrt_add_product(a2, init[2], 1), b2 = tinyrt_add_product(b2, init[2], 1);
            a3 = tinyrt_add_product(a3, init[3], 1), b3 = tinyrt_add_product(b3, init[3], 1);
        }
        const tinyrt_taps_word *x = tiles + (TINYRT_PLACE * place);
        for (int32_t left = channels; left > 0; left -= 4, w += 8, x += 4 * TINYRT_CHANNEL_TILES) {
            TINYRT_TILE_CHANNEL(0)
            TINYRT_TILE_CHANNEL(1)
            TINYRT_TILE_CHANNEL(2)
            TINYRT_TILE_CHANNEL(3)
        }
        sums[0] = a0, sums[1] = a1, sums[2] = a2, sums[3] = a3;
        sums[4] = b0, sums[5] = b1, sums[6] = b2, sums[7] = b3;
        sums += 8;
    }
    return w;
}

#endif

#endif
