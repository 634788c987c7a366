/** A window that moves on in time. */
#ifndef TINYRT_SHIFT_H
#define TINYRT_SHIFT_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Moves the last kept bytes of a window of kept_bytes + x_bytes to its start and writes x behind
 *  them. window is aligned to 4 bytes, x_bytes a multiple of 4; x lies outside the window. */
void tinyrt_shift(int32_t kept_bytes, int32_t x_bytes, const void *TINYRT_RESTRICT x,
                  void *TINYRT_RESTRICT window);

#ifdef __cplusplus
}
#endif

#endif
