// What differs between a GPU and the host; everything else is written once.
//
// On a GPU each thread runs a phase by itself, and a barrier ends it. On the host one thread runs
// the phase for all threads of the block, one after the other, which is the same wherever the
// threads of a phase do not depend on each other. Ops that compute by warps hold one warp's
// registers in arrays over TINYRT_LANES: on a GPU a thread holds its own lane's, on the host the
// warp's first thread holds all 32 and the other threads have nothing to do.
#pragma once

#ifdef __CUDACC__
#define TINYRT_FN static __device__ __forceinline__
#define TINYRT_LANES 1
#define TINYRT_UNROLL _Pragma("unroll")
#else
#include <math.h>
#include <string.h>
#define TINYRT_FN static inline __attribute__((unused))
#define TINYRT_LANES 32
#define TINYRT_UNROLL
#endif

namespace tinyrt {

typedef signed char i8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

// One thread of those that share an op: which it is, of how many, where things lie, and which step
// of an op that takes several.
struct Team {
    int thread;
    int threads;
    i8 *arena;
    const i8 *weights;
    int step;
};

// A warp's registers: the matrices of mma.m16n8k32 (A 16x32 int8, B 32x8 int8, C 16x8 int32). With
// g = lane / 4 and t = lane % 4, the PTX ISA ("Matrix Fragments for mma.m16n8k32") gives a lane
//   A: r[0] row g,     k 4t to 4t + 3         r[2] row g,     k 16 + 4t to 16 + 4t + 3
//      r[1] row g + 8, k 4t to 4t + 3         r[3] row g + 8, k 16 + 4t to 16 + 4t + 3
//   B: r[0] column g,  k 4t to 4t + 3         r[1] column g,  k 16 + 4t to 16 + 4t + 3
//   C: r[0], r[1] row g, columns 2t, 2t + 1   r[2], r[3] row g + 8, columns 2t, 2t + 1
// the least k in the lowest byte. Sums wrap around, for `.satfinite` is not asked for.
struct FragmentA {
    u32 r[4];
};
struct FragmentB {
    u32 r[2];
};
struct FragmentC {
    i32 r[4];
};

#ifdef __CUDACC__

TINYRT_FN bool leads_warp(const Team &) {
    return true;
}
TINYRT_FN int lane_of(const Team &t, int) {
    return t.thread & 31;
}

TINYRT_FN u32 load4(const i8 *p) {
    return *reinterpret_cast<const u32 *>(p);
}
TINYRT_FN void load8(const i8 *p, u32 *to) {
    const uint2 v = *reinterpret_cast<const uint2 *>(p);
    to[0] = v.x, to[1] = v.y;
}
TINYRT_FN void load16(const i8 *p, u32 *to) {
    const uint4 v = *reinterpret_cast<const uint4 *>(p);
    to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
}
// Constants, which no thread writes: through the read-only path, 128 bits at a time.
TINYRT_FN void constant16(const i8 *p, u32 *to) {
    const uint4 v = __ldg(reinterpret_cast<const uint4 *>(p));
    to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
}
TINYRT_FN void constant8(const i8 *p, u32 *to) {
    const uint2 v = __ldg(reinterpret_cast<const uint2 *>(p));
    to[0] = v.x, to[1] = v.y;
}
TINYRT_FN u32 constant4(const i8 *p) {
    return __ldg(reinterpret_cast<const u32 *>(p));
}
TINYRT_FN void store4(i8 *p, u32 v) {
    *reinterpret_cast<u32 *>(p) = v;
}
TINYRT_FN void store2(i8 *p, u32 v) {
    *reinterpret_cast<u16 *>(p) = static_cast<u16>(v);
}
TINYRT_FN void store8(i8 *p, const u32 *v) {
    *reinterpret_cast<uint2 *>(p) = make_uint2(v[0], v[1]);
}
TINYRT_FN void store16(i8 *p, const u32 *v) {
    *reinterpret_cast<uint4 *>(p) = make_uint4(v[0], v[1], v[2], v[3]);
}

// acc plus the products of the words' four bytes.
TINYRT_FN i32 dot4(u32 a, u32 b, i32 acc) {
    return __dp4a(static_cast<i32>(a), static_cast<i32>(b), acc);
}
// Two int8, saturated, in the low half; what `low` had in its low half goes to the high half.
TINYRT_FN u32 pack2(i32 first, i32 second, u32 above) {
    u32 d;
    asm("cvt.pack.sat.s8.s32.b32 %0, %1, %2, %3;" : "=r"(d) : "r"(second), "r"(first), "r"(above));
    return d;
}
// Four of the eight bytes of `low` (numbers 0 to 3) and `high` (4 to 7), as `picks` names them.
TINYRT_FN u32 bytes(u32 low, u32 high, u32 picks) {
    return __byte_perm(low, high, picks);
}

TINYRT_FN void mma(FragmentC (&c)[1], const FragmentA (&a)[1], const FragmentB (&b)[1]) {
    i32 *d = c[0].r;
    // Volatile, so that it stays where all lanes of the warp come by, as `aligned` demands.
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a[0].r[0]), "r"(a[0].r[1]), "r"(a[0].r[2]), "r"(a[0].r[3]), "r"(b[0].r[0]),
          "r"(b[0].r[1]));
}
// The same value, in registers. From a pointer the compiler then reaches neighbours by offsets in
// the instruction; left to itself, it adds up each address anew, and splits up wide constants.
template <class T> TINYRT_FN T pinned(T v) {
    asm volatile("" : "+l"(v));
    return v;
}
// Products and sums of floats, each rounded by itself.
TINYRT_FN float product(float a, float b) {
    return __fmul_rn(a, b);
}
TINYRT_FN float quotient(float a, float b) {
    return __fdiv_rn(a, b);
}

#else

// Tests may watch whose turn it is: that of a thread, or, below 0, a barrier's.
#ifdef TINYRT_WATCHED
extern "C" void tinyrt_turn(int thread);
#else
TINYRT_FN void tinyrt_turn(int) {
}
#endif

TINYRT_FN bool leads_warp(const Team &t) {
    return (t.thread & 31) == 0;
}
TINYRT_FN int lane_of(const Team &t, int slot) {
    tinyrt_turn(t.thread + slot);
    return slot;
}

TINYRT_FN u32 load4(const i8 *p) {
    u32 v;
    memcpy(&v, p, sizeof v);
    return v;
}
TINYRT_FN void load8(const i8 *p, u32 *to) {
    memcpy(to, p, 8);
}
TINYRT_FN void load16(const i8 *p, u32 *to) {
    memcpy(to, p, 16);
}
TINYRT_FN void constant16(const i8 *p, u32 *to) {
    memcpy(to, p, 16);
}
TINYRT_FN void constant8(const i8 *p, u32 *to) {
    memcpy(to, p, 8);
}
TINYRT_FN u32 constant4(const i8 *p) {
    return load4(p);
}
TINYRT_FN void store4(i8 *p, u32 v) {
    memcpy(p, &v, sizeof v);
}
TINYRT_FN void store2(i8 *p, u32 v) {
    memcpy(p, &v, 2);
}
TINYRT_FN void store8(i8 *p, const u32 *v) {
    memcpy(p, v, 8);
}
TINYRT_FN void store16(i8 *p, const u32 *v) {
    memcpy(p, v, 16);
}

TINYRT_FN i32 byte_of(u32 word, int i) {
    return static_cast<i8>(word >> (8 * i) & 0xff);
}
TINYRT_FN i32 dot4(u32 a, u32 b, i32 acc) {
    i32 sum = 0;
    for (int i = 0; i < 4; ++i)
        sum += byte_of(a, i) * byte_of(b, i);
    return static_cast<i32>(static_cast<u32>(acc) + static_cast<u32>(sum));
}
TINYRT_FN u32 saturated(i32 v) {
    return static_cast<u32>(v < -128 ? -128 : v > 127 ? 127 : v) & 0xff;
}
TINYRT_FN u32 pack2(i32 first, i32 second, u32 above) {
    return above << 16 | saturated(second) << 8 | saturated(first);
}
TINYRT_FN u32 bytes(u32 low, u32 high, u32 picks) {
    const u64 all = static_cast<u64>(high) << 32 | low;
    u32 d = 0;
    for (int i = 0; i < 4; ++i) {
        d |= static_cast<u32>(all >> (8 * (picks >> (4 * i) & 7)) & 0xff) << (8 * i);
    }
    return d;
}

TINYRT_FN void mma(FragmentC (&c)[32], const FragmentA (&a)[32], const FragmentB (&b)[32]) {
    i16 rows[16][32], columns[8][32];
    for (int lane = 0; lane < 32; ++lane) {
        for (int i = 0; i < 16; ++i) {
            const int row = lane / 4 + 8 * (i / 4 % 2), k = lane % 4 * 4 + i % 4 + 16 * (i / 8);
            rows[row][k] = static_cast<i16>(byte_of(a[lane].r[i / 4], i % 4));
        }
        for (int i = 0; i < 8; ++i) {
            const int k = lane % 4 * 4 + i % 4 + 16 * (i / 4);
            columns[lane / 4][k] = static_cast<i16>(byte_of(b[lane].r[i / 4], i % 4));
        }
    }
    for (int lane = 0; lane < 32; ++lane) {
        for (int i = 0; i < 4; ++i) {
            const i16 *x = rows[lane / 4 + 8 * (i / 2)], *w = columns[lane % 4 * 2 + i % 2];
            i32 sum = 0;
            for (int k = 0; k < 32; ++k)
                sum += x[k] * w[k];
            c[lane].r[i] = static_cast<i32>(static_cast<u32>(c[lane].r[i]) + static_cast<u32>(sum));
        }
    }
}
template <class T> TINYRT_FN T pinned(T v) {
    return v;
}
TINYRT_FN float product(float a, float b) {
    return a * b;
}
TINYRT_FN float quotient(float a, float b) {
    return a / b;
}

#endif

TINYRT_FN i32 least(i32 a, i32 b) {
    return a < b ? a : b;
}
TINYRT_FN i32 greatest(i32 a, i32 b) {
    return a > b ? a : b;
}
TINYRT_FN i32 clamp(i32 v, i32 low, i32 high) {
    return least(greatest(v, low), high);
}

// The upper word of a * b + c, in one instruction, which there is for unsigned numbers only.
TINYRT_FN u32 upper(u32 a, u32 b, u64 c) {
    return static_cast<u32>((static_cast<u64>(a) * b + c) >> 32);
}

// The same byte four times.
TINYRT_FN constexpr u32 four(i32 byte) {
    return 0x01010101u * static_cast<u32>(byte & 0xff);
}

} // namespace tinyrt

// How a kernel runs its phases; see the generated code.
#ifdef __CUDACC__
#define TINYRT_KERNEL(threads, blocks) extern "C" __global__ void __launch_bounds__(threads, blocks)
#define TINYRT_GRID
#define TINYRT_SHARED_PARAMETER
#define TINYRT_SHARED                                                                              \
    extern __shared__ uint4 tinyrt_shared[];                                                       \
    /* One register holds where it begins; left to itself, the compiler asks anew at each use. */  \
    u32 tinyrt_base = static_cast<u32>(__cvta_generic_to_shared(tinyrt_shared));                   \
    asm volatile("" : "+r"(tinyrt_base));                                                          \
    i8 *const arena = static_cast<i8 *>(__cvta_shared_to_generic(tinyrt_base));
#define TINYRT_BLOCK static_cast<int>(blockIdx.x)
#define TINYRT_BLOCKS static_cast<int>(gridDim.x)
#define TINYRT_PHASE(first_thread, ...)                                                            \
    {                                                                                              \
        t.thread = (first_thread) + static_cast<int>(threadIdx.x);                                 \
        __VA_ARGS__;                                                                               \
        __syncthreads();                                                                           \
    }
#else
// The host is told which block it is, and in which order the threads run: any must do.
#define TINYRT_KERNEL(threads, blocks) extern "C" void
#define TINYRT_GRID                                                                                \
    int tinyrt_block, int tinyrt_blocks, const int *tinyrt_order, int tinyrt_threads,
#define TINYRT_SHARED_PARAMETER i8 *arena,
#define TINYRT_SHARED
#define TINYRT_BLOCK tinyrt_block
#define TINYRT_BLOCKS tinyrt_blocks
#define TINYRT_PHASE(first_thread, ...)                                                            \
    {                                                                                              \
        for (int tinyrt_n = 0; tinyrt_n < tinyrt_threads; ++tinyrt_n) {                            \
            t.thread = (first_thread) + tinyrt_order[tinyrt_n];                                    \
            tinyrt_turn(t.thread);                                                                 \
            __VA_ARGS__;                                                                           \
        }                                                                                          \
        tinyrt_turn(-1);                                                                           \
    }
#endif
