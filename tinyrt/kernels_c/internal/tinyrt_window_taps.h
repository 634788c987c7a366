/** A window's taps that lie inside of the input. */
#ifndef TINYRT_WINDOW_TAPS_H
#define TINYRT_WINDOW_TAPS_H

#include "tinyrt_types.h"

/** Rows and columns of taps, and elements from a tap of x and of w to the next one, and from a row
 *  of taps. */
typedef struct {
    int32_t rows;
    int32_t columns;
    int32_t x_row;
    int32_t x_step;
    int32_t w_row;
    int32_t w_step;
} tinyrt_window_taps;

#endif
