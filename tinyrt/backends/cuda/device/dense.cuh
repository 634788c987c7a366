// Convolution and matrix product on the tensor cores: an implicit matrix product of CT * 16 output
// channels (rows) and PX * 8 pixels of all samples that the block holds (columns) per warp. Weights
// are the left operand: packed, each load gives a lane just the registers that it multiplies.
//
// K runs over taps and input channels, in pieces of 64: a lane reads 16 neighbouring bytes of a
// pixel's piece, which serve two products of 32. That mixes up the order of K within a piece, the
// same for both operands, so that sums stay what they are. Channels are mixed up, too: a lane ends
// up with 2 * CT neighbouring ones. The exporter packs weights accordingly.
#pragma once
#include "requant.cuh"

namespace tinyrt {

// A column of the matrix: an output pixel, by where in the arena its first tap lies. Where
// P::MASKED, bit `tap` of `inside` says whether that tap lies inside the image; else there are the
// first tap's row and column.
struct Pixel {
    int offset;
    int iy;
    int ix;
    u32 inside;
};

// All columns of the matrix; whether tiles hold no more than these, and all are of one image.
template <class P> struct Columns {
    static constexpr int IMAGE = P::OH * P::OW;
    static constexpr int SAMPLE = P::IMAGES * IMAGE;
    static constexpr int ALL = P::SAMPLES * SAMPLE;
    static constexpr int TILES = (ALL + 8 * P::PX - 1) / (8 * P::PX);
    static constexpr bool FULL = ALL % (8 * P::PX) == 0, SINGLE = ALL == IMAGE;
};

template <class P> TINYRT_FN void fill_pixel(const Team &t, int pixel, Pixel *found) {
    if constexpr (P::MASKED) {
        u32 v[2];
        constant8(P::pixels(t) + 8 * pixel, v);
        found->offset = static_cast<i32>(v[0]);
        found->inside = v[1];
    } else {
        found->iy = pixel / P::OW * P::SY - P::PT;
        found->ix = pixel % P::OW * P::SX - P::PL;
        found->offset = (found->iy * P::IW + found->ix) * P::C;
    }
}

// Column `column` and those 8, 16, ... further.
template <class P> TINYRT_FN void pixels_at(const Team &t, int column, Pixel (&found)[P::PX]) {
    typedef Columns<P> C;
    const i8 *table = nullptr;
    if constexpr (P::MASKED && C::FULL && C::SINGLE)
        table = pinned(P::pixels(t) + 8 * column);
    TINYRT_UNROLL
    for (int n = 0; n < P::PX; ++n) {
        const int own = column + 8 * n, m = C::FULL ? own : least(own, C::ALL - 1);
        const int image = C::SINGLE ? 0 : m / C::IMAGE;
        const i8 *x = P::x(t, image / P::IMAGES) + image % P::IMAGES * (P::IH * P::IW * P::C);
        if constexpr (P::MASKED && C::FULL && C::SINGLE) {
            u32 v[2];
            constant8(table + 64 * n, v);
            found[n] = {static_cast<i32>(v[0]), 0, 0, v[1]};
        } else {
            fill_pixel<P>(t, m - image * C::IMAGE, &found[n]);
        }
        found[n].offset += static_cast<int>(x - t.arena);
    }
}

// Where in the arena byte k of a pixel's taps lies; for padding, and beyond the end of K, bytes
// that are the zero point.
template <class P> TINYRT_FN int place(const Pixel &pixel, int k) {
    constexpr bool one_tap = P::KH * P::KW == 1;
    const int tap = one_tap ? 0 : k / P::C, c = k - tap * P::C;
    const int ky = tap / P::KW * P::DY, kx = tap % P::KW * P::DX;
    bool inside = P::FULL_K || k < P::K;
    if (P::MASKED) {
        inside = inside && (pixel.inside >> (tap & 31) & 1) != 0;
    } else if (P::PADDED) {
        inside = inside && static_cast<u32>(pixel.iy + ky) < static_cast<u32>(P::IH) &&
                 static_cast<u32>(pixel.ix + kx) < static_cast<u32>(P::IW);
    }
    return inside ? pixel.offset + ((ky * P::IW + kx) * P::C + c) : P::PADDING;
}

// WORDS words of a pixel's taps from byte k on, in loads of P::UNIT bytes.
template <class P, int WORDS>
TINYRT_FN void fetch(const Team &t, const Pixel &pixel, int k, u32 *to) {
    if (P::UNIT >= 16 && WORDS == 4) {
        load16(t.arena + place<P>(pixel, k), to);
    } else if (P::UNIT >= 8) {
        TINYRT_UNROLL
        for (int i = 0; i < WORDS; i += 2)
            load8(t.arena + place<P>(pixel, k + 4 * i), to + i);
    } else if (P::UNIT == 4) {
        TINYRT_UNROLL
        for (int i = 0; i < WORDS; ++i)
            to[i] = load4(t.arena + place<P>(pixel, k + 4 * i));
    } else {
        TINYRT_UNROLL
        for (int i = 0; i < WORDS; ++i) {
            u32 word = 0;
            TINYRT_UNROLL
            for (int j = 0; j < 4; ++j) {
                const i32 byte = t.arena[place<P>(pixel, k + 4 * i + j)];
                word |= (static_cast<u32>(byte) & 0xff) << (8 * j);
            }
            to[i] = word;
        }
    }
}

// The products of one piece of K; HALVES is 2, or 1 for a last piece of 32. Its weights lie `at`
// bytes behind a lane's first ones.
template <class P, int HALVES>
TINYRT_FN void piece(const Team &t, const Pixel (&pixels)[TINYRT_LANES][P::PX], int k,
                     const i8 *const (&weights)[TINYRT_LANES], int at,
                     FragmentC (&acc)[P::CT][P::PX][TINYRT_LANES]) {
    FragmentB b[P::PX][HALVES][TINYRT_LANES];
    TINYRT_UNROLL
    for (int n = 0; n < P::PX; ++n) {
        for (int slot = 0; slot < TINYRT_LANES; ++slot) {
            u32 x[2 * HALVES];
            fetch<P, 2 * HALVES>(t, pixels[slot][n], k + 8 * HALVES * (lane_of(t, slot) % 4), x);
            TINYRT_UNROLL
            for (int half = 0; half < HALVES; ++half) {
                b[n][half][slot].r[0] = x[2 * half];
                b[n][half][slot].r[1] = x[2 * half + 1];
            }
        }
    }
    TINYRT_UNROLL
    for (int m = 0; m < P::CT; ++m) {
        TINYRT_UNROLL
        for (int half = 0; half < HALVES; ++half) {
            FragmentA a[TINYRT_LANES];
            for (int slot = 0; slot < TINYRT_LANES; ++slot) {
                constant16(weights[slot] + at + (m * HALVES + half) * (32 * 16), a[slot].r);
            }
            TINYRT_UNROLL
            for (int n = 0; n < P::PX; ++n)
                mma(acc[m][n], a, b[n][half]);
        }
    }
}

// A lane's 2 * CT channels of one pixel, from `channel` on.
template <class P> TINYRT_FN void store_channels(i8 *y, int channel, const i32 *v) {
    if (P::N % (16 * P::CT) == 0) {
        if (P::CT == 4) {
            const u32 words[2] = {pack4(v), pack4(v + 4 * (P::CT == 4))};
            store8(y + channel, words);
        } else if (P::CT == 2) {
            store4(y + channel, pack4(v));
        } else {
            store2(y + channel, pack2(v[0], v[1], 0));
        }
    } else {
        TINYRT_UNROLL
        for (int i = 0; i < 2 * P::CT; ++i) {
            if (channel + i < P::N)
                y[channel + i] = static_cast<i8>(clamp(v[i], -128, 127));
        }
    }
}

// Requantises channel by channel, so that one channel's constants are held at a time, and stores.
template <class P>
TINYRT_FN void finish(const Team &t, int first, int group,
                      FragmentC (&acc)[P::CT][P::PX][TINYRT_LANES]) {
    typedef Columns<P> C;
    for (int slot = 0; slot < TINYRT_LANES; ++slot) {
        const int lane = lane_of(t, slot);
        const int channel = group * 16 * P::CT + lane / 4 * 2 * P::CT;
        const i8 *const constants = pinned(P::channels(t) + channel * 16);
        TINYRT_UNROLL
        for (int i = 0; i < 2 * P::CT; ++i) {
            const Channel c = channel_at(constants + 16 * i);
            TINYRT_UNROLL
            for (int n = 0; n < P::PX; ++n) {
                i32 *v = acc[i / 2][n][slot].r + 2 * (i % 2);
                v[0] = output_of<P>(v[0], c);
                v[1] = output_of<P>(v[1], c);
            }
        }
        TINYRT_UNROLL
        for (int n = 0; n < P::PX; ++n) {
            TINYRT_UNROLL
            for (int right = 0; right < 2; ++right) {
                const int column = first + 8 * n + lane % 4 * 2 + right;
                if (!C::FULL && column >= C::ALL)
                    continue;
                const int sample = P::SAMPLES == 1 ? 0 : column / C::SAMPLE;
                i32 v[2 * P::CT];
                TINYRT_UNROLL
                for (int i = 0; i < 2 * P::CT; ++i)
                    v[i] = acc[i / 2][n][slot].r[right + 2 * (i % 2)];
                i8 *const y = P::y(t, sample) + (column - sample * C::SAMPLE) * P::N;
                store_channels<P>(y, channel, v);
            }
        }
    }
}

template <class P> TINYRT_FN void dense(const Team &t) {
    if (!leads_warp(t))
        return;
    constexpr int TILES = Columns<P>::TILES;
    constexpr int GROUPS = (P::N + 16 * P::CT - 1) / (16 * P::CT);
    constexpr int PIECES = (P::K + 31) / 64;
    constexpr bool SHORT = P::K - 64 * PIECES > 0;
    constexpr int HALF_BYTES = P::CT * 32 * 16;
    for (int unit = t.thread / 32; unit < TILES * GROUPS; unit += t.threads / 32) {
        const int first = unit % TILES * 8 * P::PX, group = unit / TILES;
        const i8 *const packed = P::weights(t) + group * (2 * PIECES + SHORT) * HALF_BYTES;
        Pixel pixels[TINYRT_LANES][P::PX];
        const i8 *weights[TINYRT_LANES];
        FragmentC acc[P::CT][P::PX][TINYRT_LANES];
        for (int slot = 0; slot < TINYRT_LANES; ++slot) {
            const int lane = lane_of(t, slot);
            pixels_at<P>(t, first + lane / 4, pixels[slot]);
            weights[slot] = pinned(packed + lane * 16);
            TINYRT_UNROLL
            for (int tile = 0; tile < P::CT * P::PX; ++tile)
                acc[tile / P::PX][tile % P::PX][slot] = FragmentC{{START, START, START, START}};
        }
        TINYRT_UNROLL
        for (int i = 0; i < PIECES; ++i)
            piece<P, 2>(t, pixels, 64 * i, weights, 2 * i * HALF_BYTES, acc);
        if (SHORT)
            piece<P, 1>(t, pixels, 64 * PIECES, weights, 2 * PIECES * HALF_BYTES, acc);
        finish<P>(t, first, group, acc);
    }
}

} // namespace tinyrt
