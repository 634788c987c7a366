/** Reset and traps. A trap ends the emulation with a message. */
#include <stdint.h>

#include "harness_memory.h"
#include "harness_semihosting.h"

int main(void);
void harness_print_hex(const char *label, uint32_t value);
void reset(void);
void start(void);
void trap(void);
void report_trap(uint32_t address);

/** Makes running out of stack a trap, in machine mode, too: a locked region of 4096 bytes without
 *  access, a power of two at an address that is its multiple. */
static void guard_stack(void) {
    const uint32_t region = ((uint32_t)(uintptr_t)&image_guard >> 2) | (4096U / 8 - 1);
    __asm volatile("csrw pmpaddr0, %0\n"
                   "csrw pmpcfg0, %1\n" ::"r"(region),
                   "r"(0x98U)
                   : "memory");
}

__attribute__((used)) void start(void) {
    guard_stack();
    copy_data();
    clear_bss();
    main();
    semihosting_exit(SEMIHOSTING_FINISHED);
}

__attribute__((used)) void report_trap(uint32_t address) {
    uint32_t cause;
    uint32_t pc;
    __asm volatile("csrr %0, mcause" : "=r"(cause));
    __asm volatile("csrr %0, mepc" : "=r"(pc));
    if (address >= (uint32_t)(uintptr_t)&image_guard &&
        address < (uint32_t)(uintptr_t)&image_stack_limit) {
        semihosting_print("error: the stack is full\n");
        semihosting_exit(SEMIHOSTING_FAILED);
    }
    semihosting_print("error: the processor faulted\n");
    harness_print_hex("fault_pc", pc);
    harness_print_hex("fault_cause", cause);
    harness_print_hex("fault_address", address);
    semihosting_exit(SEMIHOSTING_FAILED);
}

/** Reports on a fresh stack: the old one may be full. */
__attribute__((naked, aligned(4))) void trap(void) {
    __asm volatile("csrr a0, mtval\n"
                   "la sp, image_stack_top\n"
                   "j report_trap\n");
}

__attribute__((naked, section(".vectors"), used)) void reset(void) {
    __asm volatile("la sp, image_stack_top\n"
                   "la t0, trap\n"
                   "csrw mtvec, t0\n"
                   "csrwi mcountinhibit, 0\n"
                   "li t0, 0x600\n" // vectors, on cores that have them
                   "csrs mstatus, t0\n"
                   "j start\n");
}
