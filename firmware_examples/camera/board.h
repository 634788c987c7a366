/** What the emulated board has: a timer, sleep, and frames in flash for the sensor. */
#ifndef BOARD_H
#define BOARD_H

#include <stdint.h>

#define CLOCK_HZ 25000000 /* of SysTick */

extern const uint8_t frames[], frames_end[];

/** Called by the timer. */
void line_interrupt(void);

/** Lets SysTick interrupt each so many ticks. */
static inline void start_timer(uint32_t ticks) {
    volatile uint32_t *const systick = (volatile uint32_t *)0xE000E010U;
    systick[1] = ticks - 1;
    systick[2] = 0;
    systick[0] = 7; /* on, with an interrupt, by the core's clock */
}

/** Sleeps while both counts are equal. An interrupt that comes between the look and the sleep ends
 *  the sleep: it waits, masked, until after it. */
static inline void sleep_while_equal(volatile const uint32_t *count, uint32_t other) {
    __asm volatile("cpsid i" ::: "memory");
    if (*count == other) {
        __asm volatile("wfi");
    }
    __asm volatile("cpsie i\n isb" ::: "memory");
}

#endif
