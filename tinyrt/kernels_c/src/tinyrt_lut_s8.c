#include "tinyrt_lut.h"

void tinyrt_lut_s8(const int8_t *table, int32_t size, const int8_t *x, int8_t *y) {
    const int8_t *const end = x + size;
    for (const int8_t *const whole = x + (size & ~3); x != whole; x += 4, y += 4) {
        /* All four first: y may be x, and then a store would keep the next load waiting. */
        const uint8_t a = (uint8_t)x[0];
        const uint8_t b = (uint8_t)x[1];
        const uint8_t c = (uint8_t)x[2];
        const uint8_t d = (uint8_t)x[3];
        y[0] = table[a];
        y[1] = table[b];
        y[2] = table[c];
        y[3] = table[d];
    }
    while (x != end) {
        *y++ = table[(uint8_t)*x++];
    }
}
