/** Files, text and exit through the debugger's semihosting calls, as QEMU serves them. */
#ifndef HARNESS_SEMIHOSTING_H
#define HARNESS_SEMIHOSTING_H

#include <stdint.h>

#include "harness_machine.h"

enum {
    SEMIHOSTING_OPEN = 0x01,
    SEMIHOSTING_WRITE0 = 0x04,
    SEMIHOSTING_WRITE = 0x05,
    SEMIHOSTING_READ = 0x06,
    SEMIHOSTING_SEEK = 0x0A,
    SEMIHOSTING_FLEN = 0x0C,
    SEMIHOSTING_EXIT = 0x18,
};

enum { SEMIHOSTING_OPEN_READ = 1, SEMIHOSTING_OPEN_WRITE = 5 };

/** Reasons of SEMIHOSTING_EXIT: QEMU ends with status 0 for the first and 1 for the second. */
#define SEMIHOSTING_FINISHED ((const void *)0x20026)
#define SEMIHOSTING_FAILED ((const void *)0x20023)

/** Ends the emulation; does not return. */
static inline void semihosting_exit(const void *reason) {
    semihosting_call(SEMIHOSTING_EXIT, reason);
    for (;;) {
    }
}

static inline void semihosting_print(const char *text) {
    semihosting_call(SEMIHOSTING_WRITE0, text);
}

/** A file handle, or -1. name_length does not count the terminating zero. */
static inline int32_t semihosting_open(const char *name, uint32_t name_length, uint32_t mode) {
    const uintptr_t block[] = {(uintptr_t)name, mode, name_length};
    return semihosting_call(SEMIHOSTING_OPEN, block);
}

/** Bytes in the file, or -1. */
static inline int32_t semihosting_length(int32_t file) {
    const uintptr_t block[] = {(uintptr_t)file};
    return semihosting_call(SEMIHOSTING_FLEN, block);
}

/** 0, or a negative number. */
static inline int32_t semihosting_seek(int32_t file, uint32_t position) {
    const uintptr_t block[] = {(uintptr_t)file, position};
    return semihosting_call(SEMIHOSTING_SEEK, block);
}

/** The number of bytes that could not be read. */
static inline int32_t semihosting_read(int32_t file, void *data, uint32_t bytes) {
    const uintptr_t block[] = {(uintptr_t)file, (uintptr_t)data, bytes};
    return semihosting_call(SEMIHOSTING_READ, block);
}

/** The number of bytes that could not be written. */
static inline int32_t semihosting_write(int32_t file, const void *data, uint32_t bytes) {
    const uintptr_t block[] = {(uintptr_t)file, (uintptr_t)data, bytes};
    return semihosting_call(SEMIHOSTING_WRITE, block);
}

#endif
