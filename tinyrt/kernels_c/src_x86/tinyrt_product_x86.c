#include "tinyrt_product_x86.h"

#include "tinyrt_tile.h"

typedef tinyrt_lanes tile_sums[TINYRT_MAX_PIXELS][TINYRT_MAX_VECTORS];

/** Store all outputs of a tile; form, pixels and vectors are constants where this is inlined. */
TINYRT_INLINE void finish(const tinyrt_output_x86 *out, int32_t form, int32_t pixels,
                          int32_t vectors, tile_sums acc, const int32_t *quant, int8_t *y,
                          int32_t stride, int32_t left) {
#pragma GCC unroll 8
    for (int32_t v = 0; v < vectors; ++v) {
        const tinyrt_finish constants = tinyrt_load_finish(quant + v * TINYRT_QUANT, out);
        /* Only the last vector may have fewer channels than lanes. */
        const int32_t count = v + 1 < vectors ? TINYRT_LANES : left - v * TINYRT_LANES;
#pragma GCC unroll 16
        for (int32_t i = 0; i < pixels; ++i) {
            tinyrt_finish_lanes(acc[i][v], form, &constants, y + i * stride + v * TINYRT_LANES,
                                count);
        }
    }
}

/** pixels x vectors of sums; both are constants where this is inlined. */
TINYRT_INLINE void tile(const tinyrt_product_x86_params *p, int32_t pixels, int32_t vectors,
                        const uint8_t *x, const int32_t *offsets, const int8_t *w,
                        const int32_t *quant, int8_t *y, int32_t left) {
    /* Stores of outputs might change what p points to, for all that the compiler knows. */
    const tinyrt_output_x86 out = p->out;
    tile_sums acc;
    const uint8_t *at[TINYRT_MAX_PIXELS];
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
        tinyrt_lanes weights[TINYRT_MAX_VECTORS];
#pragma GCC unroll 8
        for (int32_t v = 0; v < vectors; ++v) {
            weights[v] = tinyrt_load_lanes(w + v * TINYRT_LANE_BYTES);
        }
        w += vectors * TINYRT_LANE_BYTES;
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
    TINYRT_IN_EACH_FORM(out.finish,
                        finish(&out, form, pixels, vectors, acc, quant, y, p->stride, left));
}

#ifdef TINYRT_TILES_OF_EIGHTS

/** pixels of a single vector: a register has two sums of each of eight channels. */
TINYRT_INLINE void tile_of_eights(const tinyrt_product_x86_params *p, int32_t pixels,
                                  const uint8_t *x, const int32_t *offsets, const int8_t *w,
                                  const int32_t *quant, int8_t *y, int32_t left) {
    const tinyrt_output_x86 out = p->out;
    tinyrt_lanes halves[TINYRT_MAX_PIXELS][2];
    const uint8_t *at[TINYRT_MAX_PIXELS];
#pragma GCC unroll 16
    for (int32_t i = 0; i < pixels; ++i) {
        at[i] = x + offsets[i];
        halves[i][0] = halves[i][1] = tinyrt_set_lanes(0);
    }
    const int32_t *const steps = p->steps;
    const int32_t count = p->step_count;
    for (int32_t k = 0; k < count; ++k) {
        const tinyrt_lanes first = tinyrt_load_lanes(w);
        const tinyrt_lanes second = tinyrt_load_lanes(w + TINYRT_LANE_BYTES);
        w += 2 * TINYRT_LANE_BYTES;
        const int32_t step = steps[k];
#pragma GCC unroll 16
        for (int32_t i = 0; i < pixels; ++i) {
            int64_t bytes;
            memcpy(&bytes, at[i] + step, sizeof bytes);
            const tinyrt_lanes eight = tinyrt_set_pairs(bytes);
            halves[i][0] = tinyrt_dot4(halves[i][0], eight, first);
            halves[i][1] = tinyrt_dot4(halves[i][1], eight, second);
        }
    }
    const tinyrt_lanes bias = tinyrt_load_lanes(quant);
    tile_sums acc;
#pragma GCC unroll 16
    for (int32_t i = 0; i < pixels; ++i) {
        acc[i][0] = tinyrt_add_lanes(bias, tinyrt_add_pairs(halves[i][0], halves[i][1]));
    }
    TINYRT_IN_EACH_FORM(out.finish, finish(&out, form, pixels, 1, acc, quant, y, p->stride, left));
}

#else
#define TINYRT_TILES_OF_EIGHTS(TILE)
#endif

#define TINYRT_KERNEL(name, pixels, vectors)                                                       \
    static TINYRT_NOINLINE void name(const tinyrt_product_x86_params *p, const uint8_t *x,         \
                                     const int32_t *offsets, const int8_t *w,                      \
                                     const int32_t *quant, int8_t *y, int32_t left) {              \
        tile(p, pixels, vectors, x, offsets, w, quant, y, left);                                   \
    }

#define TINYRT_KERNEL_OF_EIGHTS(name, pixels)                                                      \
    static TINYRT_NOINLINE void name(const tinyrt_product_x86_params *p, const uint8_t *x,         \
                                     const int32_t *offsets, const int8_t *w,                      \
                                     const int32_t *quant, int8_t *y, int32_t left) {              \
        tile_of_eights(p, pixels, x, offsets, w, quant, y, left);                                  \
    }

TINYRT_TILES(TINYRT_KERNEL)
TINYRT_TILES_OF_EIGHTS(TINYRT_KERNEL_OF_EIGHTS)

/** A tile, and how many pixels and vectors of channels it has. */
typedef struct {
    void (*kernel)(const tinyrt_product_x86_params *p, const uint8_t *x, const int32_t *offsets,
                   const int8_t *w, const int32_t *quant, int8_t *y, int32_t left);
    int32_t pixels;
    int32_t vectors;
} tile_shape;

#define TINYRT_SHAPE(name, pixels, vectors) {name, pixels, vectors},

#define TINYRT_SHAPE_OF_EIGHTS(name, pixels) {name, pixels, 1},

static const tile_shape SHAPES[] = {TINYRT_TILES(TINYRT_SHAPE)
                                        TINYRT_TILES_OF_EIGHTS(TINYRT_SHAPE_OF_EIGHTS)};

void tinyrt_product_x86(const tinyrt_product_x86_params *p, const uint8_t *x, const int8_t *w,
                        const int32_t *quant, int8_t *TINYRT_RESTRICT y) {
    int32_t left = p->channels;
    for (int32_t k = 0; k < p->tile_count; ++k) {
        const tile_shape *const shape = SHAPES + p->tiles[k];
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
