/** Segments: ops that run row by row, on the newest rows of each tensor. */
#ifndef TINYRT_ROWS_H
#define TINYRT_ROWS_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The newest rows of a tensor, one behind the other. keep is what lies before the last one; fill
 *  is the value of padding. */
typedef struct {
    int32_t offset;
    uint16_t keep;
    uint16_t row;
    int8_t fill;
} tinyrt_ring;

/** How far a segment is; all zero before its first step. */
typedef struct {
    uint16_t chunk;
    uint8_t step;
    uint8_t round;
} tinyrt_progress;

/** What a step does, in this order; its other bits are the number of a stage. */
enum {
    TINYRT_SHIFT = 0x80, /**< Move the rows of the stage's ring by one place. */
    TINYRT_FILL = 0x40,  /**< Fill its last place. */
    TINYRT_RUN = 0x20,   /**< Run the stage. */
    TINYRT_STAGE = 0x1F,
};

/** Takes steps up to one that runs a stage; returns the stage, or -1 at the end.
 *  steps are chunks: how many steps, how often, and the steps; an empty one ends them. */
int32_t tinyrt_next_stage(const uint8_t *steps, const tinyrt_ring *rings, int8_t *arena,
                          tinyrt_progress *progress);

/** Whether there is no step left. */
static inline int tinyrt_at_end(const uint8_t *steps, const tinyrt_progress *progress) {
    return steps[progress->chunk] == 0;
}

#ifdef __cplusplus
}
#endif

#endif
