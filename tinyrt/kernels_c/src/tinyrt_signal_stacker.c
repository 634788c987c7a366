#include "tinyrt_signal_frames.h"

#include "tinyrt_samples.h"

void tinyrt_signal_stacker(const tinyrt_signal_stacker_params *p, const int16_t *x,
                           const int16_t *before, const int32_t *count, int16_t *after,
                           int32_t *next, int16_t *y, uint8_t *valid) {
    const int32_t size = p->inputs * p->channels;
    const int32_t is_first = *count == 0;
    const int32_t waiting = is_first ? (p->left + 1) : *count;
    tinyrt_samples_copy(before, size, after);
    for (int32_t i = is_first ? 0 : (p->inputs - 1); i < p->inputs; ++i) {
        tinyrt_samples_shift(after, size, x, p->channels);
    }
    tinyrt_samples_copy(after, size, y);
    *valid = waiting >= p->inputs;
    *next = *valid ? (waiting - p->step + 1) : (waiting + 1);
}
