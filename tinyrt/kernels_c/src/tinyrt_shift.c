#include "tinyrt_shift.h"

#include "tinyrt_copy_all.h"

/* Small C libraries move byte by byte; windows are long enough for this to matter. */
#ifdef __GNUC__
typedef int32_t __attribute__((may_alias)) word;
#else
typedef int32_t word;
#endif

void tinyrt_shift(int32_t kept_bytes, int32_t x_bytes, const void *TINYRT_RESTRICT x,
                  void *TINYRT_RESTRICT window) {
    int8_t *to = window;
    const int8_t *from = to + x_bytes;
    const int8_t *const end = from + kept_bytes;
    for (; (end - from) >= 16; from += 16, to += 16) {
        const word *const source = (const void *)from;
        word *const target = (void *)to;
        const word a = source[0];
        const word b = source[1];
        const word c = source[2];
        const word d = source[3];
        target[0] = a;
        target[1] = b;
        target[2] = c;
        target[3] = d;
    }
    for (; from < end; ++from, ++to) {
        *to = *from;
    }
    tinyrt_copy_all(x, (size_t)x_bytes, to);
}
