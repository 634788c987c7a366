/** Sums of products of floats, four channels of four pixels at a time: a tile. Each sum takes its
 *  products in the order in which they lie. */
#ifndef TINYRT_FLOAT_TILE_H
#define TINYRT_FLOAT_TILE_H

#include "tinyrt_float_tile_c.h"

#endif
