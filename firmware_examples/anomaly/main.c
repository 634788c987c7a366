/** Watches a blood pressure and sounds an alarm where it is not as it was.
 *
 *  The model is an autoencoder, whose file carries its front end and its threshold, so the exported
 *  code takes samples: features, network and alarm are one call. A recording stands for the sensor
 *  here; on a board, its FIFO says by an interrupt that it is full. */
#include <stdint.h>
#include <stdio.h>

#include "pressure_samples.h"

#define FIFO 32 /* samples that the sensor holds */

extern const int16_t recording[], recording_end[];

static _Alignas(PRESSURE_ARENA_ALIGNMENT) uint8_t arena[PRESSURE_ARENA_BYTES];
static _Alignas(PRESSURE_SAMPLES_STATE_ALIGNMENT) uint8_t state[PRESSURE_SAMPLES_STATE_BYTES];

/** What the sensor holds now: returns how many samples, 0 at the end. */
static int32_t read_fifo(int16_t *samples) {
    static const int16_t *next = recording;
    int32_t count = 0;
    while (count < FIFO && next != recording_end) {
        samples[count++] = *next++;
    }
    return count;
}

static void on_answer(long samples, const pressure_heard_t *heard) {
    static int was_alarm;
    /* Errors are compared as integers; their unit makes a number for people of one. */
    const long thousandths = (long)((double)heard->error * (PRESSURE_ERROR_SCALE * 1000));
    printf("%6ld: %ld.%03ld", samples, thousandths / 1000, thousandths % 1000);
    if (heard->is_alarm != was_alarm) {
        /* On a board, here a light goes on or off. */
        printf(heard->is_alarm ? "  alarm" : "  all is well");
    }
    printf("\n");
    was_alarm = heard->is_alarm;
}

static int listen(const int16_t *samples, int32_t count) {
    static long samples_by_now;
    const pressure_io_t in_arena = {0};
    pressure_heard_t heard;
    for (int32_t at = 0; at < count; at += heard.used) {
        const int status =
            pressure_push_samples(samples + at, count - at, &heard, &in_arena, arena, state);
        if (status != 0) {
            return status;
        }
        samples_by_now += heard.used;
        if (heard.is_answered) {
            on_answer(samples_by_now, &heard);
        }
    }
    return 0;
}

int main(void) {
    static int16_t fifo[FIFO];
    int status = pressure_reset_samples(state);
    int32_t count;
    while (status == 0 && (count = read_fifo(fifo)) > 0) {
        status = listen(fifo, count);
    }
    if (status != 0) {
        printf("the model did not run: status %d\n", status);
    }
    return status;
}
