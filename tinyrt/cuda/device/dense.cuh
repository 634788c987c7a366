// Convolution and matrix product on the tensor cores: an implicit matrix product of MT * 16 rows
// (pixels of all samples that the block holds) and NT * 8 columns (output channels) per warp.
//
// K runs over taps and input channels, in pieces of 64: a lane reads 16 neighbouring bytes of a
// row's piece, which serve two products of 32. That mixes up the order of K within a piece, the
// same for rows and columns, so that sums stay what they are. Columns are mixed up, too: a lane
// ends up with 2 * NT neighbouring channels. The exporter packs weights accordingly.
#pragma once
#include "requant.cuh"

namespace tinyrt {

// A row of the matrix: an output pixel, by its first tap. Where P::MASKED, bit `tap` of `inside` says
// whether that tap lies inside the image.
struct Pixel {
    const i8 *x;
    int iy;
    int ix;
    int offset;
    u32 inside;
};

// Taps that lie inside, without loops: those below the first row, those above the last, and columns
// likewise, repeated in each row.
template <class P> TINYRT_FN u32 taps_inside(int iy, int ix) {
    constexpr int TAPS = P::KH * P::KW;
    constexpr u32 ALL = TAPS >= 32 ? ~0u : (1u << TAPS % 32) - 1, ROW = (1u << P::KW % 32) - 1;
    u32 every = 0;
    TINYRT_UNROLL
    for (int ky = 0; ky < P::KH; ++ky) every |= 1u << ky * P::KW % 32;
    const u32 rows = ALL << P::KW * greatest(-iy, 0) & ALL >> P::KW * greatest(iy + P::KH - P::IH, 0);
    const u32 columns = ROW << greatest(-ix, 0) & ROW >> greatest(ix + P::KW - P::IW, 0) & ROW;
    return rows & columns * every;
}

template <class P> TINYRT_FN Pixel pixel_at(const Team &t, int row) {
    constexpr int PIXELS = P::OH * P::OW;
    const int m = least(row, P::SAMPLES * P::IMAGES * PIXELS - 1);
    const int pixel = m % PIXELS, image = m / PIXELS;
    Pixel found;
    found.x = P::x(t, image / P::IMAGES) + image % P::IMAGES * (P::IH * P::IW * P::C);
    found.iy = pixel / P::OW * P::SY - P::PT;
    found.ix = pixel % P::OW * P::SX - P::PL;
    found.offset = (found.iy * P::IW + found.ix) * P::C;
    found.inside = P::MASKED ? taps_inside<P>(found.iy, found.ix) : 0;
    return found;
}

// Where byte k of a row lies; for padding, and beyond the end of K, bytes that are the zero point.
template <class P> TINYRT_FN const i8 *place(const Team &t, const Pixel &row, int k) {
    constexpr bool one_tap = P::KH * P::KW == 1;
    const int tap = one_tap ? 0 : k / P::C, c = k - tap * P::C;
    const int ky = tap / P::KW * P::DY, kx = tap % P::KW * P::DX;
    bool inside = P::FULL_K || k < P::K;
    if (P::MASKED) {
        inside = inside && (row.inside >> (tap & 31) & 1) != 0;
    } else if (P::PADDED) {
        inside = inside && static_cast<u32>(row.iy + ky) < static_cast<u32>(P::IH) &&
                 static_cast<u32>(row.ix + kx) < static_cast<u32>(P::IW);
    }
    const int offset = row.offset + (ky * P::IW + kx) * P::C + c;
    return inside ? row.x + offset : t.arena + P::PADDING;
}

// WORDS words of a row from byte k on, in loads of P::UNIT bytes.
template <class P, int WORDS>
TINYRT_FN void fetch(const Team &t, const Pixel &row, int k, u32 *to) {
    if (P::UNIT >= 16 && WORDS == 4) {
        load16(place<P>(t, row, k), to);
    } else if (P::UNIT >= 8) {
        TINYRT_UNROLL
        for (int i = 0; i < WORDS; i += 2) load8(place<P>(t, row, k + 4 * i), to + i);
    } else if (P::UNIT == 4) {
        TINYRT_UNROLL
        for (int i = 0; i < WORDS; ++i) to[i] = load4(place<P>(t, row, k + 4 * i));
    } else {
        TINYRT_UNROLL
        for (int i = 0; i < WORDS; ++i) {
            u32 word = 0;
            TINYRT_UNROLL
            for (int j = 0; j < 4; ++j) {
                const i32 byte = *place<P>(t, row, k + 4 * i + j);
                word |= (static_cast<u32>(byte) & 0xff) << (8 * j);
            }
            to[i] = word;
        }
    }
}

// The products of one piece of K; HALVES is 2, or 1 for a last piece of 32.
template <class P, int HALVES>
TINYRT_FN void piece(const Team &t, const Pixel (&rows)[P::MT][2][TINYRT_LANES], int k,
                     const i8 *weights, FragmentC (&acc)[P::MT][P::NT][TINYRT_LANES]) {
    FragmentB b[P::NT][2][TINYRT_LANES];
    TINYRT_UNROLL
    for (int n = 0; n < P::NT; ++n) {
        for (int slot = 0; slot < TINYRT_LANES; ++slot) {
            // One load for both halves; a short piece has zeros in the second.
            u32 w[4];
            const int lane = lane_of(t, slot);
            constant16(weights + (n * 32 + lane) * 16, w);
            b[n][0][slot].r[0] = w[0], b[n][0][slot].r[1] = w[1];
            b[n][1][slot].r[0] = w[2], b[n][1][slot].r[1] = w[3];
        }
    }
    TINYRT_UNROLL
    for (int m = 0; m < P::MT; ++m) {
        FragmentA a[2][TINYRT_LANES];
        for (int slot = 0; slot < TINYRT_LANES; ++slot) {
            const int column = lane_of(t, slot) % 4;
            TINYRT_UNROLL
            for (int half = 0; half < 2; ++half) {
                u32 x[2 * HALVES];
                fetch<P, 2 * HALVES>(t, rows[m][half][slot], k + 8 * HALVES * column, x);
                TINYRT_UNROLL
                for (int i = 0; i < HALVES; ++i) {
                    a[i][slot].r[half] = x[2 * i];
                    a[i][slot].r[half + 2] = x[2 * i + 1];
                }
            }
        }
        TINYRT_UNROLL
        for (int n = 0; n < P::NT; ++n) {
            TINYRT_UNROLL
            for (int i = 0; i < HALVES; ++i) mma(acc[m][n], a[i], b[n][i]);
        }
    }
}

// A lane's 2 * NT channels of one row, from `channel` on.
template <class P> TINYRT_FN void store_channels(i8 *y, int channel, const i32 *v) {
    if (P::N % (8 * P::NT) == 0 && P::NT >= 2) {
        u32 words[P::NT < 2 ? 1 : P::NT / 2];
        TINYRT_UNROLL
        for (int i = 0; i < P::NT / 2; ++i) words[i] = pack4(v + 4 * i);
        if (P::NT == 4) {
            store8(y + channel, words);
        } else {
            store4(y + channel, words[0]);
        }
    } else {
        TINYRT_UNROLL
        for (int i = 0; i < 2 * P::NT; ++i) {
            if (channel + i < P::N) y[channel + i] = static_cast<i8>(clamp(v[i], -128, 127));
        }
    }
}

template <class P>
TINYRT_FN void finish(const Team &t, int first_row, int group,
                      const FragmentC (&acc)[P::MT][P::NT][TINYRT_LANES]) {
    constexpr int PIXELS = P::IMAGES * P::OH * P::OW;
    for (int slot = 0; slot < TINYRT_LANES; ++slot) {
        const int lane = lane_of(t, slot);
        const int channel = group * 8 * P::NT + lane % 4 * 2 * P::NT;
        Channel channels[2 * P::NT];
        TINYRT_UNROLL
        for (int i = 0; i < 2 * P::NT; ++i) {
            channels[i] = channel_at(P::channels(t) + (channel + i) * 16);
        }
        TINYRT_UNROLL
        for (int m = 0; m < P::MT; ++m) {
            TINYRT_UNROLL
            for (int half = 0; half < 2; ++half) {
                const int row = first_row + 16 * m + 8 * half + lane / 4;
                if (row >= P::SAMPLES * PIXELS) continue;
                i32 v[2 * P::NT];
                TINYRT_UNROLL
                for (int i = 0; i < 2 * P::NT; ++i) {
                    v[i] = output_of<P>(acc[m][i / 2][slot].r[2 * half + i % 2], channels[i]);
                }
                store_channels<P>(P::y(t, row / PIXELS) + row % PIXELS * P::N, channel, v);
            }
        }
    }
}

template <class P> TINYRT_FN void dense(const Team &t) {
    if (!leads_warp(t)) return;
    constexpr int ROWS = P::SAMPLES * P::IMAGES * P::OH * P::OW;
    constexpr int TILES = (ROWS + 16 * P::MT - 1) / (16 * P::MT);
    constexpr int GROUPS = (P::N + 8 * P::NT - 1) / (8 * P::NT);
    constexpr int PIECES = (P::K + 31) / 64;
    constexpr bool SHORT = P::K - 64 * PIECES > 0;
    constexpr int PIECE_BYTES = P::NT * 32 * 16;
    for (int unit = t.thread / 32; unit < TILES * GROUPS; unit += t.threads / 32) {
        const int first_row = unit % TILES * 16 * P::MT, group = unit / TILES;
        Pixel rows[P::MT][2][TINYRT_LANES];
        FragmentC acc[P::MT][P::NT][TINYRT_LANES];
        TINYRT_UNROLL
        for (int m = 0; m < P::MT; ++m) {
            for (int slot = 0; slot < TINYRT_LANES; ++slot) {
                const int row = first_row + 16 * m + lane_of(t, slot) / 4;
                rows[m][0][slot] = pixel_at<P>(t, row);
                rows[m][1][slot] = pixel_at<P>(t, row + 8);
            }
            TINYRT_UNROLL
            for (int n = 0; n < P::NT; ++n) {
                for (int slot = 0; slot < TINYRT_LANES; ++slot) acc[m][n][slot] = FragmentC{};
            }
        }
        const i8 *weights = P::weights(t) + group * (PIECES + SHORT) * PIECE_BYTES;
        TINYRT_UNROLL
        for (int i = 0; i < PIECES; ++i) {
            piece<P, 2>(t, rows, 64 * i, weights + i * PIECE_BYTES, acc);
        }
        if (SHORT) piece<P, 1>(t, rows, 64 * PIECES, weights + PIECES * PIECE_BYTES, acc);
        finish<P>(t, first_row, group, acc);
    }
}

} // namespace tinyrt
