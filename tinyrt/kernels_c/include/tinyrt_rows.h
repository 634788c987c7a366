/** Segments: ops that run row by row, on the newest rows of each tensor. */
#ifndef TINYRT_ROWS_H
#define TINYRT_ROWS_H

#include "tinyrt_copy.h"

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The newest rows of a tensor, one behind the other, at a multiple of four: bytes of those that
 *  are kept when others come, and of those that come at once. fill is the value of padding. */
typedef struct {
    uint32_t offset : 24;
    int32_t fill : 8;
    uint16_t keep;
    uint16_t block;
} tinyrt_ring;

/** How far a segment is; all zero before its first step. cut is how many rows of the stage's batch
 *  are left out: at its front in the lower four bits, at its end in those above. */
typedef struct {
    uint32_t at;
    uint32_t round;
    uint32_t cut;
} tinyrt_progress;

/** What a step does, in this order; its other bits are the number of a stage. */
enum {
    TINYRT_SHIFT = 0x80, /**< Move the rows of the stage's ring by a block. */
    TINYRT_FILL =
        0x40, /**< Fill its block; if it is not moved and nothing is cut, what is before. */
    TINYRT_RUN = 0x20, /**< Run the stage. */
    TINYRT_STAGE = 0x1F,
    TINYRT_NO_STAGE = 0x1F,
};

/** Bytes between steps. Others with none of the flags come before a step: so many rows of its batch
 *  are left out, at its end where TINYRT_AT_END is set. */
enum {
    TINYRT_END = TINYRT_RUN | TINYRT_NO_STAGE, /**< There are no more steps. */
    TINYRT_AT_END = 0x10,
    TINYRT_AGAIN = 0x1F, /**< How often, and how many bytes before: go back there. */
};

/** What there is in a segment's steps; constants where they are passed. */
enum {
    TINYRT_IN_WORDS = 1,   /**< All rings' sizes are multiples of four. */
    TINYRT_WITH_CUTS = 2,  /**< Some batches have fewer rows than others. */
    TINYRT_WITH_RINGS = 4, /**< There are rings; else there is no table of them. */
};

/** Does what a step does to its ring: what it keeps moves to its start; its block is filled, or
 * what it keeps if nothing was moved and nothing is cut. */
static TINYRT_NOINLINE void tinyrt_move_ring(const tinyrt_ring *ring, uint32_t what, uint32_t step,
                                             uint32_t cut, int8_t *to) {
    const int in_words =
        ((what & TINYRT_IN_WORDS) != 0) || (((ring->keep | ring->block) & 3U) == 0);
    int8_t *const last = to + ring->keep;
    const int8_t *from = to + ring->block;
    const int8_t *end = last;
    if ((step & TINYRT_SHIFT) != 0) {
        if (TINYRT_COPY_BYTES > 4) {
            to = tinyrt_copy(from, last, to);
        } else if ((what & TINYRT_IN_WORDS) != 0) {
            /* One short loop instead of two: it takes fewer bytes. */
            for (; to != last; to += 4, from += 4) {
                TINYRT_SHORT_LOOP;
                (void)memcpy(TINYRT_ALIGNED(to), TINYRT_ALIGNED(from), 4);
            }
        } else {
            for (; (in_words != 0) && ((last - to) >= 16); to += 16, from += 16) {
                (void)memcpy(TINYRT_ALIGNED(to), TINYRT_ALIGNED(from), 16);
            }
            for (; to != last; ++to) {
                TINYRT_SHORT_LOOP;
                *to = *from++;
            }
        }
    }
    if ((to == last) || (cut != 0U)) {
        to = last;
        end = last + ring->block;
    }
    if ((step & TINYRT_FILL) == 0) {
        return;
    }
    if (TINYRT_COPY_BYTES > 4) {
        tinyrt_fill((int8_t)ring->fill, end, to);
    } else {
        const uint32_t word = 0x01010101U * (uint8_t)ring->fill;
        for (; (in_words != 0) && (to != end); to += 4) {
            TINYRT_SHORT_LOOP;
            (void)memcpy(TINYRT_ALIGNED(to), &word, 4);
        }
        for (; to != end; ++to) {
            TINYRT_SHORT_LOOP;
            *to = (int8_t)ring->fill;
        }
    }
}

/** Takes steps up to one that runs a stage; returns the stage, or TINYRT_NO_STAGE at the end. It
 *  belongs into a function of the model's, so that only what is in its steps is compiled. */
static inline uint32_t tinyrt_next_stage(const uint8_t *steps, const tinyrt_ring *rings,
                                         uint32_t what, int8_t *arena, tinyrt_progress *progress) {
    uint32_t cut = 0;
    for (const uint8_t *at = steps + progress->at;;) {
        const uint32_t step = *at++;
        const uint32_t stage = step & TINYRT_STAGE;
        if (step == TINYRT_AGAIN) {
            if (++progress->round == at[0]) {
                progress->round = 0;
                at += 2;
            } else {
                at -= at[1];
            }
        } else if (((what & TINYRT_WITH_CUTS) != 0) && (step == stage)) {
            cut |= (step < TINYRT_AT_END) ? step : ((step - TINYRT_AT_END) << 4);
        } else {
            if (((what & TINYRT_WITH_RINGS) != 0) && ((step & (TINYRT_SHIFT | TINYRT_FILL)) != 0)) {
                tinyrt_move_ring(rings + stage, what, step, cut, arena + rings[stage].offset);
            }
            if ((step & TINYRT_RUN) != 0) {
                progress->cut = cut;
                progress->at = (uint32_t)(at - steps);
                return stage;
            }
            cut = 0;
        }
    }
}

/** Whether there is no step left. */
static inline int tinyrt_at_end(const uint8_t *steps, const tinyrt_progress *progress) {
    return (progress->at != 0U) && (steps[progress->at - 1U] == TINYRT_END);
}

#ifdef __cplusplus
}
#endif

#endif
