/** How filters of 3 x 3 are stored, and what their shifts say: TINYRT_WEIGHT_BITS, 4, 8 or 16, is
 * set where this is included. */
#ifndef TINYRT_FILTER3_WEIGHTS_H
#define TINYRT_FILTER3_WEIGHTS_H

#include "tinyrt_filter3.h"

#if TINYRT_WEIGHT_BITS == 4
#define TINYRT_LOAD_FILTER3(w, c, shift) tinyrt_load_filter3_s4(w, c, tinyrt_factor_of(shift))
#define TINYRT_RIGHT(shift) tinyrt_right_of(shift)
#elif TINYRT_WEIGHT_BITS == 16
#define TINYRT_LOAD_FILTER3(w, c, shift) tinyrt_load_filter3_wide(w, c)
#define TINYRT_RIGHT(shift) (shift)
#else
#define TINYRT_LOAD_FILTER3(w, c, shift) tinyrt_load_filter3_s8(w, c)
#define TINYRT_RIGHT(shift) (shift)
#endif

#endif
