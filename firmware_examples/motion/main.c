/** Tells from an accelerometer what somebody does, and sleeps in between.
 *
 *  A timer's interrupt takes a sample and fills one half of a buffer, while the other half is
 *  looked at. The model's file carries its front end, so the exported code takes samples: features,
 *  network and decisions are one call. A recording stands for the sensor here. */
#include <stdint.h>
#include <stdio.h>

#include "board.h"
#include "movements_samples.h"

#define AXES MOVEMENTS_AXES
#define HALF 5 /* samples of half of the buffer: half a second */

static const char *const labels[MOVEMENTS_OUTPUT_0_BYTES] = {
    "standing",
    "walking",
    "running",
    "badminton",
};

static _Alignas(MOVEMENTS_ARENA_ALIGNMENT) uint8_t arena[MOVEMENTS_ARENA_BYTES];
static _Alignas(MOVEMENTS_SAMPLES_STATE_ALIGNMENT) uint8_t state[MOVEMENTS_SAMPLES_STATE_BYTES];

static int16_t buffer[2][HALF * AXES];
static volatile int is_full[2]; /* set by the interrupt, cleared by who has looked at the half */
static volatile int is_late, is_over;

static const int16_t *next_sample = recording;

/** A sample each 100 ms. */
void timer_interrupt(void) {
    static int half, held;
    if (is_over) {
        return;
    }
    if (next_sample == recording_end) {
        is_over = 1;
        return;
    }
    is_late |= is_full[half]; /* this half has not been looked at yet */
    for (int axis = 0; axis < AXES; ++axis) {
        buffer[half][held * AXES + axis] = *next_sample++;
    }
    if (++held == HALF) {
        is_full[half] = 1;
        half = 1 - half;
        held = 0;
    }
}

static void print_answer(long samples, const movements_heard_t *heard) {
    const int8_t *const scores = (const int8_t *)arena + MOVEMENTS_OUTPUT_0_OFFSET;
    printf("%5ld:", samples);
    for (int i = 0; i < MOVEMENTS_OUTPUT_0_BYTES; ++i) {
        printf(" %4d", scores[i]);
    }
    printf("%s%s\n", heard->detected >= 0 ? "  " : "",
           heard->detected >= 0 ? labels[heard->detected] : "");
}

/** Half of a buffer. */
static int look_at(const int16_t *samples) {
    static long samples_by_now;
    const movements_io_t in_arena = {0};
    movements_heard_t heard;
    for (int32_t at = 0; at < HALF; at += heard.used) {
        const int status =
            movements_push_samples(samples + at * AXES, HALF - at, &heard, &in_arena, arena, state);
        if (status != 0) {
            return status;
        }
        samples_by_now += heard.used;
        if (heard.is_answered) {
            print_answer(samples_by_now, &heard);
        }
    }
    return 0;
}

int main(void) {
    int status = movements_reset_samples(state);
    start_timer(CLOCK_HZ / 10);
    for (int half = 0; status == 0 && !is_late; half = 1 - half) {
        while (!is_full[half] && !is_over) {
            sleep_until_interrupt(&is_full[half]);
        }
        if (!is_full[half]) {
            return 0;
        }
        status = look_at(buffer[half]);
        is_full[half] = 0;
    }
    printf(is_late ? "a sample came too early\n" : "the model did not run: status %d\n", status);
    return 1;
}
