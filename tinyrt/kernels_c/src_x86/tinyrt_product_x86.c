#include "tinyrt_product_x86.h"

#include "tinyrt_tile.h"

/** pixels x vectors of sums; both are constants where this is inlined. */
TINYRT_INLINE void tile(const tinyrt_product_x86_params *p, int32_t pixels, int32_t vectors,
                        const uint8_t *x, const int32_t *offsets, const int8_t *w,
                        const int32_t *quant, int8_t *y, int32_t left) {
    /* Stores of outputs might change what p points to, for all that the compiler knows. */
    const int32_t y_zp = p->y_zp;
    const int32_t act_min = p->act_min;
    const int32_t act_max = p->act_max;
    const int32_t stride = p->stride;
    const int32_t w_bytes = p->step_count * TINYRT_LANE_BYTES;
    tinyrt_lanes acc[TINYRT_COLUMN_PIXELS][TINYRT_ROW_VECTORS];
    const uint8_t *at[TINYRT_COLUMN_PIXELS];
#pragma GCC unroll 16
    for (int32_t i = 0; i < pixels; ++i) {
        at[i] = x + offsets[i];
#pragma GCC unroll 8
        for (int32_t v = 0; v < vectors; ++v) {
            acc[i][v] = tinyrt_load_lanes(quant + v * TINYRT_QUANT);
        }
    }
    const int32_t *const steps = p->steps;
    const int32_t count = p->step_count;
    for (int32_t k = 0; k < count; ++k) {
        tinyrt_lanes weights[TINYRT_ROW_VECTORS];
#pragma GCC unroll 8
        for (int32_t v = 0; v < vectors; ++v) {
            weights[v] = tinyrt_load_lanes(w + v * w_bytes);
        }
        w += TINYRT_LANE_BYTES;
        const int32_t step = steps[k];
#pragma GCC unroll 16
        for (int32_t i = 0; i < pixels; ++i) {
            const tinyrt_lanes four = tinyrt_spread4(at[i] + step);
#pragma GCC unroll 8
            for (int32_t v = 0; v < vectors; ++v) {
                acc[i][v] = tinyrt_dot4(acc[i][v], four, weights[v]);
            }
        }
    }
#pragma GCC unroll 8
    for (int32_t v = 0; v < vectors; ++v) {
        const tinyrt_finish finish =
            tinyrt_load_finish(quant + v * TINYRT_QUANT, y_zp, act_min, act_max);
#pragma GCC unroll 16
        for (int32_t i = 0; i < pixels; ++i) {
            tinyrt_finish_lanes(acc[i][v], &finish, y + i * stride + v * TINYRT_LANES,
                                left - v * TINYRT_LANES);
        }
    }
}

static TINYRT_NOINLINE void block(const tinyrt_product_x86_params *p, const uint8_t *x,
                                  const int32_t *offsets, const int8_t *w, const int32_t *quant,
                                  int8_t *y, int32_t left) {
    tile(p, TINYRT_TILE_PIXELS, TINYRT_TILE_VECTORS, x, offsets, w, quant, y, left);
}

static TINYRT_NOINLINE void column(const tinyrt_product_x86_params *p, const uint8_t *x,
                                   const int32_t *offsets, const int8_t *w, const int32_t *quant,
                                   int8_t *y, int32_t left) {
    tile(p, TINYRT_COLUMN_PIXELS, 1, x, offsets, w, quant, y, left);
}

static TINYRT_NOINLINE void row(const tinyrt_product_x86_params *p, const uint8_t *x,
                                const int32_t *offsets, const int8_t *w, const int32_t *quant,
                                int8_t *y, int32_t left) {
    tile(p, 1, TINYRT_ROW_VECTORS, x, offsets, w, quant, y, left);
}

static TINYRT_NOINLINE void single(const tinyrt_product_x86_params *p, const uint8_t *x,
                                   const int32_t *offsets, const int8_t *w, const int32_t *quant,
                                   int8_t *y, int32_t left) {
    tile(p, 1, 1, x, offsets, w, quant, y, left);
}

typedef void (*tile_kernel)(const tinyrt_product_x86_params *p, const uint8_t *x,
                            const int32_t *offsets, const int8_t *w, const int32_t *quant,
                            int8_t *y, int32_t left);

/** A tile, and how many pixels and vectors of channels it has. */
typedef struct {
    tile_kernel kernel;
    int32_t pixels;
    int32_t vectors;
} tile_shape;

static const tile_shape SHAPES[] = {
    {block, TINYRT_TILE_PIXELS, TINYRT_TILE_VECTORS},
    {column, TINYRT_COLUMN_PIXELS, 1},
    {row, 1, TINYRT_ROW_VECTORS},
    {single, 1, 1},
};

/** The first tile that is no larger than what is left. */
static const tile_shape *shape_of(int32_t pixels, int32_t channels) {
    const tile_shape *shape = SHAPES;
    while (pixels < shape->pixels || channels <= (shape->vectors - 1) * TINYRT_LANES) {
        ++shape;
    }
    return shape;
}

void tinyrt_product_x86(const tinyrt_product_x86_params *p, const uint8_t *x, const int8_t *w,
                        const int32_t *quant, int8_t *TINYRT_RESTRICT y) {
    for (int32_t left = p->channels; left > 0;) {
        const tile_shape *const shape = shape_of(p->pixels, left);
        for (int32_t i = 0; i < p->pixels; i += shape->pixels) {
            /* The last tile overlaps the one before it rather than leave single pixels. */
            const int32_t last = p->pixels - shape->pixels;
            const int32_t first = i > last ? last : i;
            shape->kernel(p, x, p->offsets + first, w, quant, y + first * p->stride, left);
        }
        w += shape->vectors * p->step_count * TINYRT_LANE_BYTES;
        quant += shape->vectors * TINYRT_QUANT;
        y += shape->vectors * TINYRT_LANES;
        left -= shape->vectors * TINYRT_LANES;
    }
}
