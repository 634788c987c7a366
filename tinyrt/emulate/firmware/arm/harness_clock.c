#include "harness_clock.h"

#define SYSTICK_CONTROL (*(volatile uint32_t *)0xE000E010U)
#define SYSTICK_RELOAD (*(volatile uint32_t *)0xE000E014U)
#define SYSTICK_CURRENT ((volatile uint32_t *)0xE000E018U)
#define SYSTICK_RUN 7U /* enabled, with interrupt, from the processor's clock */
#define SYSTICK_MOST 0xFFFFFFU

static volatile uint32_t wraps;
static uint32_t start;

void harness_count_wrap(void);

/** The timer's interrupt. */
void harness_count_wrap(void) {
    wraps = wraps + 1;
}

/** Polls until the timer's value changes; returns the new value and adds to polls. */
static inline uint32_t next_edge(uint32_t *polls) {
    const uint32_t before = *SYSTICK_CURRENT;
    uint32_t now;
    uint32_t count = 0;
    __asm volatile("1: adds %0, #1\n"
                   "   ldr %1, [%2]\n"
                   "   cmp %1, %3\n"
                   "   beq 1b\n"
                   : "+l"(count), "=&l"(now)
                   : "l"(SYSTICK_CURRENT), "l"(before)
                   : "cc", "memory");
    *polls = count;
    return now;
}

static inline void wait(uint32_t turns) {
    __asm volatile("1: nop\n"
                   "   subs %0, #1\n"
                   "   bne 1b\n"
                   : "+l"(turns)
                   :
                   : "cc");
}

__attribute__((noinline)) void harness_clock_start(uint32_t delay) {
    uint32_t unused;
    SYSTICK_RELOAD = SYSTICK_MOST;
    *SYSTICK_CURRENT = 0;
    SYSTICK_CONTROL = SYSTICK_RUN;
    wraps = 0;
    start = next_edge(&unused);
    wait(delay + 1);
}

__attribute__((noinline)) harness_time harness_clock_stop(void) {
    harness_time time;
    const uint32_t end = next_edge(&time.polls);
    SYSTICK_CONTROL = 0;
    time.ticks = wraps * (SYSTICK_MOST + 1) + start - end;
    return time;
}

__attribute__((noinline)) void harness_calibration_loop(void) {
    uint32_t turns = HARNESS_CALIBRATION_INSTRUCTIONS / 2;
    __asm volatile("1: subs %0, #1\n"
                   "   bne 1b\n"
                   : "+l"(turns)
                   :
                   : "cc");
}
