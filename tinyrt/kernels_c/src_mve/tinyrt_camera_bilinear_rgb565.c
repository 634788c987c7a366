#include "tinyrt_camera.h"

#include "tinyrt_camera_bilinear_loop.h"

int32_t tinyrt_camera_bilinear_rgb565(const tinyrt_camera_params *p, const uint8_t *line,
                                      void *state, uint8_t *row) {
    if (p->channels == 1) {
        return tinyrt_camera_bilinear_loop(p, 1, tinyrt_eight_grey_rgb565, line, state, row);
    }
    return tinyrt_camera_bilinear_loop(p, 3, tinyrt_eight_rgb565, line, state, row);
}
