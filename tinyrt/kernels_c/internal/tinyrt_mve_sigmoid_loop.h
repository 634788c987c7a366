/** A function of int16 values by the table, eight at a time, as the function TINYRT_KERNEL, where
 *  this is included. Positions are in steps of 1 / 2^TINYRT_BITS of an entry. The function of 0 is
 *  TINYRT_MIDDLE. TINYRT_PART multiplies a slope by how far behind an entry a position lies, in
 *  2^16ths, and TINYRT_LESS takes that from the entry, which is what is to be taken from
 *  TINYRT_MIDDLE: an instruction each, whose intrinsics are those of ..._PART_OF and ..._LESS_OF.
 */
#ifndef TINYRT_MVE_SIGMOID_LOOP_H
#define TINYRT_MVE_SIGMOID_LOOP_H

#include "tinyrt_mve.h"
#include "tinyrt_sigmoid_s16.h"

#define TINYRT_TEXT_OF(number) #number
#define TINYRT_TEXT(number) TINYRT_TEXT_OF(number)

/** An even number of values. What lies beyond the table's end is what lies right before it. */
static TINYRT_NOINLINE void tinyrt_mve_even_values(const tinyrt_sigmoid_s16_params *p,
                                                   const int16_t *x, int16_t *y, int32_t count) {
    const int16_t *const table = p->table + 1;
    const int16x8_t mult = vdupq_n_s16((int16_t)p->mult);
    const int32x4_t last = vdupq_n_s32((255 << TINYRT_BITS) - 1);
    const int32_t left = -p->right;
#if TINYRT_ASM_LOOPS
    /* Words are of two values: with an odd number of these, half of the last one would be left out.
     */
    __asm volatile(
        "wlstp.16 lr, %[count], 2f\n"
        "1:\n"
        "vldrh.u16 q0, [%[x]], #16\n"
        "vmullb.s16 q1, q0, %q[mult]\n"
        "vmullt.s16 q2, q0, %q[mult]\n"
        "vrshl.s32 q1, %[left]\n"
        "vrshl.s32 q2, %[left]\n"
        "vabs.s32 q1, q1\n"
        "vabs.s32 q2, q2\n"
        "vmin.s32 q1, q1, %q[last]\n"
        "vmin.s32 q2, q2, %q[last]\n"
        "vshr.s16 q3, q0, #15\n"
        "vshrnb.i32 q0, q1, #" TINYRT_TEXT(
            TINYRT_BITS) "\n"
                         "vshrnt.i32 q0, q2, #" TINYRT_TEXT(
                             TINYRT_BITS) "\n"
                                          "vmovnt.i32 q1, q2\n"
                                          "vldrh.u16 q2, [%[table], q0, uxtw #1]\n"
                                          "vldrh.u16 q4, [%[second], q0, uxtw #1]\n"
                                          "vshl.i16 q1, q1, #16 - " TINYRT_TEXT(
                                              TINYRT_BITS) "\n"
                                                           "vsub.i16 q4, q2, q4\n" TINYRT_PART
                                                           " q1, q4, q1\n" TINYRT_LESS
                                                           " q2, q2, q1\n"
                                                           "veor q2, q2, q3\n"
                                                           "vsub.i16 q3, q3, q2\n" TINYRT_ADD_MIDDLE
                                                           "vstrh.16 q3, [%[y]], #16\n"
                                                           "letp lr, 1b\n"
                                                           "2:\n"
        : [x] "+l"(x), [y] "+l"(y)
        : [count] "r"(count), [mult] "w"(mult), [last] "w"(last), [left] "r"(left),
          [table] "r"(table), [second] "r"(table + 1), [middle] "r"(TINYRT_MIDDLE)
        : "lr", "q0", "q1", "q2", "q3", "q4", "memory");
#else
    for (; count > 0; count -= 8) {
        const mve_pred16_t lanes = vctp16q((uint32_t)count);
        const int16x8_t value = vldrhq_z_s16(x, lanes);
        const int32x4_t even = vrshlq_n_s32(vmullbq_int_s16(value, mult), left);
        const int32x4_t odd = vrshlq_n_s32(vmulltq_int_s16(value, mult), left);
        const int32x4_t evens = vminq_s32(vabsq_s32(even), last);
        const int32x4_t odds = vminq_s32(vabsq_s32(odd), last);
        const uint16x8_t index = vreinterpretq_u16_s16(
            vshrntq_n_s32(vshrnbq_n_s32(value, evens, TINYRT_BITS), odds, TINYRT_BITS));
        const int16x8_t low = vmovntq_s32(vreinterpretq_s16_s32(evens), odds);
        const uint16x8_t rest = vshlq_n_u16(vreinterpretq_u16_s16(low), 16 - TINYRT_BITS);
        const int16x8_t first = vldrhq_gather_shifted_offset_s16(table, index);
        const int16x8_t second = vldrhq_gather_shifted_offset_s16(table + 1, index);
        const uint16x8_t slope = vreinterpretq_u16_s16(vsubq_s16(first, second));
        const int16x8_t part = vreinterpretq_s16_u16(TINYRT_PART_OF(slope, rest));
        const int16x8_t sign = vshrq_n_s16(value, 15);
        const int16x8_t less = veorq_s16(TINYRT_LESS_OF(first, part), sign);
        vstrhq_p_s16(y, vaddq_n_s16(vsubq_s16(sign, less), TINYRT_MIDDLE), lanes);
        x += 8;
        y += 8;
    }
#endif
}

void TINYRT_KERNEL(const tinyrt_sigmoid_s16_params *p, const int16_t *x, int16_t *y) {
    const int32_t even = p->size & ~1;
    int16_t last[2] = {x[p->size - 1], 0};
    tinyrt_mve_even_values(p, x, y, even);
    if (even != p->size) {
        tinyrt_mve_even_values(p, last, last, 2);
        y[even] = last[0];
    }
}

#endif
