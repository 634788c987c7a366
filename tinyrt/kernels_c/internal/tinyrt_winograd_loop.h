/** Two tiles of Winograd's F(2 x 2, 3 x 3) at a time. */
#ifndef TINYRT_WINOGRAD_LOOP_H
#define TINYRT_WINOGRAD_LOOP_H

#include "tinyrt_copy.h"
#include "tinyrt_tiles.h"
#include "tinyrt_winograd.h"

#include <string.h>

/** What two tiles read: so many rows and columns. */
enum { TINYRT_TILES_ROWS = 4, TINYRT_TILES_COLUMNS = 6 };

/** Numbers of a place's sums: of four channels of two tiles. */
enum { TINYRT_TILES_STEP = 8 };

/** Where two tiles are written. Outputs that lie outside are written where the last ones inside
 * are, before these. */
typedef struct {
    int8_t *y;
    int32_t row;
    int32_t column[4];
} tinyrt_tile_outputs;

/** A number within [low, high]. */
static inline int32_t tinyrt_within(int32_t number, int32_t low, int32_t high) {
    const int32_t most = (number < high) ? number : high;
    return (most > low) ? most : low;
}

/** The inputs at (y0, x0), with the zero point where they lie outside of x. */
static inline void tinyrt_copy_tiles(const tinyrt_winograd_s8_params *p, const int8_t *x,
                                     int32_t y0, int32_t x0, int8_t *patch) {
    const int32_t channels = p->x.c;
    const int8_t zp = (int8_t)p->x_zp;
    const int32_t first = tinyrt_within(-x0, 0, TINYRT_TILES_COLUMNS);
    const int32_t last = tinyrt_within(p->x.w - x0, first, TINYRT_TILES_COLUMNS);
    for (int32_t row = y0; row < (y0 + TINYRT_TILES_ROWS); ++row) {
        int8_t *const end = patch + (TINYRT_TILES_COLUMNS * channels);
        tinyrt_fill_words(zp, end, patch);
        if ((row >= 0) && (row < p->x.h)) {
            const int8_t *from = x + (((row * p->x.w) + x0 + first) * channels);
            const int8_t *const outer = patch + (last * channels);
            for (patch += first * channels; patch != outer; patch += 4, from += 4) {
                TINYRT_SHORT_LOOP;
                (void)memcpy(TINYRT_ALIGNED(patch), from, 4);
            }
        }
        patch = end;
    }
}

/** The sum of rows 0 to 2 of a column of places. Its sums are those of row 3, of rows 3 and 1, of
 *  rows 1 to 3, and of all. */
static inline uint32_t tinyrt_above(const int32_t *sums) {
    return (uint32_t)sums[3 * TINYRT_TILES_STEP] - (uint32_t)sums[0];
}

/** The sum of rows 1 to 3 with their signs. */
static inline uint32_t tinyrt_below(const int32_t *sums) {
    return ((uint32_t)sums[TINYRT_TILES_STEP] << 1) - (uint32_t)sums[2 * TINYRT_TILES_STEP];
}

/** Half of a number, which is even. */
static inline uint32_t tinyrt_half(uint32_t even) {
    return (uint32_t)((int32_t)even >> 1);
}

/** How a channel's outputs are scaled. */
typedef struct {
    int32_t mult;
    int32_t shift;
    int32_t zp;
} tinyrt_tile_scale;

/** Two outputs side by side from columns of places. Columns 1 and 2 of these are twice as large as
 *  the others, which are doubled accumulators. */
static inline void tinyrt_finish_two(uint32_t one, uint32_t two, uint32_t zeroth, uint32_t third,
                                     tinyrt_tile_scale by, int8_t *left, int8_t *right) {
    const int32_t last = (int32_t)(third + tinyrt_half(one - two));
    const int32_t first = (int32_t)(zeroth + tinyrt_half(one + two));
    *right = tinyrt_requant_alike(last, by.mult, by.shift, by.zp);
    *left = tinyrt_requant_alike(first, by.mult, by.shift, by.zp);
}

/** A channel's four outputs of a tile from its sums. */
static inline void tinyrt_finish_tile(const int32_t *sums, tinyrt_tile_scale by, int8_t *left,
                                      int8_t *right, int32_t row) {
    const int32_t *const two = sums + (4 * TINYRT_TILES_STEP);
    const int32_t *const zeroth = sums + (8 * TINYRT_TILES_STEP);
    const int32_t *const third = sums + (12 * TINYRT_TILES_STEP);
    tinyrt_finish_two(tinyrt_below(sums), tinyrt_below(two), tinyrt_below(zeroth),
                      tinyrt_below(third), by, left + row, right + row);
    tinyrt_finish_two(tinyrt_above(sums), tinyrt_above(two), tinyrt_above(zeroth),
                      tinyrt_above(third), by, left, right);
}

/** Up to four channels of both tiles, the second one first. */
static TINYRT_NOINLINE void tinyrt_finish_tiles(const tinyrt_block_s8_params *p, int32_t channel,
                                                const int32_t *sums,
                                                const tinyrt_tile_outputs *out) {
    const int32_t channels = ((p->c_out - channel) < 4) ? (p->c_out - channel) : 4;
    const int32_t step = (channel >> 2) * p->requant_step;
    const int32_t zp = (2 * p->y_zp) + 1;
    for (int32_t tile = 1; tile >= 0; --tile) {
        int8_t *left = out->y + channel + out->column[2 * tile];
        int8_t *right = out->y + channel + out->column[(2 * tile) + 1];
        const int32_t *tile_sums = sums + (4 * tile);
        const int32_t *mult = p->mult + step;
        const int8_t *shift = p->shift + step;
        for (const int8_t *const end = left + channels; left != end;) {
            const tinyrt_tile_scale by = {*mult, *shift, zp};
            ++mult;
            ++shift;
            tinyrt_finish_tile(tile_sums++, by, left++, right++, out->row);
        }
    }
}

/** Transforms what two tiles read, from (y0, x0) on. */
static inline void tinyrt_fill_tiles(const tinyrt_winograd_s8_params *p, const int8_t *x,
                                     int32_t y0, int32_t x0, tinyrt_taps_word *tiles,
                                     int32_t *sums) {
    const int32_t inside = (y0 >= 0) && ((y0 + TINYRT_TILES_ROWS) <= p->x.h) && (x0 >= 0) &&
                           ((x0 + TINYRT_TILES_COLUMNS) <= p->x.w);
    const int8_t *from = (const int8_t *)sums;
    int32_t row = TINYRT_TILES_COLUMNS * p->x.c;
    if (inside != 0) {
        row = p->x.w * p->x.c;
        from = x + (y0 * row) + (x0 * p->x.c);
    } else {
        tinyrt_copy_tiles(p, x, y0, x0, (int8_t *)sums);
    }
    tinyrt_set_tiles(from, row, p->x.c, tiles);
}

/** Two tiles at (oy, ox) of an image's outputs; fills says whether their inputs are still to be
 *  transformed. */
static inline void tinyrt_two_tiles(const tinyrt_winograd_s8_params *p, const int8_t *x, int32_t oy,
                                    int32_t ox, int32_t fills, tinyrt_taps_word *tiles,
                                    int32_t *sums, int8_t *y) {
    if (fills != 0) {
        tinyrt_fill_tiles(p, x, oy - p->window.pad_top, ox - p->window.pad_left, tiles, sums);
    }
    const int32_t last = p->y.w - 1 - ox;
    tinyrt_tile_outputs out;
    out.y = y + (oy * p->y_line_step) + (ox * p->y.c);
    out.row = ((oy + 1) < p->y.h) ? p->y_line_step : 0;
    for (int32_t i = 0; i < 4; ++i) {
        out.column[i] = ((i < last) ? i : last) * p->y.c;
    }
    const int32_t *w = p->block.w;
    const int32_t *init = p->block.init;
    for (int32_t channel = 0; channel < p->block.c_out; channel += 4) {
        w = tinyrt_tile_sums(w, tiles, p->x.c, init, sums);
        init += 4;
        tinyrt_finish_tiles(&p->block, channel, sums, &out);
    }
}

#endif
