/** What four outputs of a convolution read, as three words to a tap. */
#ifndef TINYRT_WINDOW_TRIPLES_H
#define TINYRT_WINDOW_TRIPLES_H

#include "tinyrt_set_triples.h"
#include "tinyrt_window_four.h"

/** An output's place: its image, row and column. */
typedef struct {
    const int8_t *x;
    int32_t row;
    int32_t column;
} tinyrt_output_place;

/** Fills triples for the outputs from place on, of which so many are left; those beyond repeat the
 *  last one. place goes on behind them. patch has room for four rows of the window. */
void tinyrt_window_triples(const tinyrt_window_block_s8_params *p, tinyrt_output_place *place,
                           int32_t left, int32_t *triples, int8_t *patch);

#endif
