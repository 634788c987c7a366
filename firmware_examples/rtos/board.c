/** The watchdog of Arm's MPS2 boards (CMSDK), and what FreeRTOS calls. */
#include "board.h"

#include <stdlib.h>

#include "FreeRTOS.h"
#include "task.h"

#define WATCHDOG_LOAD (*(volatile uint32_t *)0x40008000U)
#define WATCHDOG_CONTROL (*(volatile uint32_t *)0x40008008U)
#define WATCHDOG_CLEAR (*(volatile uint32_t *)0x4000800CU)
#define RUN_AND_RESET 3U

#define RESET_AND_INTERRUPTS (*(volatile uint32_t *)0xE000ED0CU) /* the core's AIRCR */
#define RESET_KEY 0x05FA0004U

#define MARK 0x57A7C4D0U

/** Four bytes behind what board.ld gives the program: they survive a reset. Most chips have a
 * register that says what the last reset came from. */
#define KEPT (*(volatile uint32_t *)0x2007FFF0U)

void feed_watchdog(uint32_t milliseconds) {
    WATCHDOG_CLEAR = 1;
    WATCHDOG_LOAD = milliseconds * (configCPU_CLOCK_HZ / 1000U);
    WATCHDOG_CONTROL = RUN_AND_RESET;
}

/** Nobody has fed the watchdog: the place to note what a report needs. Where this does not run any
 *  more, either, the watchdog's second time is a reset by itself. */
void watchdog_interrupt(void) {
    KEPT = MARK;
    WATCHDOG_CLEAR = 1;
    RESET_AND_INTERRUPTS = RESET_KEY;
    for (;;) {
    }
}

int was_reset_by_watchdog(void) {
    const int is_marked = KEPT == MARK;
    KEPT = 0;
    return is_marked;
}

/** Nothing to do: the core sleeps until the next interrupt. */
void vApplicationIdleHook(void) {
    __asm volatile("wfi");
}

void vApplicationStackOverflowHook(TaskHandle_t task, char *name) {
    (void)task;
    (void)name;
    abort();
}
