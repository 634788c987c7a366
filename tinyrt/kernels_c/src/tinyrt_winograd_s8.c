#include "tinyrt_winograd.h"

#include "tinyrt_copy.h"
#include "tinyrt_taps.h"
#include "tinyrt_tiles.h"

/** What two tiles read: so many rows and columns. */
enum { ROWS = 4, COLUMNS = 6 };

/** Places of a tile, and its sums of four channels of two tiles. */
enum { PLACES = 4, STEP = 8 };

/** Where two tiles are written: the columns of both, and how far the second row lies behind.
 *  Outputs that lie outside are written where the last ones inside are, before these. */
typedef struct {
    int8_t *column[4];
    int32_t row;
} tinyrt_tile_outputs;

/** The inputs at (y0, x0), with the zero point where they lie outside of x. */
static void tinyrt_copy_tiles(const tinyrt_window_block_s8_params *p, const int8_t *x, int32_t y0,
                              int32_t x0, int8_t *patch) {
    const int32_t channels = p->x.c;
    const tinyrt_range inside = tinyrt_taps_inside(x0, p->x.w, COLUMNS, 1);
    for (int32_t row = y0; row < (y0 + ROWS); ++row) {
        int8_t *const end = patch + (COLUMNS * channels);
        if ((row >= 0) && (row < p->x.h)) {
            int8_t *const begin_copy = patch + (inside.begin * channels);
            int8_t *const end_copy = patch + (inside.end * channels);
            tinyrt_fill((int8_t)p->x_zp, begin_copy, patch);
            patch = tinyrt_copy(x + (((row * p->x.w) + x0 + inside.begin) * channels), end_copy,
                                begin_copy);
        }
        tinyrt_fill((int8_t)p->x_zp, end, patch);
        patch = end;
    }
}

/** The sums of four channels of two tiles: for each column of places those of the last row, of row
 *  1, of rows 1 and 2, and of rows 0 to 2. Columns come in the order 1, 2, 0, 3; the first one's
 *  sums begin with init. Returns the end of w. */
static TINYRT_NOINLINE const int32_t *tinyrt_tile_sums(const int32_t *w,
                                                       const tinyrt_taps_word *tiles, int32_t taps,
                                                       const int32_t *init, int32_t *sums) {
    static const int32_t zeros[4] = {0};
    const int32_t *const end = sums + (4 * PLACES * STEP);
    while (sums != end) {
        int32_t acc[8] = {0};
        w = tinyrt_dot_tiles(w, tiles, taps, acc);
        tiles += taps * 2 / TINYRT_TAPS_PER_WORD;
        for (int32_t i = 0; i < 8; ++i) {
            sums[i] = acc[i];
        }
        sums += STEP;
        for (int32_t i = 0; i < 8; ++i) {
            acc[i] = init[i & 3];
        }
        for (int32_t place = 1; place < PLACES; ++place) {
            w = tinyrt_dot_tiles(w, tiles, taps, acc);
            tiles += taps * 2 / TINYRT_TAPS_PER_WORD;
            for (int32_t i = 0; i < 8; ++i) {
                sums[i] = acc[i];
            }
            sums += STEP;
        }
        init = zeros;
    }
    return w;
}

/** Four outputs of a tile and channel from its sums; each is four times its accumulator. */
static inline void tinyrt_finish_tile(const int32_t *sums, int32_t mult, int32_t shift, int32_t zp,
                                      int8_t *left, int8_t *right, int32_t row) {
    uint32_t above[4];
    uint32_t below[4];
    for (int32_t j = 0; j < 4; ++j) {
        const int32_t *const column = sums + (j * PLACES * STEP);
        above[j] = (uint32_t)column[3 * STEP];
        below[j] = ((uint32_t)column[STEP] << 1) - (uint32_t)column[2 * STEP] + (uint32_t)column[0];
    }
    const uint32_t four[4] = {
        below[0] - below[1] + below[3],
        below[0] + below[1] + below[2],
        above[0] - above[1] + above[3],
        above[0] + above[1] + above[2],
    };
    right[row] = tinyrt_requant_doubled((int32_t)four[0] >> 1, mult, shift, zp);
    left[row] = tinyrt_requant_doubled((int32_t)four[1] >> 1, mult, shift, zp);
    *right = tinyrt_requant_doubled((int32_t)four[2] >> 1, mult, shift, zp);
    *left = tinyrt_requant_doubled((int32_t)four[3] >> 1, mult, shift, zp);
}

/** Up to four channels of both tiles. */
static TINYRT_NOINLINE void tinyrt_finish_tiles(const tinyrt_block_s8_params *p, int32_t channel,
                                                const int32_t *sums,
                                                const tinyrt_tile_outputs *out) {
    const int32_t channels = ((p->c_out - channel) < 4) ? (p->c_out - channel) : 4;
    const int32_t *mult = p->mult;
    const int8_t *shift = p->shift;
    const int32_t zp = (2 * p->y_zp) + 1;
    if (p->requant_step != 0) {
        mult += channel;
        shift += channel;
    }
    for (int32_t i = 0; i < channels; ++i) {
        tinyrt_finish_tile(sums + 4 + i, mult[i], shift[i], zp, out->column[2] + channel + i,
                           out->column[3] + channel + i, out->row);
        tinyrt_finish_tile(sums + i, mult[i], shift[i], zp, out->column[0] + channel + i,
                           out->column[1] + channel + i, out->row);
    }
}

/** Two tiles at (oy, ox) of an image's outputs. */
static void tinyrt_two_tiles(const tinyrt_window_block_s8_params *p, const int8_t *x, int32_t oy,
                             int32_t ox, tinyrt_taps_word *tiles, int32_t *sums, int8_t *y) {
    const int32_t y0 = oy - p->window.pad_top;
    const int32_t x0 = ox - p->window.pad_left;
    const int32_t inside =
        (y0 >= 0) && ((y0 + ROWS) <= p->x.h) && (x0 >= 0) && ((x0 + COLUMNS) <= p->x.w);
    if (inside) {
        tinyrt_set_tiles(x + (((y0 * p->x.w) + x0) * p->x.c), p->x.w * p->x.c, p->x.c, tiles);
    } else {
        int8_t *const patch = (int8_t *)sums;
        tinyrt_copy_tiles(p, x, y0, x0, patch);
        tinyrt_set_tiles(patch, COLUMNS * p->x.c, p->x.c, tiles);
    }
    tinyrt_tile_outputs out;
    const int32_t last = p->y.w - 1 - ox;
    y += ((oy * p->y.w) + ox) * p->y.c;
    for (int32_t i = 0; i < 4; ++i) {
        out.column[i] = y + (((i < last) ? i : last) * p->y.c);
    }
    out.row = ((oy + 1) < p->y.h) ? (p->y.w * p->y.c) : 0;
    const int32_t *w = p->block.w;
    for (int32_t channel = 0; channel < p->block.c_out; channel += 4) {
        w = tinyrt_tile_sums(w, tiles, p->x.c, p->block.init + channel, sums);
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
