/** Stages of transforms of int16 that a core has instructions for: here none. */
#ifndef TINYRT_FFT_S16_H
#define TINYRT_FFT_S16_H

#include "tinyrt_types.h"

#endif
