/** Slices: an inference in steps, between which a program does other work. */
#ifndef TINYRT_SLICES_H
#define TINYRT_SLICES_H

#include "tinyrt_copy.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One slice: about how many instructions it takes. The last one of a pattern that runs in rounds
 *  says in how many, and how many slices of the pattern come before it; and likewise for what is
 *  repeated in turns. */
typedef struct {
    uint32_t instructions;
    uint16_t rounds;
    uint16_t back;
    uint16_t turns;
    uint16_t turn_back;
} tinyrt_slice;

/** Goes on to the next slice: back to a pattern's first one, until all its rounds and turns are
 *  done. */
static inline void tinyrt_end_slice(const tinyrt_slice *slices, uint32_t *at, uint32_t *round,
                                    uint32_t *turn) {
    const tinyrt_slice *const done = slices + *at;
    if (done->rounds > 1) {
        if (++*round < done->rounds) {
            *at -= done->back;
            return;
        }
        *round = 0;
    }
    if (done->turns > 1) {
        if (++*turn < done->turns) {
            *at -= done->turn_back;
            return;
        }
        *turn = 0;
    }
    ++*at;
}

#ifdef __cplusplus
}
#endif

#endif
