/** Rows of an image whose pixels lie between four others. */
#ifndef TINYRT_CAMERA_BILINEAR_LOOP_H
#define TINYRT_CAMERA_BILINEAR_LOOP_H

#include "tinyrt_bilinear_lines.h"
#include "tinyrt_pixels.h"

/** channels is that of the parameters, where it is a constant. */
static inline int32_t tinyrt_camera_bilinear_loop(const tinyrt_camera_params *params,
                                                  int32_t channels, tinyrt_bilinear_pixel *pixel,
                                                  const uint8_t *line, void *state, uint8_t *row) {
    /* A copy, which bytes that are written cannot overlap: its fields stay in registers. */
    const tinyrt_camera_params own = *params;
    const tinyrt_camera_params *const p = &own;
    tinyrt_camera_state *const at = state;
    uint16_t *const lines = (uint16_t *)(void *)(at + 1);
    const int32_t size = p->columns * channels;
    const int32_t y = tinyrt_line_in_crop(p, at);
    if (y < 0) {
        return tinyrt_next_line(p, at);
    }
    uint16_t *const lower = lines + ((y & 1) * size);
    if (at->is_taken == 0) {
        tinyrt_bilinear_across(p, channels, pixel, line, lower);
        at->is_taken = 1;
    }
    if ((at->row == p->rows) || (p->row_first[at->row] + 1 != y)) {
        return tinyrt_next_line(p, at);
    }
    const uint16_t *const upper = lines + ((1 - (y & 1)) * size);
    tinyrt_bilinear_down(size, p->row_part[at->row], upper, lower, row);
    ++at->row;
    return 1;
}

#endif
