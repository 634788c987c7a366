/** Runs every sample of inputs.bin through the model on this machine.
 *
 *  Files are those of the emulated harness; report.txt has no counts. The model works in an arena
 *  with a canary on both sides, checked after every inference. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness_model.h"

#define CANARY_BYTES 64
#define ARENA_FILL 0xA5
#define CANARY_FILL 0x3C

static uint8_t guarded[CANARY_BYTES + HARNESS_ARENA_BYTES + CANARY_BYTES]
    __attribute__((aligned(64)));
static uint8_t *const arena = guarded + CANARY_BYTES;

static void fail(const char *message) {
    fprintf(stderr, "error: %s\n", message);
    exit(1);
}

static FILE *open_file(const char *name, const char *mode) {
    FILE *file = fopen(name, mode);
    if (file == NULL) {
        perror(name);
        exit(1);
    }
    return file;
}

static void check_canaries(void) {
    for (uint32_t i = 0; i < CANARY_BYTES; ++i) {
        if (guarded[i] != CANARY_FILL) {
            fail("the model wrote before the start of its arena");
        }
        if (arena[HARNESS_ARENA_BYTES + i] != CANARY_FILL) {
            fail("the model wrote behind the end of its arena");
        }
    }
}

/** 0 at the end of the file. */
static int read_inputs(FILE *file) {
    for (uint32_t i = 0; i < HARNESS_INPUTS; ++i) {
        const harness_place *place = &harness_inputs[i];
        if (fread(arena + place->offset, 1, place->bytes, file) != place->bytes) {
            return 0;
        }
    }
    return 1;
}

static void write_outputs(FILE *file) {
    for (uint32_t i = 0; i < HARNESS_OUTPUTS; ++i) {
        const harness_place *place = &harness_outputs[i];
        if (fwrite(arena + place->offset, 1, place->bytes, file) != place->bytes) {
            fail("outputs.bin cannot be written");
        }
    }
}

int main(void) {
    FILE *const inputs = open_file("inputs.bin", "rb");
    FILE *const outputs = open_file("outputs.bin", "wb");
    memset(guarded, CANARY_FILL, sizeof guarded);
    memset(arena, ARENA_FILL, HARNESS_ARENA_BYTES);
    while (read_inputs(inputs)) {
        if (harness_invoke(arena) != 0) {
            fail("the model's invoke function returned an error");
        }
        check_canaries();
        write_outputs(outputs);
    }
    FILE *const report = open_file("report.txt", "w");
    fprintf(report, "arena_bytes %x\n", (unsigned)HARNESS_ARENA_BYTES);
    return fclose(outputs) != 0 || fclose(report) != 0;
}
