/* What the driver knows of each model of a batch. */
#ifndef DRIVER_H
#define DRIVER_H

#include <stddef.h>

typedef struct {
    const char *name;
    int (*invoke)(void *const *ports, void *arena, void *state);
    int (*reset)(void *state);
    size_t arena_bytes;
    size_t arena_alignment;
    size_t state_bytes;
    size_t inputs;
    size_t outputs;
    const size_t *bytes; /* of the inputs, then of the outputs */
} entry_t;

extern const entry_t *const entries[];
extern const size_t entry_count;

#endif
