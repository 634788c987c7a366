/** A loop over eight sums for cores without Thumb-2, which compute in the lower eight registers
 * only: six of the sums lie in the upper ones.
 *
 *  They are the operands s0 to s7, but for s5, which is lr; all others may be in memory instead
 *  (tinyrt_flexible.h). */
#ifndef TINYRT_EIGHT_SUMS_H
#define TINYRT_EIGHT_SUMS_H

#include "tinyrt_flexible.h"

/** Declares the operands, with any values: they are read as well as written, so that none has its
 *  place in memory where an input of the loop has. */
#define TINYRT_EIGHT_SUMS                                                                          \
    int32_t s0, s1, s2, s3, s4, s6, s7;                                                            \
    __asm("" : "=hm"(s0), "=hm"(s1), "=hm"(s2), "=hm"(s3), "=hm"(s4), "=rm"(s6), "=rm"(s7))
#define TINYRT_EIGHT_OPERANDS                                                                      \
    [s0] "+hm"(s0), [s1] "+hm"(s1), [s2] "+hm"(s2), [s3] "+hm"(s3), [s4] "+hm"(s4),                \
        [s6] "+rm"(s6), [s7] "+rm"(s7)

/** Turns over taps until x is at an end; there may be none. With sums in memory, a turn is longer
 * than a conditional branch can jump over. */
#define TINYRT_EIGHT_TURNS(name, end, body)                                                        \
    "b 2" name "f\n"                                                                               \
    "1" name ":\n" body "2" name ":\n"                                                             \
    "ldr %[t], %[" end "]\n"                                                                       \
    "cmp %[x], %[t]\n" TINYRT_FIND_SPILLED("%[s0]%[s1]%[s2]%[s3]%[s4]%[s6]%[s7]")                  \
        TINYRT_IF_SPILLED("beq 3" name "f\n"                                                       \
                          "b 1" name "b\n"                                                         \
                          "3" name ":\n",                                                          \
                          "bne 1" name "b\n")

/** Adds v to a sum; x0 is the register that is free, once it is restored. */
#define TINYRT_ADD_TO(sum) "tinyrt_add \"%[" sum "]\", %[v], %[x0]\n"
#define TINYRT_ADD_TO_S5 "add lr, %[v]\n"

/** The loop: turns between loading the sums from acc and storing them there, by v and t. restore is
 *  how x0 is had again after a sum in memory. */
#define TINYRT_EIGHT_LOOP(restore, turns)                                                          \
    ".syntax unified\n"                                                                            \
    "ldr %[t], %[acc]\n" TINYRT_MOVE_SUMS("ldr \\v, \\place\nstr \\v, \\sum\n",                    \
                                          "ldr \\v, \\place\nmov \\sum, \\v\n",                    \
                                          "ldr \\sum, \\place\n")                                  \
        TINYRT_WITH_MACRO(                                                                         \
            "tinyrt_add", "sum, low, t",                                                           \
            TINYRT_FIND_SPILLED("\\sum") TINYRT_IF_SPILLED("ldr \\t, \\sum\n"                      \
                                                           "adds \\t, \\low\n"                     \
                                                           "str \\t, \\sum\n" restore,             \
                                                           "add \\sum, \\low\n"),                  \
            turns) "ldr %[t], %[acc]\n" TINYRT_MOVE_SUMS("ldr \\v, \\sum\nstr \\v, \\place\n",     \
                                                         "mov \\v, \\sum\nstr \\v, \\place\n",     \
                                                         "str \\sum, \\place\n")

/** Moves all sums between their places at t and memory, upper and lower registers. */
#define TINYRT_MOVE_SUMS(memory, upper, lower)                                                     \
    TINYRT_WITH_MACRO(                                                                             \
        "tinyrt_move", "sum, v, place, lower",                                                     \
        TINYRT_FIND_SPILLED("\\sum")                                                               \
            TINYRT_IF_SPILLED(memory, ".if \\lower\n" lower ".else\n" upper ".endif\n"),           \
        TINYRT_MOVE_SUM("\"%[s0]\"", "0", "0") TINYRT_MOVE_SUM("\"%[s1]\"", "1", "0")              \
            TINYRT_MOVE_SUM("\"%[s2]\"", "2", "0") TINYRT_MOVE_SUM("\"%[s3]\"", "3", "0")          \
                TINYRT_MOVE_SUM("\"%[s4]\"", "4", "0") TINYRT_MOVE_SUM("lr", "5", "0")             \
                    TINYRT_MOVE_SUM("\"%[s6]\"", "6", "1") TINYRT_MOVE_SUM("\"%[s7]\"", "7", "1"))
#define TINYRT_MOVE_SUM(sum, index, lower)                                                         \
    "tinyrt_move " sum ", %[v], \"[%[t], #4 * " index "]\", " lower "\n"

#endif
