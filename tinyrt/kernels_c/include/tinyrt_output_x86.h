/** How kernels for x86 turn sums into int8 outputs. */
#ifndef TINYRT_OUTPUT_X86_H
#define TINYRT_OUTPUT_X86_H

#include "tinyrt_types.h"

/** zp: the zero point. act_min, act_max: the least and the greatest output. finish: how sums become
 *  outputs, see tinyrt_tile.h. */
typedef struct {
    int32_t zp;
    int32_t act_min;
    int32_t act_max;
    int32_t finish;
} tinyrt_output_x86;

#endif
