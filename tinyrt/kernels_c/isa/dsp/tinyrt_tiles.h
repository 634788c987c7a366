/** Tiles of Winograd's F(2 x 2, 3 x 3), two side by side, two channels at a time.
 *
 *  The places of tiles are pairs of 16-bit numbers: of every four channels the even ones, then the
 *  odd ones. Both tiles' words of a pair of channels lie side by side; then come the other two
 *  channels, the other places, and other channels. Places come in the order in which they are
 * summed up: columns 1, 2, 0, 3, and of each rows 3, 1, 2, 0. */
#ifndef TINYRT_TILES_H
#define TINYRT_TILES_H

#include "tinyrt_columns.h"

/** Words from a place to the next one, from a column of places, and from four channels. */
enum { TINYRT_PLACE = 4, TINYRT_PLACES_COLUMN = 16, TINYRT_FOUR_CHANNELS_TILES = 64 };

/** Words of a channel of both tiles. */
enum { TINYRT_CHANNEL_TILES = 16 };

/** Two columns of inputs, of the even channels and of the odd ones. */
typedef struct {
    uint32_t even;
    uint32_t odd;
} tinyrt_tile_column;

/** A row of inputs plus another one, and the bits of that one turned where mask is not 0: with 1
 *  more, it is the difference. */
static inline tinyrt_tile_column tinyrt_rows_sum(const int8_t *x, int32_t other, uint32_t mask) {
    const uint32_t more = mask & 0x00010001U;
    const uint32_t first = tinyrt_load_word(x);
    const uint32_t second = tinyrt_load_word(x + other) ^ mask;
    const tinyrt_tile_column sum = {
        tinyrt_add_even_bytes(tinyrt_add_even_bytes(more, first), second),
        tinyrt_add_odd_bytes(tinyrt_add_odd_bytes(more, first), second),
    };
    return sum;
}

/** One tile's places of columns 1, 2 and 0. */
static inline void tinyrt_set_columns(tinyrt_tile_column c0, tinyrt_tile_column c1,
                                      tinyrt_tile_column c2, tinyrt_taps_word *to) {
    to[0] = tinyrt_add_pairs(c1.even, c2.even);
    to[2] = tinyrt_add_pairs(c1.odd, c2.odd);
    to[TINYRT_PLACES_COLUMN] = tinyrt_subtract_pairs(c2.even, c1.even);
    to[TINYRT_PLACES_COLUMN + 2] = tinyrt_subtract_pairs(c2.odd, c1.odd);
    to[2 * TINYRT_PLACES_COLUMN] = tinyrt_subtract_pairs(c0.even, c2.even);
    to[(2 * TINYRT_PLACES_COLUMN) + 2] = tinyrt_subtract_pairs(c0.odd, c2.odd);
}

/** Its places of column 3. */
static inline void tinyrt_set_last_column(tinyrt_tile_column c1, tinyrt_tile_column c3,
                                          tinyrt_taps_word *to) {
    to[3 * TINYRT_PLACES_COLUMN] = tinyrt_subtract_pairs(c3.even, c1.even);
    to[(3 * TINYRT_PLACES_COLUMN) + 2] = tinyrt_subtract_pairs(c3.odd, c1.odd);
}

/** A row of both tiles' places, from two rows of six columns. */
static TINYRT_NOINLINE void tinyrt_set_row(const int8_t *x, int32_t other, uint32_t mask,
                                           int32_t channels, tinyrt_taps_word *to) {
    for (const int8_t *const end = x + channels; x != end; x += 4) {
        const int8_t *from = x;
        const tinyrt_tile_column c0 = tinyrt_rows_sum(from, other, mask);
        from += channels;
        const tinyrt_tile_column c1 = tinyrt_rows_sum(from, other, mask);
        from += channels;
        const tinyrt_tile_column c2 = tinyrt_rows_sum(from, other, mask);
        tinyrt_set_columns(c0, c1, c2, to);
        from += channels;
        const tinyrt_tile_column c3 = tinyrt_rows_sum(from, other, mask);
        tinyrt_set_last_column(c1, c3, to);
        from += channels;
        const tinyrt_tile_column c4 = tinyrt_rows_sum(from, other, mask);
        tinyrt_set_columns(c2, c3, c4, to + 1);
        from += channels;
        tinyrt_set_last_column(c3, tinyrt_rows_sum(from, other, mask), to + 1);
        to += TINYRT_FOUR_CHANNELS_TILES;
    }
}

/** Both tiles of 4 x 6 inputs, whose rows lie so many bytes apart. */
static inline void tinyrt_set_tiles(const int8_t *x, int32_t row, int32_t channels,
                                    tinyrt_taps_word *tiles) {
    /* Rows of places 3, 1, 2 and 0: a row of inputs, and how far the other one lies from it. */
    static const int8_t rows[4] = {3, 1, 2, 0};
    static const int8_t others[4] = {-2, 1, -1, 2};
    for (int32_t i = 0; i < 4; ++i) {
        TINYRT_SHORT_LOOP;
        tinyrt_set_row(x + (rows[i] * row), others[i] * row, (i != 1) ? UINT32_MAX : 0, channels,
                       tiles + (i * TINYRT_PLACE));
    }
}

#if defined(__ARM_FEATURE_DSP) && TINYRT_ASM_LOOPS

/** Two channels, of which x0 and w0 are the only operands in registers. */
#define TINYRT_TILE_WEIGHT_HELD(c)                                                                 \
    "ldr %[w0], [%[w]], #4\n"                                                                      \
    "ldr %[x0], [%[x]]\n"                                                                          \
    "smlad %[a" c "], %[w0], %[x0], %[a" c "]\n"                                                   \
    "ldr %[x0], [%[x], #4]\n"                                                                      \
    "smlad %[b" c "], %[w0], %[x0], %[b" c "]\n"
#define TINYRT_TILE_PAIR_HELD(next)                                                                \
    TINYRT_TILE_WEIGHT_HELD("0")                                                                   \
    TINYRT_TILE_WEIGHT_HELD("1")                                                                   \
    TINYRT_TILE_WEIGHT_HELD("2") TINYRT_TILE_WEIGHT_HELD("3") "add %[x], %[x], #" next "\n"

#define TINYRT_TILE_PAIR(next)                                                                     \
    "ldrd %[x0], %[x1], [%[x]], #" next "\n"                                                       \
    "ldrd %[w0], " TINYRT_SECOND_WORD ", [%[w]], #8\n"                                             \
    "smlad %[a0], %[w0], %[x0], %[a0]\n"                                                           \
    "smlad %[b0], %[w0], %[x1], %[b0]\n"                                                           \
    "smlad %[a1], " TINYRT_SECOND_WORD ", %[x0], %[a1]\n"                                          \
    "smlad %[b1], " TINYRT_SECOND_WORD ", %[x1], %[b1]\n"                                          \
    "ldrd %[w0], " TINYRT_SECOND_WORD ", [%[w]], #8\n"                                             \
    "smlad %[a2], %[w0], %[x0], %[a2]\n"                                                           \
    "smlad %[b2], %[w0], %[x1], %[b2]\n"                                                           \
    "smlad %[a3], " TINYRT_SECOND_WORD ", %[x0], %[a3]\n"                                          \
    "smlad %[b3], " TINYRT_SECOND_WORD ", %[x1], %[b3]\n"
#define TINYRT_TILE_FOUR_CODE 88
#define TINYRT_TILE_FOURS 4
#define TINYRT_TILE_REPEAT ".rept 4\n"
#define TINYRT_PLACE_BYTES "16"

/** Four channels: from the last pair of a place to the same place of others. */
#define TINYRT_TILE_FOUR TINYRT_TILE_PAIR("8") TINYRT_TILE_PAIR("248")
#define TINYRT_TILE_FOUR_HELD TINYRT_TILE_PAIR_HELD("8") TINYRT_TILE_PAIR_HELD("248")

#include "tinyrt_tile_loop.h"

#else

/** Two channels of a place, added to its sums. */
static inline void tinyrt_add_tile_pair(const int32_t *w, const tinyrt_taps_word *x, int32_t *sum) {
    const uint32_t x0 = x[0];
    const uint32_t x1 = x[1];
    sum[0] = tinyrt_dot_pair((uint32_t)w[0], x0, sum[0]);
    sum[4] = tinyrt_dot_pair((uint32_t)w[0], x1, sum[4]);
    sum[1] = tinyrt_dot_pair((uint32_t)w[1], x0, sum[1]);
    sum[5] = tinyrt_dot_pair((uint32_t)w[1], x1, sum[5]);
    sum[2] = tinyrt_dot_pair((uint32_t)w[2], x0, sum[2]);
    sum[6] = tinyrt_dot_pair((uint32_t)w[2], x1, sum[6]);
    sum[3] = tinyrt_dot_pair((uint32_t)w[3], x0, sum[3]);
    sum[7] = tinyrt_dot_pair((uint32_t)w[3], x1, sum[7]);
}

/** Four channels of it. */
static inline void tinyrt_add_tile_four(const int32_t *w, const tinyrt_taps_word *x, int32_t *sum) {
    tinyrt_add_tile_pair(w, x, sum);
    tinyrt_add_tile_pair(w + 4, x + 2, sum);
}

/** All channels of a place, whose sums begin with others. */
static inline const int32_t *tinyrt_tile_place(const int32_t *w, const tinyrt_taps_word *x,
                                               int32_t channels, const int32_t *from,
                                               int32_t *sums) {
    int32_t sum[8] = {from[0], from[1], from[2], from[3], from[4], from[5], from[6], from[7]};
    const int32_t *const end = w + (2 * channels);
    for (const int32_t *const whole = w + (2 * (channels & ~7)); w != whole; w += 16) {
        tinyrt_add_tile_four(w, x, sum);
        tinyrt_add_tile_four(w + 8, x + TINYRT_FOUR_CHANNELS_TILES, sum);
        x += 2 * TINYRT_FOUR_CHANNELS_TILES;
    }
    if (w != end) {
        tinyrt_add_tile_four(w, x, sum);
    }
    sums[0] = sum[0], sums[1] = sum[1], sums[2] = sum[2], sums[3] = sum[3];
    sums[4] = sum[4], sums[5] = sum[5], sums[6] = sum[6], sums[7] = sum[7];
    return end;
}

static TINYRT_NOINLINE const int32_t *tinyrt_tile_sums(const int32_t *w,
                                                       const tinyrt_taps_word *tiles,
                                                       int32_t channels, const int32_t *init,
                                                       int32_t *sums) {
    static const int32_t zeros[8] = {0};
    for (int32_t place = 0; place < 16; ++place, tiles += TINYRT_PLACE, sums += 8) {
        const int32_t *from = ((place & 3) == 0) ? zeros : (sums - 8);
        if (place == 1) {
            for (int32_t i = 0; i < 8; ++i) {
                sums[i] = (int32_t)((uint32_t)from[i] + (uint32_t)init[i & 3]);
            }
            from = sums;
        }
        w = tinyrt_tile_place(w, tiles, channels, from, sums);
    }
    return w;
}

#endif

#endif
