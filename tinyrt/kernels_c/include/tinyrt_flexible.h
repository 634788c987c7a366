/** Loops in assembly that take every register, and yet compile where one is kept for something
 * else: a frame pointer, a fixed register, a static base.
 *
 *  No macro of the compiler tells whether one is. So some of a loop's operands may be in memory
 *  ("rm"): the compiler gives them registers as long as it has any, then places on the stack, and
 *  the assembler, which sees which it was, takes other instructions there. Where all of them are in
 *  registers, the code is what it would be without this header. */
#ifndef TINYRT_FLEXIBLE_H
#define TINYRT_FLEXIBLE_H

#include "tinyrt_types.h"

/** Sets .Ltinyrt_spilled: whether one of these operands, one behind the other, is in memory. */
#define TINYRT_FIND_SPILLED(operands)                                                              \
    ".set .Ltinyrt_spilled, 0\n"                                                                   \
    ".irpc character, \"" operands "\"\n"                                                          \
    ".ifc \"\\character\", \"[\"\n"                                                                \
    ".set .Ltinyrt_spilled, 1\n"                                                                   \
    ".endif\n"                                                                                     \
    ".endr\n"

/** One text or the other, by TINYRT_FIND_SPILLED. */
#define TINYRT_IF_SPILLED(spilled, otherwise)                                                      \
    ".if .Ltinyrt_spilled\n" spilled ".else\n" otherwise ".endif\n"

/** Stands before a loop that may have these in memory: compilers find no place for operands whose
 *  first value they know, or share. */
#define TINYRT_OPAQUE(a, b) __asm("" : "+rm"(a), "+rm"(b))

/** Keeps a struct in memory, where assembly reads it: compilers would copy it there for each loop.
 */
#if defined(TINYRT_ASM) && !defined(__clang__)
#define TINYRT_IN_MEMORY(fields) __asm("" : "+m"(fields))
#else
#define TINYRT_IN_MEMORY(fields) (void)(fields)
#endif

/** Macros of the assembler around a loop of it. */
#define TINYRT_WITH_MACRO(name, parameters, body, loop)                                            \
    ".macro " name " " parameters "\n" body ".endm\n" loop ".purgem " name "\n"

/** A loop with the macro tinyrt_add: sum += a * b, of those halves that the instruction takes.
 * Where the sum is in memory, t is overwritten, and restored by what is in after. */
#define TINYRT_WITH_ADD(loop)                                                                      \
    TINYRT_WITH_MACRO("tinyrt_add", "instruction, sum, a, b, t, after",                            \
                      TINYRT_FIND_SPILLED("\\sum")                                                 \
                          TINYRT_IF_SPILLED("ldr \\t, \\sum\n"                                     \
                                            "\\instruction \\t, \\a, \\b, \\t\n"                   \
                                            "str \\t, \\sum\n"                                     \
                                            "\\after\n",                                           \
                                            "\\instruction \\sum, \\a, \\b, \\sum\n"),             \
                      loop)

#ifdef __clang__

/* A loop's text may be longer than the 4,095 characters that all C99 compilers must take. */
#pragma clang diagnostic ignored "-Woverlength-strings"

#define TINYRT_REGISTERS "r0,r1,r2,r3,r4,r5,r6,r7,r8,r9,r10,r11,r12,lr"

/** Calls free the register that none of thirteen operands is in, those of a loop, which are
 * listed with commas: the frame pointer, which clang gives no operand, or one that is left. The
 * loop keeps it on the stack meanwhile. r9 may be somebody else's: TINYRT_IF_FREE tells. */
#define TINYRT_WITH_FREE(operands, loop)                                                           \
    ".irp r, " TINYRT_REGISTERS "\n"                                                               \
    ".set .Ltinyrt_\\r, 0\n"                                                                       \
    ".endr\n"                                                                                      \
    ".irp o, " operands "\n"                                                                       \
    ".set .Ltinyrt_\\o, 1\n"                                                                       \
    ".endr\n"                                                                                      \
    ".set .Lfound, 0\n"                                                                            \
    ".irp r, " TINYRT_REGISTERS "\n"                                                               \
    ".if (.Ltinyrt_\\r + .Lfound) == 0\n"                                                          \
    ".set .Lfound, 1\n"                                                                            \
    "free .req \\r\n"                                                                              \
    ".endif\n"                                                                                     \
    ".endr\n" loop ".unreq free\n"

/** One text, or the other where no register is free. */
#define TINYRT_IF_FREE(loop, otherwise) ".if .Ltinyrt_r9\n" loop ".else\n" otherwise ".endif\n"

/** As TINYRT_ENTER with what it skips in a register: an operand in memory would take one more. */
#ifdef __OPTIMIZE_SIZE__
#define TINYRT_ENTER_BY(skip) "1:\n"
#else
#define TINYRT_ENTER_BY(skip)                                                                      \
    "add pc, " skip "\n"                                                                           \
    "nop\n"                                                                                        \
    "1:\n"
#endif

#define TINYRT_SUMS_OF_TWO "%[a0], %[a1], %[a2], %[a3], %[b0], %[b1], %[b2], %[b3]"

#endif

/** A loop over taps until x is at its end, entered in its middle where TINYRT_ENTER enters it, with
 *  t for the end. four takes four taps with tinyrt_add; where any of the operands that this adds to
 *  is in memory, the loop is not unrolled any further, as code has other lengths. */
#define TINYRT_FLEXIBLE_LOOP(operands, t, four)                                                    \
    TINYRT_FIND_SPILLED(operands)                                                                  \
    TINYRT_WITH_ADD(TINYRT_IF_SPILLED("1:\n" four, TINYRT_ENTER(t) TINYRT_LOOP_OF(four)))          \
    "ldr " t ", %[end]\n"                                                                          \
    "cmp %[x], " t "\n"                                                                            \
    "bne 1b\n"

#endif
