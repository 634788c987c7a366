/** The place of the best of some bytes, where this is included; TINYRT_BETTER and
 *  TINYRT_MOST_OF_BYTES say which is the best. */
#ifndef TINYRT_PLACE_S8_H
#define TINYRT_PLACE_S8_H

#include "tinyrt_arg_loop.h"

#define tinyrt_place tinyrt_place_one_by_one

#endif
