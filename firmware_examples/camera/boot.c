/** What runs before main on the emulated board: a vector table and a reset that enables the FPU and
 *  clears .bss. On a real board, the vendor's start-up code takes the place of this file and of the
 *  linker script. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "board.h"

extern char stack_top[], bss_begin[], bss_end[];
extern void initialise_monitor_handles(void); /* newlib: connects files to the debugger */
extern int main(void);

void reset(void);

void reset(void) {
    *(volatile uint32_t *)0xE000ED88U |= 0xFU << 20; /* CPACR: FPU */
    __asm volatile("dsb\n isb" ::: "memory");
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
    [6] = (uintptr_t)fault,     [7] = (uintptr_t)fault, [15] = (uintptr_t)line_interrupt,
};

/* The pixels of frames.npy: what is behind its 128 bytes of header. */
__asm(".section .rodata\n"
      ".balign 2\n"
      ".global frames, frames_end\n"
      "frames: .incbin \"frames.npy\", 128\n"
      "frames_end:\n"
      ".text\n");
