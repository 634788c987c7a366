/** Cepstral coefficients: a cosine transform of a frame's logarithms. */
#ifndef TINYRT_CEPSTRA_H
#define TINYRT_CEPSTRA_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A row of weights for each coefficient, of bits fraction bits. */
typedef struct {
    int32_t bands;
    int32_t coefficients;
    int32_t bits;
    const int16_t *weights;
} tinyrt_cepstra_params;

/** y = sum(weights * x) / 2^bits, halves rounded up. Requires: x <= INT16_MAX; sums fit 32 bits
 *  and y fits 16, whatever x is (the exporter checks). y overlaps nothing. */
void tinyrt_cepstra(const tinyrt_cepstra_params *p, const uint16_t *x, int16_t *TINYRT_RESTRICT y);

#ifdef __cplusplus
}
#endif

#endif
