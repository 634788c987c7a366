#include "tinyrt_window_column.h"

#include "tinyrt_copy.h"

/** A half-open range of rows of the window, or of bytes of each. */
typedef struct {
    int32_t begin;
    int32_t end;
} part;

/** What of length, from first on, lies in [0, size). */
static inline part inside(int32_t first, int32_t length, int32_t size) {
    const int32_t behind = size - first;
    const part found = {(first < 0) ? -first : 0, (behind < length) ? behind : length};
    return found;
}

/** Copies bytes that do not overlap: the last word may lie on the one before. */
static inline void copy_run(const int8_t *from, int32_t count, int8_t *to) {
    const int32_t last = count - TINYRT_COPY_BYTES;
    if (last < 0) {
        (void)tinyrt_copy(from, to + count, to);
        return;
    }
    for (int32_t i = 0; i < last; i += TINYRT_COPY_BYTES) {
        TINYRT_SHORT_LOOP;
        (void)memcpy(to + i, from + i, TINYRT_COPY_BYTES);
    }
    (void)memcpy(to + last, from + last, TINYRT_COPY_BYTES);
}

void tinyrt_window_column(const tinyrt_window_block_s8_params *p, const int8_t *x, int32_t y0,
                          int32_t x0, tinyrt_taps_word *column, int8_t *patch) {
    const int32_t run = p->window.kernel_w * p->x.c;
    const int32_t taps = p->window.kernel_h * run;
    const int32_t row_bytes = p->x.w * p->x.c;
    const int32_t first = x0 * p->x.c;
    const int whole = (y0 >= 0) && ((y0 + p->window.kernel_h) <= p->x.h) && (x0 >= 0) &&
                      ((x0 + p->window.kernel_w) <= p->x.w);
    part rows = {0, p->window.kernel_h};
    part bytes = {0, run};
    const int8_t *from = x + (y0 * row_bytes) + first;
    if (whole && (column != NULL) && ((run % TINYRT_WIDEN_MULTIPLE) == 0)) {
        for (int32_t ky = p->window.kernel_h; ky > 0; --ky) {
            column = tinyrt_widen(from, run, column);
            from += row_bytes;
        }
        tinyrt_pad_column(taps, column);
        return;
    }
    if (!whole) {
        rows = inside(y0, p->window.kernel_h, p->x.h);
        bytes = inside(first, run, row_bytes);
        tinyrt_fill_words((int8_t)p->x_zp, patch + ((taps + 3) & ~3), patch);
    }
    from += (rows.begin * row_bytes) + bytes.begin;
    int8_t *to = patch + (rows.begin * run) + bytes.begin;
    for (int32_t ky = rows.begin; ky < rows.end; ++ky) {
        copy_run(from, bytes.end - bytes.begin, to);
        from += row_bytes;
        to += run;
    }
    if (column != NULL) {
        /* What is behind the taps meets weights of zero, whatever it is. */
        (void)tinyrt_widen(patch, (taps + 3) & ~3, column);
    }
}
