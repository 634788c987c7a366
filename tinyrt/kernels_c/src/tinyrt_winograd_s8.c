#include "tinyrt_winograd.h"

#include "tinyrt_copy.h"
#include "tinyrt_taps.h"
#include "tinyrt_tiles.h"

/** What two tiles read: so many rows and columns. */
enum { ROWS = 4, COLUMNS = 6 };

/** Numbers of a place's sums: of four channels of two tiles. */
enum { STEP = 8 };

/** Where two tiles are written. Outputs that lie outside are written where the last ones inside are,
 *  before these. */
typedef struct {
    int8_t *y;
    int32_t row;
    int32_t column[4];
} tinyrt_tile_outputs;

/** The inputs at (y0, x0), with the zero point where they lie outside of x. */
static void tinyrt_copy_tiles(const tinyrt_window_block_s8_params *p, const int8_t *x, int32_t y0,
                              int32_t x0, int8_t *patch) {
    const int32_t channels = p->x.c;
    const tinyrt_range inside = tinyrt_taps_inside(x0, p->x.w, COLUMNS, 1);
    tinyrt_fill_words((int8_t)p->x_zp, patch + (ROWS * COLUMNS * channels), patch);
    patch += inside.begin * channels;
    for (int32_t row = y0; row < (y0 + ROWS); ++row) {
        if ((row >= 0) && (row < p->x.h)) {
            (void)tinyrt_copy(x + (((row * p->x.w) + x0 + inside.begin) * channels),
                              patch + ((inside.end - inside.begin) * channels), patch);
        }
        patch += COLUMNS * channels;
    }
}

/** The sums of rows 0 to 2 of a column of places, and of rows 1 to 3 with their signs. */
static inline void tinyrt_column_sums(const int32_t *sums, uint32_t *above, uint32_t *below) {
    *above = (uint32_t)sums[3 * STEP];
    *below = ((uint32_t)sums[STEP] << 1) - (uint32_t)sums[2 * STEP] + (uint32_t)sums[0];
}

/** A channel's four outputs of a tile from its sums; each is four times its accumulator. */
static inline void tinyrt_finish_tile(const int32_t *sums, int32_t mult, int32_t shift, int32_t zp,
                                      const int32_t *column, int32_t row, int8_t *y) {
    uint32_t left_above, left_below, right_above, right_below, above, below;
    tinyrt_column_sums(sums, &left_above, &left_below);
    tinyrt_column_sums(sums + (4 * STEP), &above, &below);
    right_above = left_above - above;
    right_below = left_below - below;
    left_above += above;
    left_below += below;
    tinyrt_column_sums(sums + (8 * STEP), &above, &below);
    left_above += above;
    left_below += below;
    tinyrt_column_sums(sums + (12 * STEP), &above, &below);
    right_above += above;
    right_below += below;
    int8_t *const right = y + column[1];
    int8_t *const left = y + column[0];
    right[row] = tinyrt_requant_doubled((int32_t)right_below >> 1, mult, shift, zp);
    left[row] = tinyrt_requant_doubled((int32_t)left_below >> 1, mult, shift, zp);
    *right = tinyrt_requant_doubled((int32_t)right_above >> 1, mult, shift, zp);
    *left = tinyrt_requant_doubled((int32_t)left_above >> 1, mult, shift, zp);
}

/** Up to four channels of both tiles, the second one first. */
static TINYRT_NOINLINE void tinyrt_finish_tiles(const tinyrt_block_s8_params *p, int32_t channel,
                                                const int32_t *sums,
                                                const tinyrt_tile_outputs *out) {
    const int32_t channels = ((p->c_out - channel) < 4) ? (p->c_out - channel) : 4;
    const int32_t step = (p->requant_step != 0) ? channel : 0;
    const int32_t zp = (2 * p->y_zp) + 1;
    for (int32_t tile = 1; tile >= 0; --tile) {
        int8_t *y = out->y + channel;
        const int32_t *tile_sums = sums + (4 * tile);
        const int32_t *mult = p->mult + step;
        const int8_t *shift = p->shift + step;
        for (const int8_t *const end = y + channels; y != end; ++y) {
            tinyrt_finish_tile(tile_sums++, *mult++, *shift++, zp, out->column + (2 * tile),
                               out->row, y);
        }
    }
}

/** Two tiles at (oy, ox) of an image's outputs. */
static inline void tinyrt_two_tiles(const tinyrt_window_block_s8_params *p, const int8_t *x,
                                    int32_t oy, int32_t ox, tinyrt_taps_word *tiles, int32_t *sums,
                                    int8_t *y) {
    const int32_t y0 = oy - p->window.pad_top;
    const int32_t x0 = ox - p->window.pad_left;
    const int32_t inside =
        (y0 >= 0) && ((y0 + ROWS) <= p->x.h) && (x0 >= 0) && ((x0 + COLUMNS) <= p->x.w);
    const int8_t *from = (const int8_t *)sums;
    int32_t row = COLUMNS * p->x.c;
    if (inside) {
        row = p->x.w * p->x.c;
        from = x + (y0 * row) + (x0 * p->x.c);
    } else {
        tinyrt_copy_tiles(p, x, y0, x0, (int8_t *)sums);
    }
    tinyrt_set_tiles(from, row, p->x.c, tiles);
    const int32_t last = p->y.w - 1 - ox;
    tinyrt_tile_outputs out;
    out.y = y + (((oy * p->y.w) + ox) * p->y.c);
    out.row = ((oy + 1) < p->y.h) ? (p->y.w * p->y.c) : 0;
    for (int32_t i = 0; i < 4; ++i) {
        out.column[i] = ((i < last) ? i : last) * p->y.c;
    }
    const int32_t *w = p->block.w;
    const int32_t *init = p->block.init;
    for (int32_t channel = 0; channel < p->block.c_out; channel += 4) {
        w = tinyrt_tile_sums(w, tiles, p->x.c, init, sums);
        init += 8;
        tinyrt_finish_tiles(&p->block, channel, sums, &out);
    }
}

void tinyrt_winograd_s8(const tinyrt_window_block_s8_params *p, const int8_t *x,
                        tinyrt_taps_word *tiles, int32_t *sums, int8_t *y) {
    for (int32_t n = 0; n < p->y.n; ++n) {
        for (int32_t oy = 0; oy < p->y.h; oy += 2) {
            for (int32_t ox = 0; ox < p->y.w; ox += 4) {
                tinyrt_two_tiles(p, x, oy, ox, tiles, sums, y);
            }
        }
        x += p->x.h * p->x.w * p->x.c;
        y += p->y.h * p->y.w * p->y.c;
    }
}
