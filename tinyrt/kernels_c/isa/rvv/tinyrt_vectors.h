/** Assembly for vectors of RISC-V: integers of up to 32 bits, registers of any length. Kernels
 *  have a form in C as well, for compilers that are not told of vectors. */
#ifndef TINYRT_VECTORS_H
#define TINYRT_VECTORS_H

#include "tinyrt_types.h"

#if defined(TINYRT_ASM) && defined(__riscv_vector)
#define TINYRT_VECTORS

/** All registers; compilers that do not know their names leave them alone. */
#if defined(__clang__) || __GNUC__ >= 14
#define TINYRT_CLOBBERED                                                                           \
    , "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13",      \
        "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", \
        "v27", "v28", "v29", "v30", "v31", "vl", "vtype", "vxrm"
#else
#define TINYRT_CLOBBERED
#endif

/** As many bytes, halves or words: of two, four and eight registers, or of half as many. */
#define TINYRT_WIDE_BYTES "vsetvli zero, zero, e8, m2, ta, ma\n"
#define TINYRT_WIDE_HALVES "vsetvli zero, zero, e16, m4, ta, ma\n"
#define TINYRT_WIDE_WORDS "vsetvli zero, zero, e32, m8, ta, ma\n"
#define TINYRT_NARROW_BYTES "vsetvli zero, zero, e8, m1, ta, ma\n"
#define TINYRT_NARROW_HALVES "vsetvli zero, zero, e16, m2, ta, ma\n"
#define TINYRT_NARROW_WORDS "vsetvli zero, zero, e32, m4, ta, ma\n"

/** Steps for the sums of each pixel: the pixel, its products in halves, its sums in words. All lie
 *  behind v0 to v3, the sums behind v15. */
#define TINYRT_ONE_PIXEL(step) step("%[x0]", "v8", "v16")
#define TINYRT_TWO_PIXELS(step) step("%[x0]", "v8", "v16") step("%[x1]", "v12", "v24")
#define TINYRT_FOUR_PIXELS(step)                                                                   \
    step("%[x0]", "v4", "v16") step("%[x1]", "v6", "v20") step("%[x2]", "v8", "v24")               \
        step("%[x3]", "v10", "v28")

#define TINYRT_RAISE(x, products, sums) "vsll.vv " sums ", " sums ", v0\n"
#define TINYRT_MULTIPLY(x, products, sums) "vsmul.vv " sums ", " sums ", v0\n"
/** Divide by the powers of two in v8, rounded, halves away from zero; RISC-V rounds them up, so
 *  that one is taken from negative sums before. Then the zero point, and the limits. */
#define TINYRT_LOWER(x, products, sums)                                                            \
    "vrsub.vx v0, v8, zero\n"                                                                      \
    "vand.vv v0, v0, " sums "\n"                                                                   \
    "vsra.vi v0, v0, 31\n"                                                                         \
    "vsadd.vv " sums ", " sums ", v0\n"                                                            \
    "vssra.vv " sums ", " sums ", v8\n"                                                            \
    "vsadd.vx " sums ", " sums ", %[zp]\n"                                                         \
    "vmax.vx " sums ", " sums ", %[low]\n"                                                         \
    "vmin.vx " sums ", " sums ", %[high]\n"
#define TINYRT_TO_HALVES(x, products, sums) "vnsra.wi " sums ", " sums ", 0\n"
#define TINYRT_STORE(x, products, sums)                                                            \
    "vnsra.wi " sums ", " sums ", 0\n"                                                             \
    "vse8.v " sums ", (%[y])\n"                                                                    \
    "add %[y], %[y], %[stride]\n"

#define TINYRT_RAISE_ALL(pixels, size)                                                             \
    TINYRT_##size##_BYTES "vle8.v v14, (%[shift])\n" TINYRT_##size##_WORDS                         \
        "vsext.vf4 v8, v14\n"                                                                      \
        "vmax.vx v0, v8, zero\n" pixels(TINYRT_RAISE)
#define TINYRT_MULTIPLY_ALL(pixels) "vle32.v v0, (%[mult])\n" pixels(TINYRT_MULTIPLY)
#define TINYRT_LOWER_ALL(pixels)                                                                   \
    "vrsub.vx v8, v8, zero\n"                                                                      \
    "vmax.vx v8, v8, zero\n" pixels(TINYRT_LOWER)
#define TINYRT_STORE_ALL(pixels, size)                                                             \
    TINYRT_##size##_HALVES pixels(TINYRT_TO_HALVES) TINYRT_##size##_BYTES pixels(TINYRT_STORE)

/** Store the sums of pixels that lie stride apart as bytes; v0 to v15 are lost. size is WIDE or
 *  NARROW. Rounding is to nearest (vxrm 0). */
#define TINYRT_FINISH(pixels, size)                                                                \
    TINYRT_RAISE_ALL(pixels, size)                                                                 \
    TINYRT_MULTIPLY_ALL(pixels)                                                                    \
    TINYRT_LOWER_ALL(pixels)                                                                       \
    TINYRT_STORE_ALL(pixels, size)
#endif

#endif
