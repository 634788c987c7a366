/** The last step of transforms of real int16, where a core has instructions for it: here none. */
#ifndef TINYRT_RFFT_S16_H
#define TINYRT_RFFT_S16_H

#include "tinyrt_types.h"

#endif
