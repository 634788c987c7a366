// Ops whose outputs depend on many inputs: pools, means, softmax, running sums, interpolation.
#pragma once
#include "elementwise.cuh"
#include "plain.cuh"

namespace tinyrt {

// One output per thread: P::MAX, or the mean of those elements that lie inside, halves away from 0,
// or up where it is P::LEGACY.
template <class P> TINYRT_FN void pool(const Team &t) {
    constexpr int OUT = P::IMAGES * P::OH * P::OW * P::N;
    for (int i = t.thread; i < P::SAMPLES * OUT; i += t.threads) {
        const int c = i % P::N, ox = i / P::N % P::OW, oy = i / P::N / P::OW % P::OH;
        const typename P::X *x = image_of<P>(t, i) + c;
        const int top = oy * P::SY - P::PT, left = ox * P::SX - P::PL;
        const int y0 = greatest(top, 0), y1 = least(top + P::KH, P::IH);
        const int x0 = greatest(left, 0), x1 = least(left + P::KW, P::IW);
        i32 total = P::MAX ? -32768 : 0;
        for (int iy = y0; iy < y1; ++iy) {
            for (int ix = x0; ix < x1; ++ix) {
                const i32 v = x[(iy * P::IW + ix) * P::C];
                total = P::MAX ? greatest(total, v) : total + v;
            }
        }
        if (!P::MAX) {
            const i32 count = (y1 - y0) * (x1 - x0), half = count / 2;
            if (P::LEGACY)
                total = (total + 128 * count + half) / count - 128;
            else
                total = (total < 0 ? total - half : total + half) / count;
        }
        P::y(t, i / OUT)[i % OUT] =
            static_cast<typename P::Y>(clamp(total, P::ACT_MIN, P::ACT_MAX));
    }
}

// Outputs P::at(i) begin; their elements are P::step(j) further, j below COUNT.
template <class P> TINYRT_FN void sum(const Team &t) {
    for (int i = t.thread; i < P::SAMPLES * P::SIZE; i += t.threads) {
        const int sample = i / P::SIZE, at = i % P::SIZE;
        const typename P::X *x = P::x(t, sample) + P::at(at);
        i32 total = 0;
        for (int j = 0; j < P::COUNT; ++j)
            total += x[P::step(j)] - P::X_ZP;
        const i64 y = requant(total, P::MULT, P::SHIFT);
        P::y(t, sample)[at] = limited<typename P::Y>(y + P::Y_ZP, P::ACT_MIN, P::ACT_MAX);
    }
}

template <class P> TINYRT_FN void product(const Team &t) {
    for (int i = t.thread; i < P::SAMPLES * P::SIZE; i += t.threads) {
        const int sample = i / P::SIZE, at = i % P::SIZE;
        const typename P::X *x = P::x(t, sample) + P::at(at);
        i32 found = x[0] - P::X_ZP;
        for (int j = 1; j < P::COUNT; ++j) {
            const i64 both = static_cast<i64>(found) * (x[P::step(j)] - P::X_ZP);
            found = static_cast<i32>(requant_wide(both, P::MULT, P::RIGHT));
        }
        const i64 y = static_cast<i32>(requant_wide(found, P::MULT, P::RIGHT));
        P::y(t, sample)[at] = limited<typename P::Y>(y + P::Y_ZP, P::ACT_MIN, P::ACT_MAX);
    }
}

template <class P> TINYRT_FN void extremum(const Team &t) {
    for (int i = t.thread; i < P::SAMPLES * P::SIZE; i += t.threads) {
        const int sample = i / P::SIZE, at = i % P::SIZE;
        const typename P::X *x = P::x(t, sample) + P::at(at);
        i32 found = x[0];
        for (int j = 1; j < P::COUNT; ++j) {
            const i32 v = x[P::step(j)];
            found = P::MAX ? greatest(found, v) : least(found, v);
        }
        P::y(t, sample)[at] = static_cast<typename P::Y>(found);
    }
}

// The first place along the axis of P::DEPTH elements where the greatest lies, or the least.
template <class P> TINYRT_FN void place(const Team &t) {
    constexpr int LINES = P::OUTER * P::INNER;
    for (int i = t.thread; i < P::SAMPLES * LINES; i += t.threads) {
        const int sample = i / LINES, at = i % LINES;
        const int first = at / P::INNER * P::DEPTH * P::INNER + at % P::INNER;
        const typename P::X *x = P::x(t, sample) + first;
        i32 found = x[0];
        int where = 0;
        for (int j = 1; j < P::DEPTH; ++j) {
            const i32 v = x[j * P::INNER];
            if (P::MAX ? v > found : v < found) {
                found = v;
                where = j;
            }
        }
        P::y(t, sample)[at] = where;
    }
}

// The places of the K largest of each row of DEPTH elements, the largest and the first one first.
template <class P> TINYRT_FN void topk(const Team &t) {
    for (int i = t.thread; i < P::SAMPLES * P::ROWS; i += t.threads) {
        const int sample = i / P::ROWS, row = i % P::ROWS;
        const typename P::X *x = P::x(t, sample) + row * P::DEPTH;
        typename P::Y *y = P::y(t, sample) + row * P::K;
        for (int j = 0; j < P::DEPTH; ++j) {
            int at = j < P::K ? j : P::K;
            for (; at > 0 && x[j] > x[y[at - 1]]; --at) {
                if (at < P::K) {
                    y[at] = y[at - 1];
                }
            }
            if (at < P::K) {
                y[at] = j;
            }
        }
    }
}

TINYRT_FN i32 saturated_left(i64 x, int left) {
    const i64 raised = x * (1ll << left);
    return static_cast<i32>(raised > 2147483647ll        ? 2147483647ll
                            : raised < -2147483647ll - 1 ? -2147483647ll - 1
                                                         : raised);
}

// 1 / (1 + a) for a in [0, 1], both Q0: three Newton-Raphson steps, as in fixedpoint.py.
TINYRT_FN i32 one_over_one_plus(i32 a) {
    const i64 total = static_cast<i64>(a) + 2147483647ll;
    const i32 half = static_cast<i32>(total >= 0 ? (total + 1) >> 1 : -((1 - total) >> 1));
    i32 x = 1515870810 + high_product(half, -1010580540);
    for (int i = 0; i < 3; ++i) {
        const i32 error = (1 << 29) - high_product(half, x);
        x += saturated_left(high_product(x, error), 2);
    }
    return saturated_left(x, 1);
}

TINYRT_FN int significant_bits(u32 v) {
    int bits = 0;
    while (v >> bits != 0 && bits < 31)
        ++bits;
    return v >> 31 ? 32 : bits;
}

// One row per thread; P::exponentials is exp(-i * beta * scale) in Q0 for i in 0 to 255.
template <class P> TINYRT_FN void softmax(const Team &t) {
    for (int i = t.thread; i < P::SAMPLES * P::ROWS; i += t.threads) {
        const int sample = i / P::ROWS, at = i % P::ROWS * P::SIZE;
        const i8 *x = P::x(t, sample) + at;
        typename P::Y *y = P::y(t, sample) + at;
        i32 most = x[0], total = 0;
        for (int j = 1; j < P::SIZE; ++j)
            most = greatest(most, x[j]);
        for (int j = 0; j < P::SIZE; ++j) {
            total += divide_by_power(
                static_cast<i32>(constant4(P::exponentials(t) + 4 * (most - x[j]))), 12);
        }
        const int headroom = 32 - significant_bits(static_cast<u32>(total));
        const u32 raised = static_cast<u32>(total) << headroom;
        const i32 scale = one_over_one_plus(static_cast<i32>(raised - 2147483648u));
        for (int j = 0; j < P::SIZE; ++j) {
            const i32 e = static_cast<i32>(constant4(P::exponentials(t) + 4 * (most - x[j])));
            const i32 share = divide_by_power(high_product(scale, e), 12 - headroom + 31 - P::BITS);
            constexpr i32 half = 1 << (P::BITS - 1);
            y[j] = static_cast<typename P::Y>(clamp(share - half, -half, half - 1));
        }
    }
}

// How far a positive value can be shifted to the left.
TINYRT_FN int headroom_of(i32 v) {
    return 31 - significant_bits(static_cast<u32>(v));
}

// log(x) for x of 1 and more, Q12 to Q5, as in fixedpoint.py: near sqrt(sqrt(1/2)), where x is
// brought to, the logarithm is a quotient of polynomials.
TINYRT_FN i32 log_of(i32 x) {
    constexpr int X_BITS = 12, LOG_BITS = 6;
    constexpr i32 LOG_2 = 1488522236, QUARTER_ROOT = 1805811301, HALF_ROOT = 1518500250;
    constexpr i32 UNIT = 1 << (31 - LOG_BITS), QUARTER = 1 << (29 - LOG_BITS);
    const int room = headroom_of(x), other = headroom_of(high_product(x, HALF_ROOT));
    const i32 first = saturated_left(high_product(x << room, HALF_ROOT), 1);
    const i32 second = saturated_left(x, greatest(other, 0));
    const i32 r = least(first, second);
    const i32 power =
        greatest((X_BITS - room - 1) * UNIT + QUARTER, (X_BITS - other) * UNIT - QUARTER);
    const i32 p = static_cast<i32>((static_cast<i64>(r) + QUARTER_ROOT + 1) / 2);
    const i32 q = (r - QUARTER_ROOT) * 2, square = high_product(q, q);
    const i32 numerator = high_product(q, r) + high_product(high_product(q, square), 117049297);
    const i32 inner = 1057819769 + q + high_product(127690142, square);
    const i32 denominator = high_product(p, inner) + high_product(638450708, q);
    const i32 share =
        high_product(divide_by_power(numerator, LOG_BITS), one_over_one_plus(denominator));
    return saturated_left(static_cast<i64>(high_product(power, LOG_2)) + share, 1);
}

// One row per thread; for distances i of 0 to 255 steps, P::differences is -i in Q5 and
// P::exponentials its exp in Q12.
template <class P> TINYRT_FN void log_softmax(const Team &t) {
    for (int i = t.thread; i < P::SAMPLES * P::ROWS; i += t.threads) {
        const int sample = i / P::ROWS, at = i % P::ROWS * P::SIZE;
        const i8 *x = P::x(t, sample) + at;
        i8 *y = P::y(t, sample) + at;
        i32 most = x[0], total = 0;
        for (int j = 1; j < P::SIZE; ++j)
            most = greatest(most, x[j]);
        for (int j = 0; j < P::SIZE; ++j)
            total += static_cast<i32>(constant4(P::exponentials(t) + 4 * (most - x[j])));
        const i32 log = log_of(total);
        const i32 held = requant(log + (-2147483647 - 1), P::BACK_MULT, P::BACK_SHIFT);
        const i32 lowest = greatest(held, P::DIFF_MIN - 1);
        for (int j = 0; j < P::SIZE; ++j) {
            const i32 below = most - x[j];
            const i32 difference = static_cast<i32>(constant4(P::differences(t) + 4 * below));
            const i32 steps = divide_by_power(static_cast<i64>(difference) - log, 31 - 5 - 4);
            y[j] = static_cast<i8>(-below > lowest ? clamp(steps + 127, -128, 127) : -128);
        }
    }
}

// 1 / sqrt(n), by the iteration x <- (3 x - n x^3) / 2 from 1, as in fixedpoint.py: a mantissa, and
// the exponent in `shift`; the largest mantissa where n is 0.
TINYRT_FN i32 inverse_root(i32 n, int *shift) {
    *shift = 0;
    if (n <= 1)
        return 2147483647;
    int right = 11;
    for (; n >= 1 << 29; n /= 4)
        ++right;
    for (; n < 1 << 27; n *= 4)
        --right;
    const i32 half = divide_by_power(n >> 1, 1);
    i32 x = 1 << 28;
    for (int i = 0; i < 5; ++i) {
        const i32 cube = saturated_left(high_product(high_product(x, x), x), 6);
        x = saturated_left(high_product((1 << 28) + (1 << 27), x) - high_product(half, cube), 3);
    }
    const i32 root = high_product(x, 1518500250);
    if (right < 0)
        return static_cast<i32>(static_cast<u32>(root) << -right);
    *shift = -right;
    return root;
}

// One row per thread, brought to length 1 in steps of 1 / 128.
template <class P> TINYRT_FN void l2_normalization(const Team &t) {
    for (int i = t.thread; i < P::SAMPLES * P::ROWS; i += t.threads) {
        const int sample = i / P::ROWS, at = i % P::ROWS * P::SIZE;
        const i8 *x = P::x(t, sample) + at;
        i8 *y = P::y(t, sample) + at;
        i32 total = 0;
        int shift;
        for (int j = 0; j < P::SIZE; ++j)
            total += (x[j] - P::X_ZP) * (x[j] - P::X_ZP);
        const i32 mult = inverse_root(total, &shift);
        for (int j = 0; j < P::SIZE; ++j)
            y[j] = static_cast<i8>(
                clamp(requant((x[j] - P::X_ZP) * (1 << P::EARLY), mult, shift + 7 - P::EARLY), -128,
                      127));
    }
}

// An entry of a table of 513 int16, linear in between.
TINYRT_FN i32 interpolated(const i8 *table, i32 x) {
    const i16 *at = reinterpret_cast<const i16 *>(table) + 256 + (x >> 7);
    return at[0] + (((at[1] - at[0]) * (x & 0x7F) + 64) >> 7);
}

// exp of an int16's distance to the greatest of its row, in Q0.15.
template <class P> TINYRT_FN i32 exponential_of(const Team &t, i32 below) {
    const i64 scaled = static_cast<i64>(requant(below, P::MULT, P::SHIFT)) + 32767;
    return interpolated(P::exponentials(t), limited<i16>(scaled, -32768, 32767));
}

// The same for int16: both exp and the sum's reciprocal are interpolated.
template <class P> TINYRT_FN void softmax_wide(const Team &t) {
    for (int i = t.thread; i < P::SAMPLES * P::ROWS; i += t.threads) {
        const int sample = i / P::ROWS, at = i % P::ROWS * P::SIZE;
        const i16 *x = P::x(t, sample) + at;
        i16 *y = P::y(t, sample) + at;
        i32 most = x[0], total = 0;
        for (int j = 1; j < P::SIZE; ++j)
            most = greatest(most, x[j]);
        for (int j = 0; j < P::SIZE; ++j)
            total += exponential_of<P>(t, x[j] - most);
        const int headroom = 31 - significant_bits(static_cast<u32>(total));
        const i64 raised = ((static_cast<i64>(total) << headroom) + (1 << 13)) >> 14;
        const i32 place = limited<i16>(raised - (1 << 15) - (1 << 16), -32768, 32767);
        const i64 reciprocal = interpolated(P::reciprocals(t), place);
        const int right = 30 - headroom;
        for (int j = 0; j < P::SIZE; ++j) {
            const i64 share = exponential_of<P>(t, x[j] - most) * reciprocal;
            y[j] = limited<i16>((share + ((1ll << right) >> 1)) >> right, 0, 32767);
        }
    }
}

// One line per thread, along P::DEPTH elements INNER apart.
template <class P> TINYRT_FN void running_sum(const Team &t) {
    constexpr int LINES = P::OUTER * P::INNER;
    for (int i = t.thread; i < P::SAMPLES * LINES; i += t.threads) {
        const int sample = i / LINES, line = i % LINES;
        const int begin = line / P::INNER * P::DEPTH * P::INNER + line % P::INNER;
        i32 total = requant(-P::X_ZP * (1 << 20), 1 << 30, 0);
        for (int j = 0; j < P::DEPTH; ++j) {
            const int at = begin + (P::REVERSE ? P::DEPTH - 1 - j : j) * P::INNER;
            const i32 x = requant((P::x(t, sample)[at] - P::X_ZP) * (1 << 20), 1 << 30, 0);
            const i32 sum = static_cast<i32>(static_cast<u32>(total) + static_cast<u32>(x));
            const i64 y = requant(P::EXCLUSIVE ? total : sum, P::MULT, P::SHIFT);
            total = sum;
            P::y(t, sample)[at] = limited<typename P::Y>(y + P::Y_ZP, -128, 127);
        }
    }
}

// Four words per row of the output, then four per column: first, second, and their shares / 1024.
template <class P> TINYRT_FN void interpolate(const Team &t) {
    constexpr int OUT = P::IMAGES * P::OH * P::OW * P::N;
    for (int i = t.thread; i < P::SAMPLES * OUT; i += t.threads) {
        const int c = i % P::N, ox = i / P::N % P::OW, oy = i / P::N / P::OW % P::OH;
        const i8 *x = image_of<P>(t, i) + c;
        u32 row[4], column[4];
        constant16(P::shares(t) + 16 * oy, row);
        constant16(P::shares(t) + 16 * (P::OH + ox), column);
        i64 total = 0;
        for (int j = 0; j < 2; ++j) {
            for (int k = 0; k < 2; ++k) {
                const i64 share = static_cast<i64>(static_cast<i32>(row[2 + j])) *
                                  static_cast<i32>(column[2 + k]);
                total += share *
                         x[(static_cast<i32>(row[j]) * P::IW + static_cast<i32>(column[k])) * P::C];
            }
        }
        P::y(t, i / OUT)[i % OUT] = static_cast<i8>(divide_by_power(total, 20));
    }
}

// The share of one pixel, as on uint8.
TINYRT_FN float legacy_part(i8 x, float down, float across) {
    return product(product(static_cast<float>(x + 128), down), across);
}

// In float32, values 128 higher, halves up. Two places for each row and column, then the shares.
template <class P> TINYRT_FN void interpolate_legacy(const Team &t) {
    constexpr int OUT = P::IMAGES * P::OH * P::OW * P::N;
    const i32 *places = reinterpret_cast<const i32 *>(P::places(t));
    const float *shares = reinterpret_cast<const float *>(P::shares(t));
    for (int i = t.thread; i < P::SAMPLES * OUT; i += t.threads) {
        const int c = i % P::N, ox = i / P::N % P::OW, oy = i / P::N / P::OW % P::OH;
        const i8 *above = image_of<P>(t, i) + c + places[2 * oy] * (P::IW * P::C);
        const i8 *below = image_of<P>(t, i) + c + places[2 * oy + 1] * (P::IW * P::C);
        const int left = places[2 * (P::OH + ox)] * P::C;
        const int right = places[2 * (P::OH + ox) + 1] * P::C;
        const float down = shares[oy], across = shares[P::OH + ox];
        float total = legacy_part(above[left], 1.0f - down, 1.0f - across);
        total += legacy_part(below[left], down, 1.0f - across);
        total += legacy_part(above[right], 1.0f - down, across);
        total += legacy_part(below[right], down, across);
        P::y(t, i / OUT)[i % OUT] = static_cast<i8>(static_cast<i32>(total + 0.5f) - 128);
    }
}

} // namespace tinyrt
