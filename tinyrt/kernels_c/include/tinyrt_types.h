/** Types that the kernels share. Tensors are dense, row-major, channels last. */
#ifndef TINYRT_TYPES_H
#define TINYRT_TYPES_H

/** Set where instructions are written in assembly. Define TINYRT_NO_ASM for C alone, which gives
 * the same answers, slower. */
#if defined(__GNUC__) && !defined(TINYRT_NO_ASM)
#define TINYRT_ASM
#endif

/** How instructions on pairs of halves are written: in assembly for GCC, by the intrinsics of Arm's
 * C language extensions for others, whose allocators place these better, or not at all. Releases of
 *  GCC before 10 lack the intrinsics; define TINYRT_NO_ACLE where the header is missing. */
#ifdef __ARM_FEATURE_DSP
#if defined(TINYRT_ASM) && !defined(__clang__)
#define TINYRT_ASM_DSP
#elif defined(__ARM_FEATURE_SIMD32) && !defined(TINYRT_NO_ACLE) &&                                 \
    (!defined(__GNUC__) || __GNUC__ >= 10 || defined(__clang__))
#define TINYRT_ACLE_DSP
/* Before the C library's headers: some of these redefine what it is written with. */
#include <arm_acle.h>
#endif
#endif

#include <stddef.h>
#include <stdint.h>

#include "tinyrt_names.h"

#ifdef __cplusplus
#define TINYRT_RESTRICT
#else
#define TINYRT_RESTRICT restrict
#endif

/* Set by an export for memory where words must be aligned. */
#if defined(TINYRT_NO_UNALIGNED) && defined(__ARM_FEATURE_UNALIGNED)
#error "exported with --no-unaligned: compile with -mno-unaligned-access"
#endif

/** Keeps a function's loop from sharing registers with its caller's. */
#ifdef __GNUC__
#define TINYRT_NOINLINE __attribute__((noinline))
#else
#define TINYRT_NOINLINE
#endif

/** A pointer that is a multiple of four. */
#ifdef __GNUC__
#define TINYRT_ALIGNED(pointer) __builtin_assume_aligned(pointer, 4)
#else
#define TINYRT_ALIGNED(pointer) (pointer)
#endif

/** Whether whole loops are: code without optimisation leaves too few registers for them, as clang
 * does with one of them for a static base. */
#if defined(TINYRT_ASM) && defined(__OPTIMIZE__) && !(defined(__clang__) && defined(__ARM_RWPI))
#define TINYRT_ASM_LOOPS 1
#else
#define TINYRT_ASM_LOOPS 0
#endif

/** Stands in short loops, for compilers would call memcpy or memset instead. No instruction. */
#ifdef __GNUC__
#define TINYRT_SHORT_LOOP __asm volatile("")
#else
#define TINYRT_SHORT_LOOP ((void)0)
#endif

/** What stands unrolled in a loop: nothing where the compiler is told to make code small. */
#ifdef __OPTIMIZE_SIZE__
#define TINYRT_UNROLLED(loop)
#else
#define TINYRT_UNROLLED(loop) loop
#endif

/** Taps that an unrolled loop in assembly takes at a time: more where code is made for speed
 *  (TINYRT_FAST). Where the taps are no multiple, the loop is entered in its middle: at 1, and as
 *  many bytes behind it as skip has. */
#ifdef __OPTIMIZE_SIZE__
#define TINYRT_LOOP_TAPS 4
#define TINYRT_LOOP_OF(four) four
#define TINYRT_ENTER_FROM(skip, t) "1:\n"
#define TINYRT_SKIP(bytes)
#else
#define TINYRT_ENTER_FROM(skip, t)                                                                 \
    "ldr " t ", " skip "\n"                                                                        \
    "add pc, " t "\n"                                                                              \
    "nop\n"                                                                                        \
    "1:\n"
#define TINYRT_SKIP(bytes) , [skip] "m"(bytes)
#ifdef TINYRT_FAST
#define TINYRT_LOOP_TAPS 32
#define TINYRT_LOOP_OF(four) four four four four four four four four
#else
#define TINYRT_LOOP_TAPS 16
#define TINYRT_LOOP_OF(four) four four four four
#endif
#endif

#define TINYRT_ENTER(t) TINYRT_ENTER_FROM("%[skip]", t)

/** What of a loop is skipped when it is entered, for so many bytes of code to a tap. */
static inline int32_t tinyrt_skipped(int32_t taps, int32_t tap_bytes) {
    return (-taps & (TINYRT_LOOP_TAPS - 1)) * tap_bytes;
}

/** Set where loops may be assembly of Thumb, which clang has too few registers for. Made for size,
 * compilers for cores without Thumb-2 keep off the upper registers, and do not save them either. */
#if defined(__ARM_ARCH_ISA_THUMB) && TINYRT_ASM_LOOPS && !defined(__clang__)
#if __ARM_ARCH_ISA_THUMB == 2 || !defined(__OPTIMIZE_SIZE__)
#define TINYRT_THUMB_ASSEMBLY
#endif
#endif

/** Axes that the kernels for any rank can walk over. */
#define TINYRT_MAX_RANK 6

/** A requirement of a kernel. The exporter has checked it; define this as assert to see it fail. */
#ifndef TINYRT_ASSERT
#define TINYRT_ASSERT(condition) ((void)0)
#endif

/** What stands around the calls of every op of a model; define both to read a cycle counter. */
#ifndef TINYRT_PROFILE_BEGIN
#define TINYRT_PROFILE_BEGIN(op) ((void)(op))
#define TINYRT_PROFILE_END(op) ((void)(op))
#endif

/** What a model's functions return. */
typedef enum {
    TINYRT_OK = 0,
    TINYRT_NULL_ARENA = 1,
    TINYRT_MISALIGNED_ARENA = 2,
    TINYRT_NO_ROW_WANTED = 3,
    TINYRT_NULL_TENSOR = 4,
    TINYRT_NULL_STATE = 5,
    TINYRT_NULL_IO = 6,
    TINYRT_MISALIGNED_STATE = 7,
    TINYRT_MORE = 8, /**< An inference in slices is not done yet. */
    TINYRT_NOT_BEGUN = 9,
    TINYRT_NULL_SLICES = 10,
    TINYRT_MISALIGNED_SLICES = 11,
} tinyrt_status;

/** A shape: batch, height, width, channels. */
typedef struct {
    int32_t n;
    int32_t h;
    int32_t w;
    int32_t c;
} tinyrt_nhwc;

/** A window that slides over height and width. Padding is what lies before the first element. */
typedef struct {
    int32_t kernel_h;
    int32_t kernel_w;
    int32_t stride_h;
    int32_t stride_w;
    int32_t dilation_h;
    int32_t dilation_w;
    int32_t pad_top;
    int32_t pad_left;
} tinyrt_window;

/** From int32 accumulators to int8 outputs: one mantissa and exponent for each output channel
 *  (step 1), or one for all of them (step 0). */
typedef struct {
    const int32_t *mult;
    const int8_t *shift;
    int32_t step;
    int32_t y_zp;
    int32_t act_min;
    int32_t act_max;
} tinyrt_requant_params;

#endif
