/** What the harness asks of an Arm core in assembly. */
#ifndef HARNESS_MACHINE_H
#define HARNESS_MACHINE_H

#include <stdint.h>

static inline int32_t semihosting_call(int32_t operation, const void *argument) {
    register int32_t r0 __asm("r0") = operation;
    register const void *r1 __asm("r1") = argument;
    __asm volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

static inline uint32_t *machine_stack_pointer(void) {
    uint32_t *pointer;
    __asm volatile("mov %0, sp" : "=r"(pointer));
    return pointer;
}

#endif
