/* Reads cameras from stdin, each with frames, and writes the rows that these make. All memory is as
 * large as it has to be. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tinyrt_camera.h"

typedef int32_t taking(const tinyrt_camera_params *, const uint8_t *, void *, uint8_t *);

static taking *const all[] = {
    tinyrt_camera_area_bytes,     tinyrt_camera_area_rgb565,     tinyrt_camera_area_yuv422,
    tinyrt_camera_bilinear_bytes, tinyrt_camera_bilinear_rgb565, tinyrt_camera_bilinear_yuv422,
};

static void *read_all(size_t nbytes) {
    void *const made = malloc(nbytes);
    if (fread(made, 1, nbytes, stdin) != nbytes) {
        exit(1);
    }
    return made;
}

int main(void) {
    int32_t head[18];
    while (fread(head, sizeof head, 1, stdin) == 1) {
        const int32_t frames = head[14], line_bytes = head[15];
        const size_t down = 2 * (size_t)head[16], across = 2 * (size_t)head[17];
        uint16_t *const tables[] = {read_all(down), read_all(down), read_all(across),
                                    read_all(across)};
        const tinyrt_camera_params params = {
            head[1],
            head[2],
            head[3],
            head[4],
            head[5],
            head[6],
            head[7],
            head[8],
            head[9],
            head[10],
            {(uint8_t)head[11], (uint8_t)head[12], (uint8_t)head[13]},
            tables[0],
            tables[1],
            tables[2],
            tables[3],
        };
        const size_t size = (size_t)(params.columns * params.channels);
        const size_t state_bytes = sizeof(tinyrt_camera_state) + 4 * size;
        void *const state = malloc(state_bytes);
        memset(state, 0xA5, state_bytes);
        memset(state, 0, sizeof(tinyrt_camera_state));
        uint8_t *const row = malloc(size);
        for (int32_t i = 0; i < frames * params.height; ++i) {
            uint8_t *const line = read_all((size_t)line_bytes);
            while (all[head[0]](&params, line, state, row) != 0) {
                fwrite(row, 1, size, stdout);
            }
            free(line);
        }
        free(row);
        free(state);
        for (int32_t i = 0; i < 4; ++i) {
            free(tables[i]);
        }
    }
    return 0;
}
