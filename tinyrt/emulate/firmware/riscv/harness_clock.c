#include "harness_clock.h"

/** The counter of retired instructions. */
static inline uint32_t count(void) {
    uint32_t low;
    __asm volatile("csrr %0, minstret" : "=r"(low)::"memory");
    return low;
}

static uint32_t start;

/** There is no timer to poll: every instruction is counted, and the delay changes nothing. */
__attribute__((noinline)) void harness_clock_start(uint32_t delay) {
    (void)delay;
    start = count();
}

__attribute__((noinline)) harness_time harness_clock_stop(void) {
    return (harness_time){count() - start, 0};
}

__attribute__((noinline)) void harness_calibration_loop(void) {
    uint32_t turns = HARNESS_CALIBRATION_INSTRUCTIONS / 2;
    __asm volatile("1: addi %0, %0, -1\n"
                   "   bnez %0, 1b\n"
                   : "+r"(turns));
}
