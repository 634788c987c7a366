#include "tinyrt_camera.h"

#include "tinyrt_camera_area_ahead.h"
#include "tinyrt_camera_area_loop.h"

static inline uint16x8_t grey(const tinyrt_camera_params *p, const uint8_t *line, int32_t x,
                              int32_t last, int32_t channel) {
    return tinyrt_eight_grey_bytes(p, line, tinyrt_eight_from(x, last), channel);
}

TINYRT_NOINLINE static void look_at_grey(const tinyrt_camera_params *p, const uint8_t *line,
                                         int32_t x, int32_t channel, uint16_t *sums) {
    tinyrt_look_ahead(p, grey, line, x, channel, sums);
}

/* What is no grey of colours is one load each: vectors of it do not pay. */
int32_t tinyrt_camera_area_bytes(const tinyrt_camera_params *p, const uint8_t *line, void *state,
                                 uint8_t *row) {
    if (p->is_grey != 0) {
        return tinyrt_camera_area_ahead(p, 1, look_at_grey, line, state, row);
    }
    if (p->channels == 1) {
        return tinyrt_camera_area_loop(p, 1, tinyrt_pixel_bytes, line, state, row);
    }
    return tinyrt_camera_area_loop(p, 3, tinyrt_pixel_bytes, line, state, row);
}
