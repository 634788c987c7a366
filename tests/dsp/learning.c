/* Reads orders from stdin: a label and features each. A label from 0 is learnt, -1 is scored, -2
 * saves to the slots in turn, -3 loads from both, -4 begins anew. After each, scores and the state
 * follow on stdout. Before the first it writes what misuse is answered with. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learner.h"

static int32_t state[LEARNER_STATE_BYTES / 4];
static uint32_t slots[2][LEARNER_SAVED_BYTES / 4];
static int8_t features[LEARNER_FEATURES];
static int32_t scores[LEARNER_CLASSES];

static void misuse(void) {
    int8_t *const odd = (int8_t *)state + 1;
    uint32_t number = 7;
    const int all[] = {
        learner_reset(NULL),
        learner_reset(odd),
        learner_scores(features, scores, NULL),
        learner_scores(features, scores, odd),
        learner_scores(NULL, scores, state),
        learner_scores(features, NULL, state),
        learner_learn(features, 0, NULL),
        learner_learn(features, 0, odd),
        learner_learn(NULL, 0, state),
        learner_learn(features, -1, state),
        learner_learn(features, LEARNER_CLASSES, state),
        learner_save(0, NULL, state),
        learner_save(0, (int8_t *)slots[0] + 2, state),
        learner_save(0, slots[0], NULL),
        learner_load(slots[0], slots[1], &number, NULL),
        learner_load(slots[0], slots[1], NULL, state),
        learner_load(slots[0], slots[1], &number, state),
        learner_load(NULL, (int8_t *)slots[1] + 1, &number, state),
        (int)number,
    };
    fwrite(all, sizeof all, 1, stdout);
}

int main(void) {
    uint32_t saves = 0;
    int32_t order;
    int status = 0;
    misuse();
    /* Before a reset memory holds anything. */
    memset(state, 0x55, sizeof state);
    status = learner_reset(state);
    while (status == 0 && fread(&order, sizeof order, 1, stdin) == 1) {
        uint32_t number = 0;
        if (fread(features, 1, sizeof features, stdin) != sizeof features) {
            return 1;
        }
        if (order >= 0) {
            status = learner_learn(features, order, state);
        } else if (order == -2) {
            status = learner_save(saves, slots[saves % 2], state);
            ++saves;
        } else if (order == -3) {
            status = learner_load(slots[0], slots[1], &number, state);
            fwrite(&number, sizeof number, 1, stdout);
        } else if (order == -4) {
            status = learner_reset(state);
        }
        status = status != 0 ? status : learner_scores(features, scores, state);
        fwrite(scores, sizeof scores, 1, stdout);
        fwrite(state, sizeof(int32_t), LEARNER_CLASSES * (LEARNER_FEATURES + 1), stdout);
    }
    return status;
}
