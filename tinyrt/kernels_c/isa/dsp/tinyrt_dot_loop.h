/** Sums over columns in assembly, where this is included, once for each format of weights: as the
 *  functions TINYRT_DOT_ONE of one column and TINYRT_DOT_TWO of two, and TINYRT_DOT_SPAN of two,
 * too. TINYRT_FOUR_BYTES takes four taps of one column in TINYRT_FOUR_BYTES_CODE bytes of code,
 * TINYRT_TWO_TAPS two taps of two columns in TINYRT_TWO_TAPS_CODE bytes;
 * TINYRT_TWO_TAPS_HELD takes them with a register less. */

static inline const int32_t *TINYRT_DOT_ONE(const int32_t *w, const tinyrt_single *x, int32_t taps,
                                            int32_t *acc) {
    const tinyrt_single *const end = x + taps;
    const int32_t skip = tinyrt_skipped(taps, TINYRT_FOUR_BYTES_CODE / 4);
    int32_t a0 = acc[0], a1 = acc[1], a2 = acc[2], a3 = acc[3];
    uint32_t x0, x1, w0, w1;
    (void)skip;
    __asm(TINYRT_ENTER("%[w0]") TINYRT_LOOP_OF(TINYRT_FOUR_BYTES) "cmp %[x], %[end]\n"
                                                                  "bne 1b\n"
          : [a0] "+r"(a0), [a1] "+r"(a1), [a2] "+r"(a2), [a3] "+r"(a3), [w] "+r"(w), [x] "+r"(x),
            [x0] "=&r"(x0), [x1] "=&r"(x1), [w0] "=&r"(w0), [w1] "=&r"(w1)
          : [end] "r"(end)TINYRT_SKIP(skip)
          : "cc", "memory");
    acc[0] = a0, acc[1] = a1, acc[2] = a2, acc[3] = a3;
    return w;
}

/* In assembly because it takes every register that there is: compilers keep more of the sums on the
 * stack. clang keeps one register for itself, which the loop takes all the same, and puts what may
 * be in memory there. */
static inline const int32_t *TINYRT_DOT_SPAN(const int32_t *w, const tinyrt_taps_word *columns,
                                             const tinyrt_span *span, int32_t *acc) {
    int32_t a0 = acc[0], a1 = acc[1], a2 = acc[2], a3 = acc[3];
    int32_t b0 = acc[4], b1 = acc[5], b2 = acc[6], b3 = acc[7];
#ifdef __clang__
    uint32_t x0 = (uint32_t)span->skip, w0 = (uint32_t)(uintptr_t)span->end, x1;
    __asm(TINYRT_WITH_FREE(
              TINYRT_SUMS_OF_TWO ", %[w], %[x], %[x0], %[x1], %[w0]",
              "strd free, %[w0], [sp, #-8]!\n" TINYRT_IF_FREE(
                  TINYRT_ENTER_BY("%[x0]") TINYRT_LOOP_OF(TINYRT_TWO_TAPS TINYRT_TWO_TAPS),
                  "1:\n.rept 2\n" TINYRT_TWO_TAPS_HELD ".endr\n") "ldr %[w0], [sp, #4]\n"
                                                                  "cmp %[x], %[w0]\n"
                                                                  "bne 1b\n"
                                                                  "ldr free, [sp], #8\n")
          : [a0] "+r"(a0), [a1] "+r"(a1), [a2] "+r"(a2), [a3] "+r"(a3), [b0] "+r"(b0),
            [b1] "+r"(b1), [b2] "+r"(b2), [b3] "+r"(b3), [w] "+r"(w), [x] "+r"(columns),
            [x0] "+r"(x0), [x1] "=&r"(x1), [w0] "+r"(w0)
          :
          : "cc", "memory");
#else
    uint32_t x0, x1, w0, w1;
    TINYRT_OPAQUE(a2, a3);
    TINYRT_OPAQUE(b2, b3);
    __asm(TINYRT_FLEXIBLE_LOOP("%[a2]%[a3]%[b2]%[b3]", "%[w0]", TINYRT_TWO_TAPS TINYRT_TWO_TAPS)
          : [a0] "+r"(a0), [a1] "+r"(a1), [a2] "+rm"(a2), [a3] "+rm"(a3), [b0] "+r"(b0),
            [b1] "+r"(b1), [b2] "+rm"(b2), [b3] "+rm"(b3), [w] "+r"(w), [x] "+r"(columns),
            [x0] "=&r"(x0), [x1] "=&r"(x1), [w0] "=&r"(w0), [w1] "=&r"(w1)
          : [end] "m"(span->end)TINYRT_SKIP(span->skip)
          : "cc", "memory");
#endif
    acc[0] = a0, acc[1] = a1, acc[2] = a2, acc[3] = a3;
    acc[4] = b0, acc[5] = b1, acc[6] = b2, acc[7] = b3;
    return w;
}

static inline const int32_t *TINYRT_DOT_TWO(const int32_t *w, const tinyrt_taps_word *columns,
                                            int32_t taps, int32_t *acc) {
    const tinyrt_span span = {columns + taps, tinyrt_skipped(taps, TINYRT_TWO_TAPS_CODE / 2)};
    return TINYRT_DOT_SPAN(w, columns, &span, acc);
}

#undef TINYRT_DOT_ONE
#undef TINYRT_DOT_TWO
#undef TINYRT_DOT_SPAN
#undef TINYRT_FOUR_BYTES
#undef TINYRT_FOUR_BYTES_CODE
#undef TINYRT_TWO_TAPS
#undef TINYRT_TWO_TAPS_HELD
#undef TINYRT_TWO_TAPS_CODE
