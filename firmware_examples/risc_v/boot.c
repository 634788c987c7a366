/** What runs before main on the emulated board: a stack, and a .bss that is cleared. On a real
 * board, the vendor's start-up code takes the place of this file and of board.ld. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

extern char bss_begin[], bss_end[];
extern int main(void);

void reset(void);
void start(void);

/** The first instructions, which no C may come before: there is no stack. */
__attribute__((naked, used, section(".vectors"))) void reset(void) {
    __asm volatile(".option arch, +zicsr\n"
                   "la sp, stack_top\n"
                   "la t0, trap\n"
                   "csrw mtvec, t0\n"
                   "j start\n"
                   ".balign 4\n"
                   "trap: j trap\n");
}

__attribute__((used)) void start(void) {
    memset(bss_begin, 0, (size_t)(bss_end - bss_begin));
    exit(main());
}
