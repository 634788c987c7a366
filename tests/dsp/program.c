/* Reads pieces of samples, each behind its number, from stdin and writes rows of features. A piece
 * of -1 samples begins anew, one of -2 writes what misuse is answered with. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "front_end.h"

static int answers(void) {
    static uint64_t memory[2];
    int8_t *const odd = (int8_t *)memory + 1;
    const int16_t x = 0;
    front_end_feature_t y;
    int32_t used, full;
    const int all[] = {
        front_end_reset(NULL),
        front_end_reset(odd),
        front_end_push_audio(&x, 1, &used, &full, &y, NULL, memory),
        front_end_push_audio(&x, 1, &used, &full, &y, odd, memory),
        front_end_push_audio(&x, 1, &used, &full, &y, memory, NULL),
        front_end_push_audio(&x, 1, &used, &full, &y, memory, odd),
        front_end_push_audio(NULL, 1, &used, &full, &y, memory, memory),
        front_end_push_audio(&x, 1, NULL, &full, &y, memory, memory),
        front_end_push_audio(&x, 1, &used, NULL, &y, memory, memory),
        front_end_push_audio(&x, 1, &used, &full, NULL, memory, memory),
        front_end_push_audio(&x, -1, &used, &full, &y, memory, memory),
    };
    return fwrite(all, sizeof all, 1, stdout) != 1;
}

int main(void) {
    void *const state = malloc(FRONT_END_STATE_BYTES);
    void *const work = malloc(FRONT_END_WORK_BYTES);
    front_end_feature_t *const features = malloc(FRONT_END_FEATURES * sizeof *features);
    /* Before a reset memory holds anything. */
    memset(state, 0x55, FRONT_END_STATE_BYTES);
    memset(work, 0x55, FRONT_END_WORK_BYTES);
    int status = front_end_reset(state);
    int32_t count;
    while (status == 0 && fread(&count, sizeof count, 1, stdin) == 1) {
        if (count < 0) {
            status = count == -1 ? front_end_reset(state) : answers();
            continue;
        }
        int16_t *const samples = malloc(count > 0 ? (size_t)count * sizeof *samples : 1);
        status = fread(samples, sizeof *samples, (size_t)count, stdin) != (size_t)count;
        for (int32_t at = 0, used, full; status == 0 && at < count; at += used) {
            status =
                front_end_push_audio(samples + at, count - at, &used, &full, features, state, work);
            if (full) {
                fwrite(features, sizeof *features, FRONT_END_FEATURES, stdout);
            }
        }
        free(samples);
    }
    free(features);
    free(work);
    free(state);
    return status;
}
