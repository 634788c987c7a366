/* Reads windows of features and writes them normalized: see test_standard.py. */
#include <stdio.h>
#include <stdlib.h>

#include "tinyrt_standard.h"

static void *room(size_t count, size_t size) {
    void *const made = calloc((count > 0) ? count : 1, size);
    if (made == NULL) {
        exit(3);
    }
    return made;
}

int main(void) {
    int32_t head[4];
    while (fread(head, sizeof *head, 4, stdin) == 4) {
        const tinyrt_standard_params p = {head[0], head[1], head[2], (uint16_t)head[3]};
        const size_t row = (size_t)p.size, all = (size_t)p.rows * row;
        uint16_t *const window = room(all, sizeof *window);
        int32_t *const y = room(row, sizeof *y);
        tinyrt_standard_group *const groups = room((size_t)p.groups, sizeof *groups);
        if (fread(window, sizeof *window, all, stdin) != all) {
            return 2;
        }
        tinyrt_standard(&p, window, groups);
        for (size_t i = 0; i < all; i += row) {
            tinyrt_standard_row(&p, groups, window + i, y);
            fwrite(y, sizeof *y, row, stdout);
        }
        free(groups);
        free(y);
        free(window);
    }
    return 0;
}
