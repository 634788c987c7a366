/** Four pixels of a depthwise layer of floats with few channels. */
#ifndef TINYRT_FEW_TAPS_H
#define TINYRT_FEW_TAPS_H

#include "tinyrt_few_taps_c.h"

#endif
