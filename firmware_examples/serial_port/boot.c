/** What runs before main on the emulated board: a vector table, and a reset that clears .bss.
 *  On a real board, the vendor's start-up code takes the place of this file and of board.ld. */
#include <stdint.h>

extern uint32_t stack_top[], bss_begin[], bss_end[];
extern int main(void);
extern void timer_wrapped(void);

void reset(void);

void reset(void) {
    for (volatile uint32_t *word = bss_begin; word != bss_end; ++word) {
        *word = 0;
    }
    main();
    for (;;) {
    }
}

static void fault(void) {
    for (;;) {
    }
}

__attribute__((section(".vectors"), used)) static const uintptr_t vectors[16] = {
    (uintptr_t)stack_top, (uintptr_t)reset, (uintptr_t)fault, (uintptr_t)fault,
    (uintptr_t)fault,     (uintptr_t)fault, (uintptr_t)fault, [15] = (uintptr_t)timer_wrapped,
};
