// Depthwise convolution in registers: a thread computes four neighbouring channels of R outputs
// that lie below each other, and reads each input row under them once.
//
// Four taps of a row are four words of four channels; turned round, they are four words of four
// taps, each a dot product's operand. A kernel one tap wide needs no turning: its weights are words
// that are zero but for one channel's byte.
#pragma once
#include "requant.cuh"

namespace tinyrt {

// Words of four channels to words of four taps; where there are fewer, what lies behind them is
// multiplied by weights that are zero.
TINYRT_FN void turn(int taps, const u32 (&x)[4], u32 (&y)[4]) {
    const u32 low = bytes(x[0], x[1], 0x5140), high = bytes(x[0], x[1], 0x7362);
    if (taps >= 4) {
        const u32 low23 = bytes(x[2], x[3], 0x5140), high23 = bytes(x[2], x[3], 0x7362);
        y[0] = bytes(low, low23, 0x5410);
        y[1] = bytes(low, low23, 0x7632);
        y[2] = bytes(high, high23, 0x5410);
        y[3] = bytes(high, high23, 0x7632);
    } else {
        y[0] = taps == 3 ? bytes(low, x[2], 0x4410) : low;
        y[1] = taps == 3 ? bytes(low, x[2], 0x5532) : low >> 16;
        y[2] = taps == 3 ? bytes(high, x[2], 0x6610) : high;
        y[3] = taps == 3 ? bytes(high, x[2], 0x7732) : high >> 16;
    }
}

// The words of one input row's taps `first` to `first + 3`, ready for dot products; tap 0 is column
// `ix`, which lies at `line` in the arena.
template <class P>
TINYRT_FN void taps_of(const Team &t, int line, bool row_inside, int ix, int first, u32 (&y)[4]) {
    u32 words[4];
    TINYRT_UNROLL
    for (int i = 0; i < 4; ++i) {
        const int tap = first + i;
        bool inside = row_inside && tap < P::KW;
        if (P::PADDED)
            inside = inside && static_cast<u32>(ix + tap * P::DX) < static_cast<u32>(P::IW);
        words[i] = tap >= P::KW ? 0u
                   : inside     ? load4(t.arena + (line + tap * (P::DX * P::C)))
                                : four(P::X_ZP);
    }
    if (P::KW == 1) {
        y[0] = y[1] = y[2] = y[3] = words[0];
    } else {
        turn(P::KW - first, words, y);
    }
}

template <class P> TINYRT_FN void depthwise(const Team &t) {
    constexpr int QUADS = P::C / 4, STRIPS = (P::OH + P::R - 1) / P::R;
    constexpr int GROUPS = (P::KW + 3) / 4;
    constexpr int ROWS = (P::R - 1) * P::SY + (P::KH - 1) * P::DY + 1;
    for (int i = t.thread; i < P::SAMPLES * P::IMAGES * STRIPS * P::OW * QUADS; i += t.threads) {
        const int quad = i % QUADS, ox = i / QUADS % P::OW, strip = i / QUADS / P::OW % STRIPS;
        const int image = i / QUADS / P::OW / STRIPS;
        const int sample = image / P::IMAGES, n = image % P::IMAGES;
        const i8 *const x = P::x(t, sample) + n * (P::IH * P::IW * P::C) + 4 * quad;
        const i8 *const constants = pinned(P::channels(t) + 64 * quad);
        i8 *y = P::y(t, sample) + n * (P::OH * P::OW * P::C) + 4 * quad;
        const i8 *weights = P::weights(t) + quad * (P::KH * GROUPS * 16);
        const int iy0 = strip * P::R * P::SY - P::PT, ix = ox * P::SX - P::PL;
        const int top = static_cast<int>(x - t.arena) + (iy0 * P::IW + ix) * P::C;
        i32 acc[P::R][4];
        TINYRT_UNROLL
        for (int r = 0; r < P::R; ++r)
            acc[r][0] = acc[r][1] = acc[r][2] = acc[r][3] = START;
        TINYRT_UNROLL
        for (int row = 0; row < ROWS; ++row) {
            const bool inside = static_cast<u32>(iy0 + row) < static_cast<u32>(P::IH);
            TINYRT_UNROLL
            for (int group = 0; group < GROUPS; ++group) {
                u32 taps[4];
                taps_of<P>(t, top + row * (P::IW * P::C), inside, ix, 4 * group, taps);
                TINYRT_UNROLL
                for (int r = 0; r < P::R; ++r) {
                    const int below = row - r * P::SY;
                    if (below < 0 || below % P::DY != 0 || below / P::DY >= P::KH)
                        continue;
                    u32 w[4];
                    constant16(weights + (below / P::DY * GROUPS + group) * 16, w);
                    TINYRT_UNROLL
                    for (int c = 0; c < 4; ++c)
                        acc[r][c] = dot4(taps[c], w[c], acc[r][c]);
                }
            }
        }
        TINYRT_UNROLL
        for (int c = 0; c < 4; ++c) {
            const Channel channel = channel_at(constants + 16 * c);
            TINYRT_UNROLL
            for (int r = 0; r < P::R; ++r)
                acc[r][c] = output_of<P>(acc[r][c], channel);
        }
        TINYRT_UNROLL
        for (int r = 0; r < P::R; ++r) {
            const int oy = strip * P::R + r;
            if (oy < P::OH)
                store4(y + (oy * P::OW + ox) * P::C, pack4(acc[r]));
        }
    }
}

} // namespace tinyrt
