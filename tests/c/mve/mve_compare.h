/** Comparisons, predicates, and choices by them. */
#ifndef MVE_COMPARE_H
#define MVE_COMPARE_H

#include "mve_types.h"

/** The bits of all bytes of a lane. */
#define MVE_BITS_OF(s, i) (((1U << MVE_BYTES(s)) - 1U) << ((i) * MVE_BYTES(s)))

#define MVE_PREDICATE(s, name, parameters, condition)                                              \
    MVE_FUNCTION mve_pred16_t name parameters {                                                    \
        unsigned bits = 0;                                                                         \
        for (int i = 0; i < MVE_LANES(s); ++i) {                                                   \
            bits |= (condition) ? MVE_BITS_OF(s, i) : 0U;                                          \
        }                                                                                          \
        return (mve_pred16_t)bits;                                                                 \
    }

/** Of two vectors, and of a vector and a scalar: there also with no bits where p has none. */
#define MVE_COMPARED(s, name, op)                                                                  \
    MVE_PREDICATE(s, name##_##s, (mve_##s a, mve_##s b), a[i] op b[i])                             \
    MVE_PREDICATE(s, name##_n_##s, (mve_##s a, mve_lane_##s b), a[i] op b)                         \
    MVE_FUNCTION mve_pred16_t name##_m_n_##s(mve_##s a, mve_lane_##s b, mve_pred16_t p) {          \
        return (mve_pred16_t)(name##_n_##s(a, b) & p);                                             \
    }

#define MVE_EQUAL(s) MVE_COMPARED(s, vcmpeqq, ==) MVE_COMPARED(s, vcmpneq, !=)
#define MVE_ORDERED(s)                                                                             \
    MVE_COMPARED(s, vcmpltq, <)                                                                    \
    MVE_COMPARED(s, vcmpleq, <=)                                                                   \
    MVE_COMPARED(s, vcmpgtq, >)                                                                    \
    MVE_COMPARED(s, vcmpgeq, >=)
#define MVE_ORDERED_UNSIGNED(s) MVE_COMPARED(s, vcmphiq, >) MVE_COMPARED(s, vcmpcsq, >=)
MVE_INTEGERS(MVE_EQUAL)
MVE_SIGNED(MVE_ORDERED)
MVE_UNSIGNED(MVE_ORDERED_UNSIGNED)
MVE_ORDERED(f32)

/** The first n lanes. */
MVE_PREDICATE(u8, vctp8q, (uint32_t n), (uint32_t)i < n)
MVE_PREDICATE(u16, vctp16q, (uint32_t n), (uint32_t)i < n)
MVE_PREDICATE(u32, vctp32q, (uint32_t n), (uint32_t)i < n)

MVE_FUNCTION mve_pred16_t vpnot(mve_pred16_t p) {
    return (mve_pred16_t)~p;
}

/** a where p has bits, else b. */
#define MVE_CHOICE(s)                                                                              \
    MVE_FUNCTION mve_##s vpselq_##s(mve_##s a, mve_##s b, mve_pred16_t p) {                        \
        mve_merge(&b, &a, p);                                                                      \
        return b;                                                                                  \
    }
MVE_INTEGERS(MVE_CHOICE)
MVE_CHOICE(f32)

#endif
