#include "tinyrt_camera.h"

#include "tinyrt_camera_area_ahead.h"
#include "tinyrt_camera_area_loop.h"

static inline uint16x8_t colour(const tinyrt_camera_params *p, const uint8_t *line, int32_t x,
                                int32_t last, int32_t channel) {
    return tinyrt_eight_yuv422(p, line, tinyrt_eight_from(x, last), channel);
}

TINYRT_NOINLINE static void look_at_colour(const tinyrt_camera_params *p, const uint8_t *line,
                                           int32_t x, int32_t channel, uint16_t *sums) {
    tinyrt_look_ahead(p, colour, line, x, channel, sums);
}

/* Luma is one load each: vectors of it do not pay. */
int32_t tinyrt_camera_area_yuv422(const tinyrt_camera_params *p, const uint8_t *line, void *state,
                                  uint8_t *row) {
    if (p->channels == 1) {
        return tinyrt_camera_area_loop(p, 1, tinyrt_grey_yuv422, line, state, row);
    }
    return tinyrt_camera_area_ahead(p, 3, look_at_colour, line, state, row);
}
