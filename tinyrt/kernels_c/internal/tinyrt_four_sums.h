/** The sums of four pixels that three words hold. */
#ifndef TINYRT_FOUR_SUMS_H
#define TINYRT_FOUR_SUMS_H

#include "tinyrt_triple.h"

/** A channel's sums of four pixels, from the three that hold them: in the low 24 bits of the first
 *  three, and 256 times as large.
 *
 *  Of the first one, the low 24 bits are the first pixel's sum s0. What is left is 2^24 times the
 *  low byte of the fourth one's, s3. The second one is less by 2^16 times that byte: what then is
 *  left beside s1 is the next byte of s3. The third one gives its last byte in the same way. */
static inline void tinyrt_take_apart(const int32_t *sums, uint32_t *pixels) {
    const uint32_t first = (uint32_t)sums[0];
    const uint32_t low = first - (uint32_t)((int32_t)(first << 8) >> 8);
    const uint32_t second = (uint32_t)sums[1] - (low >> 8);
    const uint32_t middle = second - (uint32_t)((int32_t)(second << 8) >> 8);
    const uint32_t bytes = (low >> 16) + (middle >> 8);
    const uint32_t third = (uint32_t)sums[2] - bytes;
    pixels[0] = first;
    pixels[1] = second;
    pixels[2] = third;
    pixels[3] = (third - (uint32_t)((int32_t)(third << 8) >> 8)) + bytes;
}

/** What the sums of all channels begin with: nothing. */
static inline void tinyrt_begin_plain(const int32_t *triples, int32_t taps, int32_t *all) {
    (void)triples;
    (void)taps;
    all[0] = 0;
    all[1] = 0;
    all[2] = 0;
}

#define TINYRT_LESS_TRIPLE                                                                         \
    "ldmia %[x]!, {r4, r5, r6}\n"                                                                  \
    "subs %[first], r4\n"                                                                          \
    "subs %[second], r5\n"                                                                         \
    "subs %[third], r6\n"

/** The same for weights that are raised by 128: without what that adds, 128 times all words.
 * Requires: taps is a multiple of two, and not 0. */
static inline void tinyrt_begin_raised(const int32_t *triples, int32_t taps, int32_t *all) {
    const int32_t *const end = triples + (TINYRT_TRIPLE * taps);
    uint32_t first = 0;
    uint32_t second = 0;
    uint32_t third = 0;
#if defined(TINYRT_THUMB_ASSEMBLY) && (__ARM_ARCH_ISA_THUMB == 1)
    /* Compilers load one word at a time. */
    __asm(".syntax unified\n"
          "1:\n" TINYRT_LESS_TRIPLE TINYRT_LESS_TRIPLE "cmp %[x], %[end]\n"
          "bne 1b\n"
          : [x] "+l"(triples), [first] "+l"(first), [second] "+l"(second), [third] "+l"(third)
          : [end] "h"(end)
          : "cc", "memory", "r4", "r5", "r6");
#else
    while (triples != end) {
        first -= (uint32_t)*triples++;
        second -= (uint32_t)*triples++;
        third -= (uint32_t)*triples++;
    }
#endif
    all[0] = (int32_t)(first << 7);
    all[1] = (int32_t)(second << 7);
    all[2] = (int32_t)(third << 7);
}

/** The same, of what a part before this one has kept behind the words of all taps. */
static inline void tinyrt_begin_kept(const int32_t *triples, int32_t taps, int32_t *all) {
    const int32_t *const kept = triples + (TINYRT_TRIPLE * taps);
    all[0] = kept[0];
    all[1] = kept[1];
    all[2] = kept[2];
}

#endif
