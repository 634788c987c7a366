/** Hears words in raw 16 kHz audio and prints them.
 *
 *  The model's file carries its front end, so the exported code takes samples: features, network
 * and decisions are one call. A file stands for the microphone here; on a board, a DMA interrupt
 *  hands over one block after the other. */
#include <stdint.h>
#include <stdio.h>

#include "keywords_audio.h"

#define BLOCK 320 /* samples that the microphone delivers at a time: 20 ms */
#define HEADER 44 /* bytes before the samples of a WAV file */

static const char *const labels[KEYWORDS_OUTPUT_0_BYTES] = {
    "silence", "another word", "yes", "no", "stop", "go",
};

static _Alignas(KEYWORDS_ARENA_ALIGNMENT) uint8_t arena[KEYWORDS_ARENA_BYTES];
static _Alignas(KEYWORDS_AUDIO_STATE_ALIGNMENT) uint8_t state[KEYWORDS_AUDIO_STATE_BYTES];
static int16_t block[BLOCK];

static long heard_samples;

static void print_answer(const keywords_heard_t *heard) {
    const int8_t *const scores = (const int8_t *)arena + KEYWORDS_OUTPUT_0_OFFSET;
    printf("%7ld:", heard_samples);
    for (int i = 0; i < KEYWORDS_OUTPUT_0_BYTES; ++i) {
        printf(" %4d", scores[i]);
    }
    printf("%s%s\n", heard->detected >= 0 ? "  " : "",
           heard->detected >= 0 ? labels[heard->detected] : "");
}

/** One block of samples: as many answers as come with it, at most one here. */
static int listen(const int16_t *samples, int32_t count) {
    const keywords_io_t in_arena = {0};
    keywords_heard_t heard;
    for (int32_t at = 0; at < count; at += heard.used) {
        const int status =
            keywords_push_audio(samples + at, count - at, &heard, &in_arena, arena, state);
        if (status != 0) {
            return status;
        }
        heard_samples += heard.used;
        if (heard.is_answered) {
            print_answer(&heard);
        }
    }
    return 0;
}

int main(void) {
    FILE *const microphone = fopen("words.wav", "rb");
    if (microphone == NULL || fseek(microphone, HEADER, SEEK_SET) != 0) {
        printf("there is no words.wav\n");
        return 1;
    }
    int status = keywords_reset_audio(state);
    size_t count;
    while (status == 0 && (count = fread(block, sizeof *block, BLOCK, microphone)) > 0) {
        status = listen(block, (int32_t)count);
    }
    if (status != 0) {
        printf("the model did not run: status %d\n", status);
    }
    return status;
}
