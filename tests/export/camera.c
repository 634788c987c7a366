/* What misuse is answered with, then frames from stdin, the first half of them line by line: for
 * each whether there is an answer, its boxes and all scores. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eyes_camera.h"

enum { bytes = EYES_FRAME_LINES * EYES_LINE_BYTES, stride = EYES_LINE_BYTES + 3 };

static int8_t *arena, *state;
static eyes_io_t io;
static eyes_seen_t seen;

static int misuse(const uint8_t *line) {
    const int all[] = {
        eyes_reset_camera(NULL),
        eyes_reset_camera(state + 1),
        eyes_push_line(line, &seen, &io, arena, NULL),
        eyes_push_line(line, &seen, &io, arena, state + 1),
        eyes_push_line(line, &seen, NULL, arena, state),
        eyes_push_line(line, &seen, &io, NULL, state),
        eyes_push_line(line, &seen, &io, arena + 1, state),
        eyes_push_line(NULL, &seen, &io, arena, state),
        eyes_push_line(line, NULL, &io, arena, state),
        eyes_push_frame(NULL, stride, &seen, &io, arena, state),
        eyes_push_frame(line, stride, NULL, &io, arena, state),
        eyes_push_frame(line, stride, &seen, &io, arena, NULL),
    };
    return fwrite(all, sizeof all, 1, stdout) != 1;
}

/** Whether there is one answer, with a line before the last or the last. */
static int by_lines(const uint8_t *frame) {
    eyes_seen_t each;
    int answers = 0;
    for (int i = 0; i < EYES_FRAME_LINES; ++i) {
        if (eyes_push_line(frame + i * EYES_LINE_BYTES, &each, &io, arena, state) != 0) {
            return -1;
        }
        if (each.is_answered) {
            seen = each;
            ++answers;
        }
    }
    return answers;
}

static int by_frame(const uint8_t *frame) {
    uint8_t *const wide = malloc(EYES_FRAME_LINES * stride);
    for (int i = 0; i < EYES_FRAME_LINES; ++i) {
        memcpy(wide + i * stride, frame + i * EYES_LINE_BYTES, EYES_LINE_BYTES);
    }
    const int status = eyes_push_frame(wide, stride, &seen, &io, arena, state);
    free(wide);
    return status == 0 ? seen.is_answered : -1;
}

int main(void) {
    uint8_t *const frame = malloc(bytes);
    arena = aligned_alloc(16, (EYES_ARENA_BYTES + 15) / 16 * 16);
    state = aligned_alloc(16, (EYES_CAMERA_STATE_BYTES + 15) / 16 * 16);
    memset(state, 0xA5, EYES_CAMERA_STATE_BYTES);
    memset(frame, 0, bytes);
    int status = misuse(frame) || eyes_reset_camera(state);
    /* A frame that breaks off; the next one begins anew. */
    status = status || eyes_push_line(frame, &seen, &io, arena, state) || eyes_reset_camera(state);
    for (int i = 0; status == 0 && fread(frame, bytes, 1, stdin) == 1; ++i) {
        memset(&seen, 0, sizeof seen);
        const int answers = i % 2 ? by_frame(frame) : by_lines(frame);
        status = answers != 1;
#ifdef EYES_MOST_BOXES
        memset(seen.boxes + seen.count, 0, (size_t)(EYES_MOST_BOXES - seen.count) * 12);
#endif
        fwrite(&seen, sizeof seen, 1, stdout);
        fwrite(arena + EYES_OUTPUT_0_OFFSET, EYES_OUTPUT_0_BYTES, 1, stdout);
    }
    free(state);
    free(arena);
    free(frame);
    return status;
}
