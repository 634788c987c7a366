/** Tiles of Winograd's F(2 x 2, 3 x 3), two side by side, channel by channel.
 *
 *  Both tiles' words of a channel lie side by side, behind one another those of a place, and places
 *  in the order in which tinyrt_winograd_s8 sums them up: columns 1, 2, 0, 3, and of each rows 3, 1,
 *  2, 0. */
#ifndef TINYRT_TILES_H
#define TINYRT_TILES_H

#include "tinyrt_columns.h"

/** The differences along a row of places of both tiles, from six columns that are summed up. */
static inline void tinyrt_tile_row(const int32_t *column, int32_t step, tinyrt_taps_word *to) {
    to[0] = column[1] + column[2];
    to[1] = column[3] + column[4];
    to += 4 * step;
    to[0] = column[2] - column[1];
    to[1] = column[4] - column[3];
    to += 4 * step;
    to[0] = column[0] - column[2];
    to[1] = column[2] - column[4];
    to += 4 * step;
    to[0] = column[3] - column[1];
    to[1] = column[5] - column[3];
}

/** Row 0 or 3 of places: the differences of two rows of inputs. */
static inline void tinyrt_outer_row(const int8_t *from, const int8_t *less, int32_t channels,
                                    int32_t step, tinyrt_taps_word *to) {
    int32_t column[6];
    for (int32_t i = 0; i < 6; ++i) {
        column[i] = from[i * channels] - less[i * channels];
    }
    tinyrt_tile_row(column, step, to);
}

/** Rows 1 and 2 of places: the sum and the difference of the inner rows of inputs. */
static inline void tinyrt_inner_rows(const int8_t *from, const int8_t *below, int32_t channels,
                                     int32_t step, tinyrt_taps_word *to) {
    int32_t sum[6];
    int32_t difference[6];
    for (int32_t i = 0; i < 6; ++i) {
        sum[i] = from[i * channels] + below[i * channels];
        difference[i] = below[i * channels] - from[i * channels];
    }
    tinyrt_tile_row(sum, step, to + step);
    tinyrt_tile_row(difference, step, to + (2 * step));
}

/** Both tiles of 4 x 6 inputs, whose rows lie so many bytes apart. */
static TINYRT_NOINLINE void tinyrt_set_tiles(const int8_t *x, int32_t row, int32_t channels,
                                             tinyrt_taps_word *tiles) {
    const int32_t step = 2 * channels;
    for (const int8_t *const end = x + channels; x != end; ++x, tiles += 2) {
        tinyrt_outer_row(x, x + (2 * row), channels, step, tiles + (3 * step));
        tinyrt_inner_rows(x + row, x + (2 * row), channels, step, tiles);
        tinyrt_outer_row(x + (3 * row), x + row, channels, step, tiles);
    }
}


/** Adds the products of a place of two tiles with four output channels to acc: those of the first
 *  tile, then those of the second one. Returns the end of w. */
static inline const int32_t *tinyrt_dot_tiles(const int32_t *TINYRT_RESTRICT w,
                                              const tinyrt_taps_word *TINYRT_RESTRICT tiles,
                                              int32_t channels, int32_t *TINYRT_RESTRICT acc) {
    for (const tinyrt_taps_word *const end = tiles + (2 * channels); tiles != end; tiles += 2) {
        for (int32_t i = 0; i < 4; ++i) {
            const int32_t weight = (int16_t)(uint16_t)((uint32_t)w[i >> 1] >> ((i & 1) * 16));
            acc[i] = (int32_t)((uint32_t)acc[i] + (uint32_t)(weight * tiles[0]));
            acc[4 + i] = (int32_t)((uint32_t)acc[4 + i] + (uint32_t)(weight * tiles[1]));
        }
        w += 2;
    }
    return w;
}

#endif
