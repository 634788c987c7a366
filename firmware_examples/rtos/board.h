/** What this firmware needs of the board beside its core. */
#ifndef BOARD_H
#define BOARD_H

#include <stdint.h>

#ifndef HANGS_AT
#define HANGS_AT 1000 /* the image at which the task hangs: never */
#endif

/** Starts the watchdog, or its time anew: if this is not called again within twice that time, the
 *  board begins from its reset. */
void feed_watchdog(uint32_t milliseconds);

/** The board's NMI. */
void watchdog_interrupt(void);

/** Whether the board began by its watchdog rather than by power. */
int was_reset_by_watchdog(void);

#endif
