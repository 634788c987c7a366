/** Classifies ten handwritten digits and prints what it sees. */
#include <stdio.h>

#include "digits.h"
#include "images.h"

#define PIXELS DIGITS_INPUT_0_BYTES
#define CLASSES DIGITS_OUTPUT_0_BYTES
#define INK 16.0F /* the pixel value that the model knows as 1.0 */

static _Alignas(DIGITS_ARENA_ALIGNMENT) int8_t arena[DIGITS_ARENA_BYTES];
static int8_t *const input = arena + DIGITS_INPUT_0_OFFSET;
static const int8_t *const scores = arena + DIGITS_OUTPUT_0_OFFSET;

static int most_likely_class(void) {
    int best = 0;
    for (int i = 1; i < CLASSES; ++i) {
        best = scores[i] > scores[best] ? i : best;
    }
    return best;
}

int main(void) {
    const digits_io_t in_arena = {0};
    for (int n = 0; n < 10; ++n) {
        const uint8_t *pixels = &images[n][0][0];
        for (int i = 0; i < PIXELS; ++i) {
            input[i] = digits_quantize_f32((float)pixels[i] / INK);
        }
        if (digits_invoke(&in_arena, arena) != 0) {
            printf("the model did not run\n");
            return 1;
        }
        const int digit = most_likely_class();
        const int certainty = (int)(100.0F * digits_dequantize_f32(scores[digit]));
        printf("image %d: this is a %d (%d %%), scores", n, digit, certainty);
        for (int i = 0; i < CLASSES; ++i) {
            printf(" %d", scores[i]);
        }
        printf("\n");
    }
    return 0;
}
