/** Where the linker puts an image, and what is to be in memory before main. */
#ifndef HARNESS_MEMORY_H
#define HARNESS_MEMORY_H

#include <stdint.h>

extern uint32_t image_guard;
extern uint32_t image_stack_limit;
extern uint32_t image_stack_top;
extern uint32_t image_data_load;
extern uint32_t image_data_begin;
extern uint32_t image_data_end;
extern uint32_t image_bss_begin;
extern uint32_t image_bss_end;

static void copy_data(void) {
    const uint32_t *from = &image_data_load;
    for (uint32_t *to = &image_data_begin; to < &image_data_end;) {
        *to++ = *from++;
    }
}

static void clear_bss(void) {
    for (uint32_t *to = &image_bss_begin; to < &image_bss_end;) {
        *to++ = 0;
    }
}

#endif
