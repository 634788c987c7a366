#include "tinyrt_signal_noise.h"

#include "tinyrt_bits.h"

/** Fraction bits of a ratio of signal to noise, and of an output. */
#define SNR_BITS 12
#define OUTPUT_BITS 6

/** A polynomial of second degree for each power of two; the first entries are for 0 to 2. */
static uint32_t gain_of(uint32_t noise, const int16_t *gains) {
    if (noise <= 2) {
        return (uint32_t)gains[noise];
    }
    const int32_t bits = tinyrt_bit_length(noise);
    const int16_t *const part = gains + (4 * bits) - 6;
    const uint32_t shifted = (bits < 11) ? noise << (11 - bits) : (noise >> (bits - 11));
    const int32_t fraction = (int32_t)(shifted & 0x3FF);
    const int32_t slope = ((part[2] * fraction) >> 5) + (part[1] * 32);
    return (uint32_t)(int16_t)((((slope * fraction) + (1 << 14)) >> 15) + part[0]);
}

void tinyrt_signal_pcan(int32_t size, int32_t shift, const uint32_t *TINYRT_RESTRICT x,
                        const uint32_t *noise, const int16_t *gains, uint32_t *TINYRT_RESTRICT y) {
    for (int32_t i = 0; i < size; ++i) {
        const uint32_t ratio = (uint32_t)(((uint64_t)x[i] * gain_of(noise[i], gains)) >> shift);
        if (ratio < 2 << SNR_BITS) {
            y[i] = (ratio * ratio) >> (2 + (2 * SNR_BITS) - OUTPUT_BITS);
        } else {
            y[i] = (ratio >> (SNR_BITS - OUTPUT_BITS)) - (1 << OUTPUT_BITS);
        }
    }
}
