/** What runs before main on the emulated board: a vector table with the interrupts of FreeRTOS, a
 *  reset that enables the FPU and clears .bss. On a real board, the vendor's start-up code takes
 * the place of this file and of the linker script. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

extern char stack_top[], bss_begin[], bss_end[];
extern void initialise_monitor_handles(void); /* newlib: connects files to the debugger */
extern int main(void);
extern void vPortSVCHandler(void), xPortPendSVHandler(void), xPortSysTickHandler(void);
extern void watchdog_interrupt(void);

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
    (uintptr_t)stack_top,
    (uintptr_t)reset,
    (uintptr_t)watchdog_interrupt,
    (uintptr_t)fault,
    (uintptr_t)fault,
    (uintptr_t)fault,
    (uintptr_t)fault,
    [11] = (uintptr_t)vPortSVCHandler,
    [14] = (uintptr_t)xPortPendSVHandler,
    [15] = (uintptr_t)xPortSysTickHandler,
};
