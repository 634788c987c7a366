/** Takes updates of its model: two slots, one in use and one that updates are written into. A bad
 *  update changes nothing. Arrays stand for the flash, files for the line that updates come over.
 */
#include <stdio.h>
#include <string.h>

#include "digits.h"
#include "digits_blob.h"
#include "images.h"

#define INK 16.0F   /* the pixel value that the model knows as 1.0 */
#define MIN_RIGHT 8 /* of ten digits, which a model has to tell before it is used */
#define PACKET 256

static _Alignas(DIGITS_BLOB_ALIGNMENT) uint8_t slots[2][DIGITS_BLOB_BYTES];
static digits_handle_t models[2];
static int used;

static _Alignas(DIGITS_ARENA_ALIGNMENT) int8_t arena[DIGITS_ARENA_BYTES];
static const int8_t *const scores = arena + DIGITS_OUTPUT_0_OFFSET;

static int run(const digits_handle_t *model, const uint8_t *pixels) {
    for (int i = 0; i < DIGITS_INPUT_0_BYTES; ++i) {
        arena[DIGITS_INPUT_0_OFFSET + i] = digits_quantize_f32(model, (float)pixels[i] / INK);
    }
    return digits_invoke(model, &(digits_io_t){0}, arena);
}

/** Digits that the model tells, of 0 to 9. */
static int count_right(const digits_handle_t *model) {
    int right = 0;
    for (int n = 0; n < 10 && run(model, &images[n][0][0]) == 0; ++n) {
        int best = 0;
        for (int i = 1; i < DIGITS_OUTPUT_0_BYTES; ++i) {
            best = scores[i] > scores[best] ? i : best;
        }
        right += best == n;
    }
    return right;
}

static void print_answers(void) {
    for (int n = 0; n < 10 && run(&models[used], &images[n][0][0]) == 0; ++n) {
        printf("revision %u, digit %d:", (unsigned)digits_revision(&models[used]), n);
        for (int i = 0; i < DIGITS_OUTPUT_0_BYTES; ++i) {
            printf(" %d", scores[i]);
        }
        printf("\n");
    }
}

/** Writes what arrives into a slot, packet by packet; how many bytes came. */
static size_t receive(const char *name, uint8_t *slot) {
    static uint8_t packet[PACKET];
    size_t size = 0, count;
    FILE *const line = fopen(name, "rb");
    while (line != NULL && (count = fread(packet, 1, PACKET, line)) > 0) {
        if (size + count <= DIGITS_BLOB_BYTES) {
            memcpy(slot + size, packet, count);
        }
        size += count;
    }
    if (line != NULL) {
        fclose(line);
    }
    return size;
}

/** Into the slot that is not in use; which one is used changes last. */
static void update(const char *name) {
    const int other = 1 - used;
    digits_handle_t model = {0};
    memset(slots[other], 0xFF, DIGITS_BLOB_BYTES);
    const size_t size = receive(name, slots[other]);
    const int status = digits_open(&model, slots[other], size);
    if (status != 0) {
        printf("%s: refused, status %d\n", name, status);
    } else if (digits_revision(&model) <= digits_revision(&models[used])) {
        printf("%s: refused, it is no newer\n", name);
    } else if (count_right(&model) < MIN_RIGHT) {
        printf("%s: refused, it tells too few digits\n", name);
    } else {
        models[other] = model;
        used = other;
        printf("%s: taken\n", name);
    }
}

int main(void) {
    memcpy(slots[0], digits_blob, DIGITS_BLOB_BYTES);
    if (digits_open(&models[0], slots[0], DIGITS_BLOB_BYTES) != 0) {
        return 1;
    }
    print_answers();
    update("damaged.blob");
    update("short.blob");
    update("missing.blob");
    print_answers();
    update("update.blob");
    print_answers();
    update("update.blob");
    return 0;
}
