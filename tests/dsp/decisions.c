/* Reads rows of scores from stdin and writes what each of them detects, as int32. Before the first
 * one it writes what misuse is answered with. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "detector.h"

int main(void) {
    int8_t *const state = malloc(DETECTOR_STATE_BYTES);
    int8_t *const scores = malloc(DETECTOR_CLASSES);
    int32_t detected = 0;
    const int misuse[] = {
        detector_reset(NULL),
        detector_reset(state + 1),
        detector_push(scores, &detected, NULL),
        detector_push(scores, &detected, state + 1),
        detector_push(NULL, &detected, state),
        detector_push(scores, NULL, state),
    };
    fwrite(misuse, sizeof misuse, 1, stdout);
    /* Before a reset memory holds anything. */
    memset(state, 0x55, DETECTOR_STATE_BYTES);
    int status = detector_reset(state);
    while (status == 0 && fread(scores, 1, DETECTOR_CLASSES, stdin) == DETECTOR_CLASSES) {
        status = detector_push(scores, &detected, state);
        fwrite(&detected, sizeof detected, 1, stdout);
    }
    free(scores);
    free(state);
    return status;
}
