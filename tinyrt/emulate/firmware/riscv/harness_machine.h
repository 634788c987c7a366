/** What the harness asks of a RISC-V core in assembly. */
#ifndef HARNESS_MACHINE_H
#define HARNESS_MACHINE_H

#include <stdint.h>

/** The emulator knows a semihosting call by the two instructions around the break. These must not
 *  be compressed, nor lie on two pages. */
static inline int32_t semihosting_call(int32_t operation, const void *argument) {
    register int32_t a0 __asm("a0") = operation;
    register const void *a1 __asm("a1") = argument;
    __asm volatile(".option push\n"
                   ".option norvc\n"
                   ".balign 16\n"
                   "slli zero, zero, 0x1f\n"
                   "ebreak\n"
                   "srai zero, zero, 7\n"
                   ".option pop\n"
                   : "+r"(a0)
                   : "r"(a1)
                   : "memory");
    return a0;
}

static inline uint32_t *machine_stack_pointer(void) {
    uint32_t *pointer;
    __asm volatile("mv %0, sp" : "=r"(pointer));
    return pointer;
}

#endif
