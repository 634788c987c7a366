/** What the emulated boards have: a timer, sleep, and a recording in flash for the sensor. */
#ifndef BOARD_H
#define BOARD_H

#include <stdint.h>

#define CLOCK_HZ 25000000 /* of SysTick; 20 MHz on the M33's board */

extern const int16_t recording[], recording_end[];

/** Called by the timer. */
void timer_interrupt(void);

/** Lets SysTick interrupt each so many ticks. */
static inline void start_timer(uint32_t ticks) {
    volatile uint32_t *const systick = (volatile uint32_t *)0xE000E010U;
    systick[1] = ticks - 1;
    systick[2] = 0;
    systick[0] = 7; /* on, with an interrupt, by the core's clock */
}

/** Sleeps, unless the flag is set by now. An interrupt that comes between the look and the sleep
 *  ends the sleep: it waits, masked, until after it. */
static inline void sleep_until_interrupt(volatile const int *flag) {
    __asm volatile("cpsid i" ::: "memory");
    if (!*flag) {
        __asm volatile("wfi");
    }
    __asm volatile("cpsie i\n isb" ::: "memory");
}

#endif
