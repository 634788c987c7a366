/** Runs every sample of inputs.bin through the model on this machine.
 *
 *  Files are those of the emulated harness; report.txt has no counts. The model works in blocks
 *  of memory with a canary on both sides, checked after every inference. */
/* Where there are several models, each has this file to itself, and files of its own. */
#ifndef HARNESS_MODEL
#define HARNESS_MODEL "harness_model.h"
#define HARNESS_PART ""
#endif

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include HARNESS_MODEL

#define ARENA_FILL 0xA5
#define CANARY_FILL 0x3C

#ifdef HARNESS_SHARED
/* Models that take turns define it each; the linker keeps one, as large as the largest. */
#define memory harness_memory
uint8_t memory[HARNESS_MEMORY_BYTES] __attribute__((common, aligned(64)));
#else
static uint8_t memory[HARNESS_MEMORY_BYTES] __attribute__((aligned(64)));
#endif

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
    for (uint32_t block = 0; block < HARNESS_BLOCKS; ++block) {
        const uint8_t *const start = memory + harness_blocks[block].offset;
        const uint8_t *const end = start + harness_blocks[block].bytes;
        for (uint32_t i = 0; i < HARNESS_CANARY_BYTES; ++i) {
            if (start[-1 - (int32_t)i] != CANARY_FILL) {
                fail("the model wrote before the start of its arena");
            }
            if (end[i] != CANARY_FILL) {
                fail("the model wrote behind the end of its arena");
            }
        }
    }
}

/** 0 at the end of the file. */
static int read_inputs(FILE *file) {
    for (uint32_t i = 0; i < HARNESS_INPUTS; ++i) {
        const harness_place *place = &harness_inputs[i];
        if (fread(memory + place->offset, 1, place->bytes, file) != place->bytes) {
            return 0;
        }
    }
    return 1;
}

static void write_outputs(FILE *file) {
    for (uint32_t i = 0; i < HARNESS_OUTPUTS; ++i) {
        const harness_place *place = &harness_outputs[i];
        if (fwrite(memory + place->offset, 1, place->bytes, file) != place->bytes) {
            fail("outputs.bin cannot be written");
        }
    }
}

int main(void) {
    FILE *const inputs = open_file("inputs" HARNESS_PART ".bin", "rb");
    FILE *const outputs = open_file("outputs" HARNESS_PART ".bin", "wb");
    memset(memory, CANARY_FILL, HARNESS_MEMORY_BYTES);
    for (uint32_t block = 0; block < HARNESS_BLOCKS; ++block) {
        memset(memory + harness_blocks[block].offset, ARENA_FILL, harness_blocks[block].bytes);
    }
    harness_reset(memory);
    while (read_inputs(inputs)) {
        if (harness_invoke(memory) != 0) {
            fail("the model's invoke function returned an error");
        }
        check_canaries();
        write_outputs(outputs);
    }
    FILE *const report = open_file("report" HARNESS_PART ".txt", "w");
    fprintf(report, "arena_bytes %x\n", (unsigned)HARNESS_ARENA_BYTES);
    return fclose(outputs) != 0 || fclose(report) != 0;
}
