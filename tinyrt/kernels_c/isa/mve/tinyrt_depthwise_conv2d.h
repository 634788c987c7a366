/** depthwise_conv2d: here, the int8 kernels are declared in tinyrt_depthwise_conv2d_mve.h. */
#ifndef TINYRT_DEPTHWISE_CONV2D_H
#define TINYRT_DEPTHWISE_CONV2D_H

#include "tinyrt_depthwise_conv2d_float.h"

#endif
