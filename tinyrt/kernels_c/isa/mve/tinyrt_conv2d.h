/** conv2d: here, the int8 kernels are declared in tinyrt_conv2d_mve.h. */
#ifndef TINYRT_CONV2D_H
#define TINYRT_CONV2D_H

#include "tinyrt_conv2d_float.h"

#endif
