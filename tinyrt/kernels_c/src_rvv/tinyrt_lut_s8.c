#include "tinyrt_lut.h"

#include "tinyrt_vectors.h"

void tinyrt_lut_s8(const int8_t *table, int32_t size, const int8_t *x, int8_t *y) {
#ifdef TINYRT_VECTORS
    if (size > 0) {
        __asm volatile("1:\n"
                       "vsetvli t0, %[size], e8, m8, ta, ma\n"
                       "vle8.v v0, (%[x])\n"
                       "vluxei8.v v8, (%[table]), v0\n"
                       "vse8.v v8, (%[y])\n"
                       "sub %[size], %[size], t0\n"
                       "add %[x], %[x], t0\n"
                       "add %[y], %[y], t0\n"
                       "bnez %[size], 1b\n"
                       : [x] "+r"(x), [y] "+r"(y), [size] "+r"(size)
                       : [table] "r"(table)
                       : "t0", "memory" TINYRT_CLOBBERED);
    }
#else
    for (const int8_t *const end = x + size; x != end; ++x, ++y) {
        *y = table[(uint8_t)*x];
    }
#endif
}
