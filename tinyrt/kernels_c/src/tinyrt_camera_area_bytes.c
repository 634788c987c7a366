#include "tinyrt_camera.h"

#include "tinyrt_camera_area_loop.h"

int32_t tinyrt_camera_area_bytes(const tinyrt_camera_params *p, const uint8_t *line, void *state,
                                 uint8_t *row) {
    if (p->is_grey != 0) {
        return tinyrt_camera_area_loop(p, 1, tinyrt_grey_bytes, line, state, row);
    }
    if (p->channels == 1) {
        return tinyrt_camera_area_loop(p, 1, tinyrt_pixel_bytes, line, state, row);
    }
    return tinyrt_camera_area_loop(p, 3, tinyrt_pixel_bytes, line, state, row);
}
