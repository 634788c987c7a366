/** Two models that take turns in one arena, slice by slice: an image is looked at, then a word is
 *  listened to, and no other work waits longer than a slice. */
#include <stdio.h>

#include "exported_arena.h"
#include "images.h"
#include "spoken.h"
#include "tinyrt/tinyrt_types.h" /* names of statuses */

#define INK 16.0F /* the pixel value that the model knows as 1.0 */

static _Alignas(EXPORTED_ARENA_ALIGNMENT) int8_t arena[EXPORTED_ARENA_BYTES];

/** Whatever else has to be done in time: a radio, a motor, a watchdog. */
static unsigned turns;

static void do_other_work(void) {
    ++turns;
}

static int look(const uint8_t *pixels) {
    digits_slices_t slices;
    for (int i = 0; i < DIGITS_INPUT_0_BYTES; ++i) {
        arena[DIGITS_INPUT_0_OFFSET + i] = digits_quantize_f32((float)pixels[i] / INK);
    }
    int status = digits_begin(&slices, &(digits_io_t){0}, arena);
    if (status == TINYRT_OK) {
        while ((status = digits_step(&slices, 0)) == TINYRT_MORE) {
            do_other_work();
        }
    }
    return status;
}

static int listen(const uint16_t *features) {
    words_slices_t slices;
    for (int i = 0; i < WORDS_INPUT_0_BYTES; ++i) {
        arena[WORDS_INPUT_0_OFFSET + i] = words_quantize_f32(((float)features[i] - 320.0F) / 64.0F);
    }
    int status = words_begin(&slices, &(words_io_t){0}, arena);
    if (status == TINYRT_OK) {
        while ((status = words_step(&slices, 0)) == TINYRT_MORE) {
            do_other_work();
        }
    }
    return status;
}

static void print_scores(const char *what, int number, int offset, int count) {
    printf("%s %d:", what, number);
    for (int i = 0; i < count; ++i) {
        printf(" %d", arena[offset + i]);
    }
    printf(", %u turns of other work\n", turns);
    turns = 0;
}

int main(void) {
    int status = TINYRT_OK;
    for (int n = 0; n < SPOKEN && status == TINYRT_OK; ++n) {
        status = look(&images[n][0][0]);
        if (status == TINYRT_OK) {
            print_scores("digit", n, DIGITS_OUTPUT_0_OFFSET, DIGITS_OUTPUT_0_BYTES);
            status = listen(spoken[n]);
        }
        if (status == TINYRT_OK) {
            print_scores("word", n, WORDS_OUTPUT_0_OFFSET, WORDS_OUTPUT_0_BYTES);
        }
    }
    if (status != TINYRT_OK) {
        printf("a model did not run: status %d\n", status);
    }
    return status;
}
