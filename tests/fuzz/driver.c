/* Runs the models of a batch, each RUNS times: inputs from standard input, outputs to standard
 * output. Every tensor, the arena and the state are heap blocks of exactly their size, so that the
 * address sanitizer sees any access beside them. The argument says at which model to begin; which
 * one is at work is written to standard error. */
#include "driver.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PORTS 64

static void *block_of(size_t bytes, size_t alignment) {
    void *block = NULL;
    if (posix_memalign(&block, alignment < sizeof(void *) ? sizeof(void *) : alignment, bytes)) {
        abort();
    }
    memset(block, 0xA5, bytes);
    return block;
}

static void run_once(const entry_t *entry, void *arena, void *state, int is_silent) {
    void *ports[MOST_PORTS];
    for (size_t i = 0; i < entry->inputs + entry->outputs; ++i) {
        ports[i] = block_of(entry->bytes[i], 16);
        if (i < entry->inputs && fread(ports[i], 1, entry->bytes[i], stdin) != entry->bytes[i]) {
            abort();
        }
    }
    const int status = is_silent ? 0 : entry->invoke(ports, arena, state);
    for (size_t i = 0; i < entry->inputs + entry->outputs; ++i) {
        if (i >= entry->inputs && !is_silent) {
            fwrite(ports[i], 1, entry->bytes[i], stdout);
        }
        free(ports[i]);
    }
    if (status != 0) {
        fprintf(stderr, "status %d\n", status);
        abort();
    }
}

int main(int argc, char **argv) {
    const size_t first = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    for (size_t n = 0; n < entry_count; ++n) {
        const entry_t *const entry = entries[n];
        void *const arena = block_of(entry->arena_bytes, entry->arena_alignment);
        void *const state = block_of(entry->state_bytes, 4);
        if (entry->reset != NULL) {
            (void)entry->reset(state);
        }
        if (n >= first) {
            fprintf(stderr, "model %zu\n", n);
        }
        for (int run = 0; run < RUNS; ++run) {
            run_once(entry, arena, state, n < first);
        }
        fflush(stdout);
        free(arena);
        free(state);
    }
    return 0;
}
