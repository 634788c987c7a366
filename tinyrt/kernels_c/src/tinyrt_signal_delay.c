#include "tinyrt_signal_frames.h"

void tinyrt_signal_delay(int32_t rows, int32_t size, int32_t past, const int16_t *x,
                         const int16_t *before, int16_t *after, int16_t *y) {
    for (int32_t row = 0; row < rows; ++row) {
        for (int32_t i = 0; i < size; ++i) {
            y[i] = (i < past) ? before[i] : x[i - past];
        }
        for (int32_t i = 0; i < past; ++i) {
            after[i] = ((i + size) < past) ? before[i + size] : x[i + size - past];
        }
        x += size;
        y += size;
        before += past;
        after += past;
    }
}
