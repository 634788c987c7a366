/* Reads pieces of samples, each behind its number, and writes each answer: how many samples had
 * been heard by then, what is detected, the first output. A piece of -1 begins anew, one of -2
 * writes what misuse is answered with. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ears_audio.h"

static unsigned char *arena, *state;

static int misuse(void) {
    const ears_io_t io = {0};
    ears_heard_t heard;
    const int16_t x = 0;
    const int all[] = {
        ears_reset_audio(NULL),
        ears_reset_audio(state + 4),
        ears_push_audio(&x, 1, &heard, &io, arena, NULL),
        ears_push_audio(&x, 1, &heard, &io, arena, state + 4),
        ears_push_audio(&x, 1, &heard, NULL, arena, state),
        ears_push_audio(&x, 1, &heard, &io, NULL, state),
        ears_push_audio(&x, 1, &heard, &io, arena + 8, state),
        ears_push_audio(NULL, 1, &heard, &io, arena, state),
        ears_push_audio(&x, 1, NULL, &io, arena, state),
        ears_push_audio(&x, -1, &heard, &io, arena, state),
    };
    return fwrite(all, sizeof all, 1, stdout) != 1;
}

static int push(const int16_t *samples, int32_t count, int32_t *heard_by_now) {
    const ears_io_t io = {0};
    for (int32_t at = 0; at < count;) {
        ears_heard_t heard;
        const int status = ears_push_audio(samples + at, count - at, &heard, &io, arena, state);
        if (status != 0) {
            return status;
        }
        at += heard.used;
        *heard_by_now += heard.used;
        if (heard.is_answered) {
            fwrite(heard_by_now, sizeof *heard_by_now, 1, stdout);
            fwrite(&heard.detected, sizeof heard.detected, 1, stdout);
            fwrite(arena + EARS_OUTPUT_0_OFFSET, 1, EARS_OUTPUT_0_BYTES, stdout);
        } else if (at < count || heard.detected != -1) {
            return -1;
        }
    }
    return 0;
}

int main(void) {
    arena = aligned_alloc(EARS_ARENA_ALIGNMENT, (EARS_ARENA_BYTES + 15) / 16 * 16);
    state = aligned_alloc(EARS_AUDIO_STATE_ALIGNMENT, EARS_AUDIO_STATE_BYTES);
    memset(state, 0x5A, EARS_AUDIO_STATE_BYTES);
    int32_t count, heard_by_now = 0;
    int status = ears_reset_audio(state);
    while (status == 0 && fread(&count, sizeof count, 1, stdin) == 1) {
        if (count < 0) {
            heard_by_now = 0;
            status = count == -1 ? ears_reset_audio(state) : misuse();
            continue;
        }
        int16_t *const samples = malloc(count > 0 ? (size_t)count * sizeof *samples : 1);
        status = fread(samples, sizeof *samples, (size_t)count, stdin) != (size_t)count;
        status = status == 0 ? push(samples, count, &heard_by_now) : status;
        free(samples);
    }
    free(state);
    free(arena);
    return status;
}
