/** One column that blocks of output channels read, for cores whose loops take nothing else to know.
 *  tinyrt_columns.h includes this behind tinyrt_dot_one. */
#ifndef TINYRT_TAP_LINE_H
#define TINYRT_TAP_LINE_H

/** A single column, set out once for many products. */
typedef struct {
    const tinyrt_single *x;
    int32_t taps;
} tinyrt_tap_line;

/** Requires: taps is a multiple of four, and not 0. */
static inline tinyrt_tap_line tinyrt_tap_line_of(const tinyrt_single *x, int32_t taps) {
    const tinyrt_tap_line line = {x, taps};
    return line;
}

/** Nothing: what a loop over blocks needs may be in registers. */
#define TINYRT_HELD_FOR_LINE(fields) (void)(fields)

/** Whether a scale of all channels is read once, before their weights push it out of a cache. */
#define TINYRT_SCALE_READ_ONCE 0

/** As tinyrt_dot_one. */
static inline const int32_t *tinyrt_dot_words(const int32_t *w, const tinyrt_tap_line *line,
                                              int32_t *acc) {
    return tinyrt_dot_one(w, line->x, line->taps, acc);
}

#endif
