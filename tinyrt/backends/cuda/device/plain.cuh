// Convolutions of any kind, one output per thread: groups, depth multipliers, transposed ones, and
// int16 activations, whose accumulators have 64 bits. Elements are taken one by one.
#pragma once
#include "requant.cuh"

namespace tinyrt {

// An output from its accumulator: int8, or int16 with a multiplier of 15 bits where P::WIDE.
template <class P>
TINYRT_FN typename P::Y plain_output(typename P::Acc acc, int channel, const Team &t) {
    const Channel c = channel_at(P::channels(t) + channel * 16);
    const i32 mult = static_cast<i32>(c.mult);
    i64 y;
    if (P::WIDE) {
        y = requant_wide(static_cast<i64>(acc) + static_cast<i64>(c.offset), mult, c.shift);
    } else {
        const u32 whole = static_cast<u32>(acc) + static_cast<u32>(c.offset);
        y = static_cast<i64>(requant(static_cast<i32>(whole), mult, c.shift)) + P::Y_ZP;
    }
    return static_cast<typename P::Y>(y < P::ACT_MIN   ? P::ACT_MIN
                                      : y > P::ACT_MAX ? P::ACT_MAX
                                                       : y);
}

// The image of the input that output element i, of all samples, belongs to.
template <class P> TINYRT_FN const typename P::X *image_of(const Team &t, int i) {
    const int image = i / (P::OH * P::OW * P::N);
    return P::x(t, image / P::IMAGES) + image % P::IMAGES * (P::IH * P::IW * P::C);
}

// Weights (channels, kh, kw, C_GROUP); PER_GROUP output channels read the same C_GROUP inputs.
template <class P> TINYRT_FN void plain_convolution(const Team &t) {
    constexpr int OUT = P::IMAGES * P::OH * P::OW * P::N;
    for (int i = t.thread; i < P::SAMPLES * OUT; i += t.threads) {
        const int n = i % P::N, ox = i / P::N % P::OW, oy = i / P::N / P::OW % P::OH;
        const typename P::X *x = image_of<P>(t, i) + n / P::PER_GROUP * P::C_GROUP;
        const i8 *w = P::weights(t) + n * (P::KH * P::KW * P::C_GROUP);
        typename P::Acc acc = 0;
        for (int ky = 0; ky < P::KH; ++ky) {
            const int iy = oy * P::SY - P::PT + ky * P::DY;
            if (iy < 0 || iy >= P::IH)
                continue;
            for (int kx = 0; kx < P::KW; ++kx) {
                const int ix = ox * P::SX - P::PL + kx * P::DX;
                if (ix < 0 || ix >= P::IW)
                    continue;
                const typename P::X *from = x + (iy * P::IW + ix) * P::C;
                const i8 *tap = w + (ky * P::KW + kx) * P::C_GROUP;
                for (int c = 0; c < P::C_GROUP; ++c)
                    acc += (from[c] - P::X_ZP) * tap[c];
            }
        }
        P::y(t, i / OUT)[i % OUT] = plain_output<P>(acc, n, t);
    }
}

// Each output gathers from the inputs under whose kernel it lies; strides are P::SY and P::SX.
template <class P> TINYRT_FN void transposed_convolution(const Team &t) {
    constexpr int OUT = P::IMAGES * P::OH * P::OW * P::N;
    for (int i = t.thread; i < P::SAMPLES * OUT; i += t.threads) {
        const int n = i % P::N, ox = i / P::N % P::OW, oy = i / P::N / P::OW % P::OH;
        const typename P::X *x = image_of<P>(t, i);
        const i8 *w = P::weights(t) + n * (P::KH * P::KW * P::C);
        typename P::Acc acc = 0;
        for (int ky = 0; ky < P::KH; ++ky) {
            const int down = oy + P::PT - ky;
            if (down < 0 || down % P::SY != 0 || down / P::SY >= P::IH)
                continue;
            for (int kx = 0; kx < P::KW; ++kx) {
                const int right = ox + P::PL - kx;
                if (right < 0 || right % P::SX != 0 || right / P::SX >= P::IW)
                    continue;
                const typename P::X *from = x + (down / P::SY * P::IW + right / P::SX) * P::C;
                const i8 *tap = w + (ky * P::KW + kx) * P::C;
                for (int c = 0; c < P::C; ++c)
                    acc += (from[c] - P::X_ZP) * tap[c];
            }
        }
        P::y(t, i / OUT)[i % OUT] = plain_output<P>(acc, n, t);
    }
}

// Products of two activations; P::a_at and P::b_at say where an output's row and column begin.
template <class P> TINYRT_FN void matrix_product(const Team &t) {
    for (int i = t.thread; i < P::SAMPLES * P::SIZE; i += t.threads) {
        const int sample = i / P::SIZE, at = i % P::SIZE;
        const auto *a = P::a(t, sample) + P::a_at(at);
        const auto *b = P::b(t, sample) + P::b_at(at);
        typename P::Acc acc = 0;
        for (int k = 0; k < P::K; ++k) {
            const typename P::Acc product = a[k * P::A_STEP] - P::A_ZP;
            acc += product * (b[k * P::B_STEP] - P::B_ZP);
        }
        P::y(t, sample)[at] = plain_output<P>(acc, 0, t);
    }
}

// A dense layer whose outputs are the number of P::STEPS that lie below their sums.
template <class P> TINYRT_FN void stepped_product(const Team &t) {
    const i32 *biases = reinterpret_cast<const i32 *>(P::biases(t));
    const i32 *last = reinterpret_cast<const i32 *>(P::last(t));
    for (int i = t.thread; i < P::SAMPLES * P::SIZE; i += t.threads) {
        const int sample = i / P::SIZE, at = i % P::SIZE, channel = at % P::N;
        const i8 *x = P::x(t, sample) + at / P::N * P::K;
        const i8 *w = P::weights(t) + channel * P::K;
        u32 acc = static_cast<u32>(biases[channel]);
        for (int k = 0; k < P::K; ++k)
            acc += static_cast<u32>((x[k] - P::X_ZP) * w[k]);
        int below = 0;
        for (int end = P::STEPS; below < end;) {
            const int middle = (below + end) / 2;
            const bool under = last[middle] < static_cast<i32>(acc);
            below = under ? middle + 1 : below;
            end = under ? end : middle;
        }
        P::y(t, sample)[at] = static_cast<i8>(P::ACT_MIN + below);
    }
}

} // namespace tinyrt
