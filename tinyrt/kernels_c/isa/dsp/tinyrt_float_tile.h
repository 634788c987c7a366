/** Sums of products of floats, four channels of four pixels at a time: a tile. Each sum takes its
 *  products in the order in which they lie. In assembly where there is a unit for floats: compilers
 *  do not load several of its registers at once. tinyrt_float_tile_c.h says what each one does. */
#ifndef TINYRT_FLOAT_TILE_H
#define TINYRT_FLOAT_TILE_H

#include "tinyrt_types.h"

#define TINYRT_TILE_ROWS 4
#define TINYRT_STRIP 16

/** Of functions that call these: on their own they have more registers for pointers. */
#define TINYRT_TILE_CALLER TINYRT_NOINLINE

/* Unless it optimises, a compiler has too few registers left. */
#if defined(TINYRT_ASM) && defined(__OPTIMIZE__) && defined(__ARM_FEATURE_FMA) &&                  \
    defined(__ARM_FP) && ((__ARM_FP & 4) != 0)
#include "tinyrt_float_tile_asm.h"
#else
#include "tinyrt_float_tile_c.h"
#endif

#endif
