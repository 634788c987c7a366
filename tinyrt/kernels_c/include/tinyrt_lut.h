/** lut: any function of one int8 value, as a table. */
#ifndef TINYRT_LUT_H
#define TINYRT_LUT_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** y = table[x], x read as an unsigned byte; table has 256 entries. y may be x. */
void tinyrt_lut_s8(const int8_t *table, int32_t size, const int8_t *x, int8_t *y);

#ifdef __cplusplus
}
#endif

#endif
