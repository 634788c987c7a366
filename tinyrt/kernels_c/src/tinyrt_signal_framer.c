#include "tinyrt_signal_frames.h"

#include "tinyrt_samples.h"

void tinyrt_signal_framer(const tinyrt_signal_framer_params *p, const int16_t *x,
                          const int16_t *before, const int32_t *count, int16_t *after,
                          int32_t *next, int16_t *y, uint8_t *valid) {
    const int32_t steps = *count;
    *valid = (steps + 1) >= p->first;
    *next = (p->frames < (p->first - steps)) ? (steps + p->frames) : p->first;
    for (int32_t row = 0; row < p->rows; ++row) {
        tinyrt_samples_copy(before, p->window, after);
        for (int32_t frame = 0; frame < p->frames; ++frame) {
            tinyrt_samples_shift(after, p->window, x, p->step);
            tinyrt_samples_copy(after, p->size, y);
            x += p->step;
            y += p->size;
        }
        before += p->window;
        after += p->window;
    }
}
