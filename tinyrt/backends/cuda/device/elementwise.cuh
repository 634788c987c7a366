// Ops that work element by element, and those that only move elements.
//
// Each names, for its output's element i, the element of each input: P::a_at(i), P::b_at(i).
#pragma once
#include "requant.cuh"

namespace tinyrt {

template <class T> TINYRT_FN T limited(i64 v, i32 low, i32 high) {
    return static_cast<T>(v < low ? low : v > high ? high : v);
}

template <class T> TINYRT_FN T saturated_to(i32 v) {
    constexpr i32 MOST = sizeof(T) == 1 ? 127 : 32767;
    return static_cast<T>(clamp(v, -MOST - 1, MOST));
}

// Multipliers of sums are below 1; int8, raised by 20 bits, stays far below 2^29.
template <class P> TINYRT_FN i32 requant_raised(i32 x, i32 mult, int shift) {
    return sizeof(typename P::X) == 1 ? requant_small(x, mult, shift) : requant(x, mult, shift);
}

// Each element's sum (or difference, P::SIGN -1) of both inputs at a common scale.
template <class P> struct Add {
    TINYRT_FN i32 of(typename P::X a, typename P::X b) {
        const i32 first = requant_raised<P>((a - P::A_ZP) * (1 << P::LEFT), P::A_MULT, P::A_SHIFT);
        const i32 second = requant_raised<P>((b - P::B_ZP) * (1 << P::LEFT), P::B_MULT, P::B_SHIFT);
        const i32 y = requant_raised<P>(first + P::SIGN * second, P::Y_MULT, P::Y_SHIFT);
        return clamp(y + P::Y_ZP, P::ACT_MIN, P::ACT_MAX);
    }
};

template <class P> struct Mul {
    TINYRT_FN typename P::Y of(typename P::X a, typename P::X b) {
        const i64 y = requant((a - P::A_ZP) * (b - P::B_ZP), P::MULT, P::SHIFT);
        return limited<typename P::Y>(y + P::Y_ZP, P::ACT_MIN, P::ACT_MAX);
    }
};

template <class P> struct Least {
    TINYRT_FN typename P::Y of(typename P::X a, typename P::X b) {
        return a < b ? a : b;
    }
};

template <class P> struct Greatest {
    TINYRT_FN typename P::Y of(typename P::X a, typename P::X b) {
        return a > b ? a : b;
    }
};

template <class P> struct SquaredDifference {
    TINYRT_FN typename P::Y of(typename P::X a, typename P::X b) {
        const i32 first = requant((a - P::A_ZP) * (1 << P::LEFT), P::A_MULT, P::A_SHIFT);
        const i32 second = requant((b - P::B_ZP) * (1 << P::LEFT), P::B_MULT, P::B_SHIFT);
        const u32 difference = static_cast<u32>(first) - static_cast<u32>(second);
        const i32 square = static_cast<i32>(difference * difference);
        const i64 y = requant(square, P::Y_MULT, P::Y_SHIFT);
        return limited<typename P::Y>(y + P::Y_ZP, P::ACT_MIN, P::ACT_MAX);
    }
};

template <class P> struct Prelu {
    TINYRT_FN typename P::Y of(typename P::X a, typename P::X b) {
        const i32 x = a - P::X_ZP;
        const i64 y = x >= 0 ? requant(x, P::POS_MULT, P::POS_SHIFT)
                             : requant(x * (b - P::ALPHA_ZP), P::NEG_MULT, P::NEG_SHIFT);
        return limited<typename P::Y>(y + P::Y_ZP, -128, 127);
    }
};

// Whether left and right are in an order of P::ACCEPTED: bit 0 for less, 1 for equal, 2 for
// greater.
template <class P> TINYRT_FN i8 in_order(i32 left, i32 right) {
    const int order = left < right ? 0 : left == right ? 1 : 2;
    return static_cast<i8>(P::ACCEPTED >> order & 1);
}

template <class P> struct OrderOfStored {
    TINYRT_FN i8 of(typename P::X a, typename P::X b) {
        return in_order<P>(a, b);
    }
};

// Both in steps of 2^-LEFT.
template <class P> struct Order {
    TINYRT_FN i8 of(typename P::X a, typename P::X b) {
        return in_order<P>(requant((a - P::A_ZP) * (1 << P::LEFT), P::A_MULT, P::A_SHIFT),
                           requant((b - P::B_ZP) * (1 << P::LEFT), P::B_MULT, P::B_SHIFT));
    }
};

template <int WORDS> TINYRT_FN void load_words(const i8 *p, u32 *to) {
    if (WORDS == 4) {
        load16(p, to);
    } else {
        to[0] = load4(p);
    }
}

template <int WORDS> TINYRT_FN void store_words(i8 *p, const u32 *v) {
    if (WORDS == 4) {
        store16(p, v);
    } else {
        store4(p, v[0]);
    }
}

// Two elements to one, by F.
template <class P, template <class> class F> TINYRT_FN void pairs(const Team &t) {
    for (int i = t.thread; i < P::SAMPLES * P::SIZE; i += t.threads) {
        const int sample = i / P::SIZE, at = i % P::SIZE;
        const auto a = P::a(t, sample)[P::a_at(at)], b = P::b(t, sample)[P::b_at(at)];
        P::y(t, sample)[at] = saturated_to<typename P::Y>(F<P>::of(a, b));
    }
}

// The same for int8 tensors of one shape, WORDS * 4 elements at a time.
template <class P, template <class> class F, int WORDS>
TINYRT_FN void pairs_side_by_side(const Team &t) {
    constexpr int UNITS = P::SIZE / 4 / WORDS;
    for (int i = t.thread; i < P::SAMPLES * UNITS; i += t.threads) {
        const int sample = i / UNITS, at = i % UNITS * 4 * WORDS;
        u32 a[WORDS], b[WORDS];
        load_words<WORDS>(P::a(t, sample) + at, a);
        load_words<WORDS>(P::b(t, sample) + at, b);
        TINYRT_UNROLL
        for (int k = 0; k < WORDS; ++k) {
            i32 v[4];
            TINYRT_UNROLL
            for (int j = 0; j < 4; ++j) {
                v[j] = F<P>::of(static_cast<i8>(a[k] >> (8 * j) & 0xff),
                                static_cast<i8>(b[k] >> (8 * j) & 0xff));
            }
            a[k] = pack4(v);
        }
        store_words<WORDS>(P::y(t, sample) + at, a);
    }
}

// One of a word's bytes, times 2^8.
TINYRT_FN u32 raised(u32 word, u32 i) {
    return bytes(word, 0, 0x4404 | i << 4);
}

// Sums or differences in one step, where the exporter has compared all pairs of int8: see fold.py.
template <class P, int WORDS> TINYRT_FN void folded_sums(const Team &t) {
    constexpr int UNITS = P::SIZE / 4 / WORDS;
    const u64 offset = pinned(static_cast<u64>(P::OFFSET));
    for (int i = t.thread; i < P::SAMPLES * UNITS; i += t.threads) {
        const int sample = i / UNITS, at = i % UNITS * 4 * WORDS;
        u32 a[WORDS], b[WORDS];
        load_words<WORDS>(P::a(t, sample) + at, a);
        load_words<WORDS>(P::b(t, sample) + at, b);
        TINYRT_UNROLL
        for (int k = 0; k < WORDS; ++k) {
            const u32 first = a[k] ^ four(P::A_FLIP), second = b[k] ^ four(P::B_FLIP);
            i32 v[4];
            TINYRT_UNROLL
            for (u32 j = 0; j < 4; ++j) {
                const u64 sum = static_cast<u64>(raised(second, j)) * P::B_MULT + offset;
                v[j] = activated<P>(static_cast<i32>(upper(raised(first, j), P::A_MULT, sum)));
            }
            a[k] = pack4(v);
        }
        store_words<WORDS>(P::y(t, sample) + at, a);
    }
}

// Of two elements, the one that a truth value names.
template <class P> TINYRT_FN void choose(const Team &t) {
    for (int i = t.thread; i < P::SAMPLES * P::SIZE; i += t.threads) {
        const int sample = i / P::SIZE, at = i % P::SIZE;
        P::y(t, sample)[at] = P::condition(t, sample)[P::c_at(at)] ? P::a(t, sample)[P::a_at(at)]
                                                                   : P::b(t, sample)[P::b_at(at)];
    }
}

// By a table of all pairs: row a + 128, column b + 128.
template <class P> struct PairTable {
    TINYRT_FN i8 of(const Team &t, i8 a, i8 b) {
        return P::table(t)[(a + 128) * 256 + b + 128];
    }
};

template <class P> TINYRT_FN void pairs_by_table(const Team &t) {
    for (int i = t.thread; i < P::SAMPLES * P::SIZE; i += t.threads) {
        const int sample = i / P::SIZE, at = i % P::SIZE;
        const i8 a = P::a(t, sample)[P::a_at(at)], b = P::b(t, sample)[P::b_at(at)];
        P::y(t, sample)[at] = PairTable<P>::of(t, a, b);
    }
}

// Ops of one int8 input by a table of 256 answers, in the order of bytes read as unsigned.
template <class P> TINYRT_FN void table(const Team &t) {
    for (int i = t.thread; i < P::SAMPLES * P::SIZE; i += t.threads) {
        const int sample = i / P::SIZE, at = i % P::SIZE;
        P::y(t, sample)[at] = P::table(t)[static_cast<unsigned char>(P::x(t, sample)[at])];
    }
}

// The same for int16, by a table of 65,536.
template <class P> TINYRT_FN void table_wide(const Team &t) {
    for (int i = t.thread; i < P::SAMPLES * P::SIZE; i += t.threads) {
        const int sample = i / P::SIZE, at = i % P::SIZE;
        const i16 *answers = reinterpret_cast<const i16 *>(P::table(t));
        P::y(t, sample)[at] = answers[P::x(t, sample)[at] + 32768];
    }
}

// Elements from elsewhere, of any size; P::at is -1 where P::FILL goes.
template <class P> TINYRT_FN void gather(const Team &t) {
    for (int i = t.thread; i < P::SAMPLES * P::SIZE; i += t.threads) {
        const int sample = i / P::SIZE, at = i % P::SIZE;
        const int from = P::at(t, at);
        P::y(t, sample)[at] =
            from < 0 ? static_cast<typename P::Y>(P::FILL) : P::x(t, sample)[from];
    }
}

// The number itself, or the nearest one from 0 to below the limit.
TINYRT_FN i32 nearest(i32 at, i32 limit) {
    return at < 0 ? 0 : at < limit ? at : limit - 1;
}

// The number itself, counted from the end where it is below 0.
TINYRT_FN i32 from_end(i32 at, i32 limit) {
    return at < 0 ? at + limit : at;
}

// Runs of RUN elements, each from where DEPTH numbers say.
template <class P> TINYRT_FN void parts(const Team &t) {
    for (int i = t.thread; i < P::SAMPLES * P::SIZE; i += t.threads) {
        const int sample = i / P::SIZE, at = i % P::SIZE;
        const i32 *place = P::places(t, sample) + at / P::RUN * P::DEPTH;
        P::y(t, sample)[at] = P::x(t, sample)[P::from(place) + P::inside(at)];
    }
}

// An input with a part of it replaced: where an element lies inside of the part, it comes from
// there.
template <class P> TINYRT_FN void update(const Team &t) {
    for (int i = t.thread; i < P::SAMPLES * P::SIZE; i += t.threads) {
        const int sample = i / P::SIZE, at = i % P::SIZE;
        const i32 *place = P::places(t, sample);
        P::y(t, sample)[at] =
            P::inside(place, at) ? P::part(t, sample)[P::from(place, at)] : P::x(t, sample)[at];
    }
}

// Rows of RUN elements of tables of ROWS, each for PART elements; an index beyond its table takes
// the nearest row. FROM_END: indices below 0 count from the table's end.
template <class P> TINYRT_FN void table_rows(const Team &t) {
    for (int i = t.thread; i < P::SAMPLES * P::SIZE; i += t.threads) {
        const int sample = i / P::SIZE, at = i % P::SIZE;
        const i32 index = P::indices(t, sample)[at / P::RUN];
        const i32 row = nearest(P::FROM_END ? from_end(index, P::ROWS) : index, P::ROWS);
        P::y(t, sample)[at] =
            P::table(t, sample)[(at / P::PART * P::ROWS + row) * P::RUN + at % P::RUN];
    }
}

// An input to its place in the output, runs of RUN elements PITCH apart.
template <class P> TINYRT_FN void scatter_runs(const Team &t) {
    for (int i = t.thread; i < P::SAMPLES * P::SIZE; i += t.threads) {
        const int sample = i / P::SIZE, at = i % P::SIZE;
        P::y(t, sample)[at / P::RUN * P::PITCH + P::BEGIN + at % P::RUN] = P::x(t, sample)[at];
    }
}

// clamp(requant(x - X_ZP) + Y_ZP), from and to int8 or int16; multipliers differ by the sign of x.
template <class P> TINYRT_FN void rescale(const Team &t) {
    for (int i = t.thread; i < P::SAMPLES * P::SIZE; i += t.threads) {
        const int sample = i / P::SIZE, at = i % P::SIZE;
        const i32 x = P::x(t, sample)[at] - P::X_ZP;
        const i64 y = requant(x, P::MULT, P::SHIFT);
        P::y(t, sample)[at] = limited<typename P::Y>(y + P::Y_ZP, P::ACT_MIN, P::ACT_MAX);
    }
}

// clamp(round(x / scale) + Y_ZP), halves away from zero; NaN becomes the zero point.
template <class P> TINYRT_FN void quantize(const Team &t) {
    for (int i = t.thread; i < P::SAMPLES * P::SIZE; i += t.threads) {
        const int sample = i / P::SIZE, at = i % P::SIZE;
        const float steps = quotient(P::x(t, sample)[at], P::scale());
        // 2^20 steps saturate any output; rounding a float at a half is exact below 2^23.
        const float bounded = steps > 1048576.0f    ? 1048576.0f
                              : steps < -1048576.0f ? -1048576.0f
                                                    : steps;
        const float size = fabsf(bounded), whole = floorf(size);
        const i32 rounded = static_cast<i32>(whole) + (size - whole >= 0.5f ? 1 : 0);
        const i64 y = steps != steps ? 0 : bounded < 0 ? -rounded : rounded;
        P::y(t, sample)[at] = limited<typename P::Y>(y + P::Y_ZP, P::ACT_MIN, P::ACT_MAX);
    }
}

// scale * (x - X_ZP).
template <class P> TINYRT_FN void dequantize(const Team &t) {
    for (int i = t.thread; i < P::SAMPLES * P::SIZE; i += t.threads) {
        const int sample = i / P::SIZE, at = i % P::SIZE;
        P::y(t, sample)[at] =
            product(P::scale(), static_cast<float>(P::x(t, sample)[at] - P::X_ZP));
    }
}

// 16 bytes of a zero point, for kernels that read beyond a tensor's edge.
TINYRT_FN void fill_padding(const Team &t, int offset, i32 zero_point) {
    if (t.thread < 4)
        store4(t.arena + offset + 4 * t.thread, four(zero_point));
}

// A model's tensor between device memory, where samples lie one behind the other, and the arena.
template <int SAMPLES, int BYTES, bool IN>
TINYRT_FN void transfer(const Team &t, i8 *outside, int offset, int stride, long long first,
                        int samples) {
    constexpr int UNIT = BYTES % 16 == 0 ? 16 : BYTES % 4 == 0 ? 4 : 1;
    constexpr int UNITS = BYTES / UNIT;
    for (int i = t.thread; i < SAMPLES * UNITS; i += t.threads) {
        const int sample = i / UNITS, at = i % UNITS * UNIT;
        if (sample >= samples)
            break;
        i8 *far = outside + (first + sample) * BYTES + at,
           *near = t.arena + offset + sample * stride + at;
        const i8 *from = IN ? far : near;
        i8 *to = IN ? near : far;
        if (UNIT == 16) {
            u32 v[4];
            load16(from, v);
            store16(to, v);
        } else if (UNIT == 4) {
            store4(to, load4(from));
        } else {
            *to = *from;
        }
    }
}

// An input on its way into the arena, four elements at a time: P::at says where each comes from.
template <class P>
TINYRT_FN void widen(const Team &t, const i8 *outside, long long first, int samples) {
    constexpr int UNITS = P::SIZE / 4;
    for (int i = t.thread; i < P::SAMPLES * UNITS; i += t.threads) {
        const int sample = i / UNITS, word = i % UNITS * 4;
        if (sample >= samples)
            break;
        const i8 *from = outside + (first + sample) * P::BYTES;
        i32 v[4];
        TINYRT_UNROLL
        for (int j = 0; j < 4; ++j) {
            const int at = P::at(word + j);
            v[j] = at < 0 ? P::FILL : from[at];
        }
        store4(P::y(t, sample) + word, pack4(v));
    }
}

// Pixels of three channels, to which a fourth is added, four pixels at a time. What the fourth
// holds is multiplied by weights that are zero.
template <class P>
TINYRT_FN void widen_pixels(const Team &t, const i8 *outside, long long first, int samples) {
    constexpr int UNITS = P::SIZE / 16;
    for (int i = t.thread; i < P::SAMPLES * UNITS; i += t.threads) {
        const int sample = i / UNITS, unit = i % UNITS;
        if (sample >= samples)
            break;
        const i8 *from = outside + (first + sample) * P::BYTES + 12 * unit;
        const u32 a = load4(from), b = load4(from + 4), c = load4(from + 8);
        const u32 wide[4] = {a, bytes(a, b, 0x6543), bytes(b, c, 0x5432), c >> 8};
        store16(P::y(t, sample) + 16 * unit, wide);
    }
}

} // namespace tinyrt
