/* What misuse is answered with, then boxes for samples from stdin, each as a count and all boxes
 * that there is room for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "boxes.h"

enum { scores_size = BOXES_ANCHORS * BOXES_CLASSES, codes_size = 4 * BOXES_ANCHORS };

int main(int argc, char **argv) {
    int8_t *const scores = malloc(scores_size), *const codes = malloc(codes_size);
    int8_t *const work = malloc(BOXES_WORK_BYTES);
    boxes_box_t *const found = malloc(BOXES_MOST * sizeof *found);
    int32_t count = 0;
    (void)argv;
    memset(scores, 0, scores_size);
    const int misuse[] = {
        boxes_find(NULL, codes, found, &count, work),
        boxes_find(scores, codes, NULL, &count, work),
        boxes_find(scores, codes, found, NULL, work),
        boxes_find(scores, codes, found, &count, NULL),
        boxes_find(scores, codes, found, &count, work + 1),
    };
    fwrite(misuse, sizeof misuse, 1, stdout);
    while (fread(scores, 1, scores_size, stdin) == scores_size &&
           fread(codes, 1, codes_size, stdin) == codes_size) {
        memset(found, 0, BOXES_MOST * sizeof *found);
        if (boxes_find(scores, argc > 1 ? NULL : codes, found, &count, work) != 0) {
            return 1;
        }
        fwrite(&count, sizeof count, 1, stdout);
        fwrite(found, sizeof *found, BOXES_MOST, stdout);
    }
    free(found);
    free(work);
    free(codes);
    free(scores);
    return 0;
}
