/** Instruction counts, from the SysTick timer or from a core's own counter.
 *
 *  QEMU's -icount shift=0 makes one instruction one nanosecond, so a timer tick is a fixed number
 *  of instructions. A measurement starts at a tick's edge and polls for the edge after the end;
 *  ticks and polls together give the count to HARNESS_POLL_INSTRUCTIONS. Repeating it with delays
 *  of 0, 3, 6, ... instructions before the start moves the end through all phases of the polling
 *  loop, and the mean over the repetitions is exact. A core with a counter of instructions has no
 *  polls. */
#ifndef HARNESS_CLOCK_H
#define HARNESS_CLOCK_H

#include <stdint.h>

/** Instructions of one turn of the polling loop. */
#define HARNESS_POLL_INSTRUCTIONS 4

/** Instructions of the calibration loop. */
#define HARNESS_CALIBRATION_INSTRUCTIONS 4000000U

/** The time of one call: (ticks * instructions per tick) - (polls * poll instructions). */
typedef struct {
    uint32_t ticks;
    uint32_t polls;
} harness_time;

/** Times one call; delay lengthens what is timed by 3 * (delay + 1) instructions. */
harness_time harness_time_call(void (*function)(void), uint32_t delay);

/** The two halves of harness_time_call: what lies between them is timed. */
void harness_clock_start(uint32_t delay);
harness_time harness_clock_stop(void);

/** A function of HARNESS_CALIBRATION_INSTRUCTIONS instructions, give or take two. */
void harness_calibration_loop(void);

#endif
