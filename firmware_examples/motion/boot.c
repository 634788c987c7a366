/** What runs before main on the emulated boards: a vector table and a reset that clears .bss. On a
 *  real board, the vendor's start-up code takes the place of this file and of the linker script. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "board.h"

extern char stack_top[], bss_begin[], bss_end[];
extern void initialise_monitor_handles(void); /* newlib: connects files to the debugger */
extern int main(void);

void reset(void);

void reset(void) {
    memset(bss_begin, 0, (size_t)(bss_end - bss_begin));
    initialise_monitor_handles();
    exit(main());
}

static void fault(void) {
    abort();
}

__attribute__((section(".vectors"), used)) static const uintptr_t vectors[16] = {
    [0] = (uintptr_t)stack_top, [1] = (uintptr_t)reset, [2] = (uintptr_t)fault,
    [3] = (uintptr_t)fault,     [4] = (uintptr_t)fault, [5] = (uintptr_t)fault,
    [6] = (uintptr_t)fault,     [7] = (uintptr_t)fault, [15] = (uintptr_t)timer_interrupt,
};

/* The samples of recording.npy: what is behind its 128 bytes of header. */
__asm(".section .rodata\n"
      ".balign 2\n"
      ".global recording, recording_end\n"
      "recording: .incbin \"recording.npy\", 128\n"
      "recording_end:\n"
      ".text\n");
