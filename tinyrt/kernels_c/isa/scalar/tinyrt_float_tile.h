/** Sums of products of floats, four channels at a time. Each sum takes its products in the order in
 *  which they lie. Without a unit for floats, pixels that share a filter spare next to nothing. */
#ifndef TINYRT_FLOAT_TILE_H
#define TINYRT_FLOAT_TILE_H

#define TINYRT_TILE_ROWS 1
#define TINYRT_STRIP 4

/** Of functions that call these: on their own they have more registers for pointers. */
#define TINYRT_TILE_CALLER TINYRT_NOINLINE

#include "tinyrt_float_tile_c.h"

#endif
