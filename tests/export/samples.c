/* Reads pieces of samples of several axes, each behind its number, and writes each answer: how many
 * samples there had been by then, what is detected, the first output. A piece of -1 begins anew. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arm_samples.h"

static unsigned char *arena, *state;

static int push(const int16_t *samples, int32_t count, int32_t *by_now) {
    const arm_io_t io = {0};
    for (int32_t at = 0; at < count;) {
        arm_heard_t heard;
        const int status =
            arm_push_samples(samples + at * ARM_AXES, count - at, &heard, &io, arena, state);
        if (status != 0) {
            return status;
        }
        at += heard.used;
        *by_now += heard.used;
        if (heard.is_answered) {
            fwrite(by_now, sizeof *by_now, 1, stdout);
            fwrite(&heard.detected, sizeof heard.detected, 1, stdout);
            fwrite(arena + ARM_OUTPUT_0_OFFSET, 1, ARM_OUTPUT_0_BYTES, stdout);
        }
    }
    return 0;
}

int main(void) {
    arena = aligned_alloc(ARM_ARENA_ALIGNMENT, (ARM_ARENA_BYTES + 15) / 16 * 16);
    state = aligned_alloc(ARM_SAMPLES_STATE_ALIGNMENT, ARM_SAMPLES_STATE_BYTES);
    memset(state, 0x5A, ARM_SAMPLES_STATE_BYTES);
    int32_t count, by_now = 0;
    int status = arm_reset_samples(state);
    while (status == 0 && fread(&count, sizeof count, 1, stdin) == 1) {
        if (count < 0) {
            by_now = 0;
            status = arm_reset_samples(state);
            continue;
        }
        const size_t numbers = (size_t)count * ARM_AXES;
        int16_t *const samples = malloc(numbers > 0 ? numbers * sizeof *samples : 1);
        status = fread(samples, sizeof *samples, numbers, stdin) != numbers;
        status = status == 0 ? push(samples, count, &by_now) : status;
        free(samples);
    }
    free(state);
    free(arena);
    return status;
}
