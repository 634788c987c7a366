/** Vector table, reset and faults. A fault ends the emulation with a message. */
#include <stdint.h>

#include "harness_memory.h"
#include "harness_semihosting.h"

int main(void);
void harness_print_hex(const char *label, uint32_t value);
void harness_count_wrap(void);
void reset(void);
void fault(void);
void report_fault(const uint32_t *frame);

static void enable_fpu(void) {
#ifdef __ARM_FP
    volatile uint32_t *const coprocessor_access = (volatile uint32_t *)0xE000ED88U;
    *coprocessor_access |= 0xFU << 20;
    __asm volatile("dsb\n isb" ::: "memory");
#endif
}

/** Makes running out of stack a fault, where the emulated board ignores writes below its RAM. */
static void guard_stack(void) {
#if __ARM_ARCH >= 8
    __asm volatile("msr msplim, %0" ::"r"(&image_stack_limit));
#elif HARNESS_GUARD_BYTES > 0
    volatile uint32_t *const mpu_control = (volatile uint32_t *)0xE000ED94U;
    volatile uint32_t *const mpu_region = (volatile uint32_t *)0xE000ED98U;
    mpu_region[0] = 0;
    mpu_region[1] = (uint32_t)(uintptr_t)&image_guard;
    mpu_region[2] = 1U | 11U << 1; /* 4096 bytes without access */
    *mpu_control = 5U;             /* on, but for faults; the default map elsewhere */
    __asm volatile("dsb\n isb" ::: "memory");
#endif
}

/** Sets the register through which code finds its table of addresses, and which the harness is
 *  compiled not to use. Offsets count from the section that the linker puts the table into. */
static void set_static_base(void) {
#ifdef HARNESS_STATIC_BASE
    __asm volatile("mov r9, %0" ::"r"(&image_data_begin));
#endif
}

/** Makes loads and stores of words at other addresses than multiples of four faults. */
static void trap_unaligned(void) {
#ifdef HARNESS_TRAP_UNALIGNED
    volatile uint32_t *const configuration = (volatile uint32_t *)0xE000ED14U;
    *configuration |= 1U << 3;
    __asm volatile("dsb\n isb" ::: "memory");
#endif
}

void reset(void) {
    enable_fpu();
    trap_unaligned();
    set_static_base();
    guard_stack();
    copy_data();
    clear_bss();
    main();
    semihosting_exit(SEMIHOSTING_FINISHED);
}

/** frame: what the core pushed: r0-r3, r12, lr, pc, xpsr. */
__attribute__((used)) void report_fault(const uint32_t *frame) {
    if (frame <= &image_stack_limit) {
        semihosting_print("error: the stack is full\n");
        semihosting_exit(SEMIHOSTING_FAILED);
    }
    semihosting_print("error: the processor faulted\n");
    harness_print_hex("fault_pc", frame[6]);
    harness_print_hex("fault_lr", frame[5]);
    harness_print_hex("fault_status", *(volatile uint32_t *)0xE000ED28U);
    semihosting_exit(SEMIHOSTING_FAILED);
}

/** Reports on a fresh stack: the old one may be full. */
__attribute__((naked)) void fault(void) {
    __asm volatile("mrs r0, msp\n"
                   "ldr r1, =image_stack_top\n"
                   "msr msp, r1\n"
                   "ldr r1, =report_fault\n"
                   "bx r1\n");
}

__attribute__((section(".vectors"), used)) static const uintptr_t vectors[] = {
    (uintptr_t)&image_stack_top,
    (uintptr_t)reset,
    (uintptr_t)fault, /* NMI */
    (uintptr_t)fault, /* hard fault */
    (uintptr_t)fault, /* memory management */
    (uintptr_t)fault, /* bus */
    (uintptr_t)fault, /* usage */
    (uintptr_t)fault, /* secure */
    0,
    0,
    0,
    (uintptr_t)fault, /* supervisor call */
    (uintptr_t)fault, /* debug */
    0,
    (uintptr_t)fault, /* pendable service */
    (uintptr_t)harness_count_wrap,
};
