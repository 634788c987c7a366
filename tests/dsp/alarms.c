/* Reads inputs and their reconstructions from stdin and writes what each is answered with. Before
 * the first one it writes what misuse is answered with. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "anomaly.h"

int main(void) {
    int8_t *const state = malloc(ANOMALY_STATE_BYTES);
    int8_t *const x = malloc(ANOMALY_SIZE);
    int8_t *const y = malloc(ANOMALY_SIZE);
    uint64_t error = 0;
    int32_t is_alarm = 0;
    const int misuse[] = {
        anomaly_reset(NULL),
        anomaly_reset(state + 1),
        anomaly_push(x, y, &error, &is_alarm, NULL),
        anomaly_push(x, y, &error, &is_alarm, state + 1),
        anomaly_push(NULL, y, &error, &is_alarm, state),
        anomaly_push(x, NULL, &error, &is_alarm, state),
        anomaly_push(x, y, NULL, &is_alarm, state),
        anomaly_push(x, y, &error, NULL, state),
    };
    fwrite(misuse, sizeof misuse, 1, stdout);
    /* Before a reset memory holds anything. */
    memset(state, 0x55, ANOMALY_STATE_BYTES);
    int status = anomaly_reset(state);
    while (status == 0 && fread(x, 1, ANOMALY_SIZE, stdin) == ANOMALY_SIZE &&
           fread(y, 1, ANOMALY_SIZE, stdin) == ANOMALY_SIZE) {
        status = anomaly_push(x, y, &error, &is_alarm, state);
        fwrite(&error, sizeof error, 1, stdout);
        fwrite(&is_alarm, sizeof is_alarm, 1, stdout);
    }
    free(y);
    free(x);
    free(state);
    return status;
}
