/** Finds digits in a camera's frames, line by line: no frame is ever held.
 *
 *  An interrupt takes a line from the sensor into a ring of lines, while main pushes those that are
 *  there. The model's file carries its camera and its boxes, so the exported code takes lines of
 *  RGB565: greys, resizing, network and non-maximum suppression are one call. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "board.h"
#include "finder_camera.h"

#define FRAMES_A_SECOND 15
#define LINES 8 /* of the ring, a power of two: 4 ms */

static _Alignas(FINDER_ARENA_ALIGNMENT) uint8_t arena[FINDER_ARENA_BYTES];
static _Alignas(FINDER_CAMERA_STATE_ALIGNMENT) uint8_t state[FINDER_CAMERA_STATE_BYTES];

static uint8_t ring[LINES][FINDER_LINE_BYTES];
static volatile uint32_t taken, pushed; /* lines, by the interrupt and by main */
static volatile int is_late, is_over;

static const uint8_t *next_line = frames;

/** A line of the sensor: on a real board, its DMA is done. */
void line_interrupt(void) {
    if (is_over) {
        return;
    }
    if (next_line == frames_end) {
        is_over = 1;
        return;
    }
    if (taken - pushed == LINES) {
        is_late = 1; /* no room: main has not kept up */
        return;
    }
    memcpy(ring[taken % LINES], next_line, FINDER_LINE_BYTES);
    next_line += FINDER_LINE_BYTES;
    ++taken;
}

static void print_boxes(const finder_seen_t *seen) {
    static int frame;
    printf("frame %d: %d digits\n", frame++, (int)seen->count);
    for (int i = 0; i < seen->count; ++i) {
        const finder_box_t *const box = &seen->boxes[i];
        printf("  a %d, score %4d, at %3d to %3d down, %3d to %3d across\n", box->label, box->score,
               box->top, box->bottom, box->left, box->right);
    }
}

int main(void) {
    const finder_io_t in_arena = {0};
    finder_seen_t seen;
    int status = finder_reset_camera(state);
    start_timer(CLOCK_HZ / FRAMES_A_SECOND / FINDER_FRAME_LINES);
    while (status == 0 && !is_late) {
        while (taken == pushed && !is_over) {
            sleep_while_equal(&taken, pushed);
        }
        if (taken == pushed) {
            return 0;
        }
        status = finder_push_line(ring[pushed % LINES], &seen, &in_arena, arena, state);
        ++pushed;
        if (status == 0 && seen.is_answered) {
            print_boxes(&seen);
        }
    }
    printf(is_late ? "a line came too early\n" : "the model did not run: status %d\n", status);
    return 1;
}
