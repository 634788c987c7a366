/** What runs before main on the emulated board: a vector table and a reset that clears .bss. On a
 *  real board, the vendor's start-up code takes the place of this file and of the linker script. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

__attribute__((section(".vectors"), used)) static const uintptr_t vectors[] = {
    (uintptr_t)stack_top, (uintptr_t)reset, (uintptr_t)fault, (uintptr_t)fault,
    (uintptr_t)fault,     (uintptr_t)fault, (uintptr_t)fault,
};

/* The samples of recording.npy: what is behind its 128 bytes of header. */
__asm(".section .rodata\n"
      ".balign 2\n"
      ".global recording, recording_end\n"
      "recording: .incbin \"recording.npy\", 128\n"
      "recording_end:\n"
      ".text\n");
