#include "tinyrt_camera.h"

#include "tinyrt_camera_area_ahead.h"

/* Words in turn, as they lie in memory. */
static inline uint16x8_t words(const tinyrt_camera_params *p, const uint8_t *line, int32_t x,
                               int32_t last) {
    const mve_pred16_t here = vctp8q((uint32_t)(2 * ((last + 1) - x)));
    const uint8x16_t pairs = vldrbq_z_u8(line + (2 * x), here);
    return vreinterpretq_u16_u8((p->places[0] != 0U) ? pairs : vrev16q_u8(pairs));
}

static inline uint16x8_t grey(const tinyrt_camera_params *p, const uint8_t *line, int32_t x,
                              int32_t last, int32_t channel) {
    (void)channel;
    return tinyrt_eight_grey_of_words(words(p, line, x, last));
}

static inline uint16x8_t colour(const tinyrt_camera_params *p, const uint8_t *line, int32_t x,
                                int32_t last, int32_t channel) {
    return tinyrt_eight_of_words(words(p, line, x, last), channel);
}

TINYRT_NOINLINE static void look_at_grey(const tinyrt_camera_params *p, const uint8_t *line,
                                         int32_t x, int32_t channel, uint16_t *sums) {
    tinyrt_look_ahead(p, grey, line, x, channel, sums);
}

TINYRT_NOINLINE static void look_at_colour(const tinyrt_camera_params *p, const uint8_t *line,
                                           int32_t x, int32_t channel, uint16_t *sums) {
    tinyrt_look_ahead(p, colour, line, x, channel, sums);
}

int32_t tinyrt_camera_area_rgb565(const tinyrt_camera_params *p, const uint8_t *line, void *state,
                                  uint8_t *row) {
    if (p->channels == 1) {
        return tinyrt_camera_area_ahead(p, 1, look_at_grey, line, state, row);
    }
    return tinyrt_camera_area_ahead(p, 3, look_at_colour, line, state, row);
}
