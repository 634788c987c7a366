// Ops that keep state from run to run: what it becomes lies beside what it was.
#pragma once
#include "elementwise.cuh"

namespace tinyrt {

// A dense layer over a window in time: one output per thread, which moves its P::RANK filters'
// rows of the past on by one. Features are limited before their zero point is added, and may wrap.
template <class P> TINYRT_FN void filters_in_time(const Team &t) {
    typedef typename P::State State;
    constexpr i32 MOST = sizeof(State) == 1 ? 127 : 32767;
    constexpr int SIZE = P::BATCHES * P::UNITS;
    for (int i = t.thread; i < P::SAMPLES * SIZE; i += t.threads) {
        const int sample = i / SIZE, unit = i % P::UNITS;
        const i8 *x = P::x(t, sample) + i % SIZE / P::UNITS * P::C;
        const State *before = P::before(t, sample) + i % SIZE * P::RANK * P::MEMORY;
        State *after = P::after(t, sample) + i % SIZE * P::RANK * P::MEMORY;
        u32 acc = constant4(P::bias(t) + 4 * unit);
        for (int r = 0; r < P::RANK; ++r, before += P::MEMORY, after += P::MEMORY) {
            const int filter = unit * P::RANK + r;
            const i8 *w = P::features(t, sample) + filter * P::C;
            const State *time = P::time(t, sample) + filter * P::MEMORY;
            i32 sum = 0;
            for (int k = 0; k < P::C; ++k)
                sum += (x[k] - P::X_ZP) * w[k];
            const i32 newest = requant(sum, P::FEATURE_MULT, P::FEATURE_SHIFT);
            for (int k = 0; k < P::MEMORY; ++k) {
                const State v =
                    k + 1 < P::MEMORY
                        ? before[k + 1]
                        : static_cast<State>(clamp(newest, -MOST - 1, MOST) + P::STATE_ZP);
                after[k] = v;
                acc += static_cast<u32>((v - P::STATE_ZP) * time[k]);
            }
        }
        const i64 y = requant(static_cast<i32>(acc), P::TIME_MULT, P::TIME_SHIFT);
        P::y(t, sample)[i % SIZE] = limited<i8>(y + P::Y_ZP, -128, 127);
    }
}

// Byte k of four rows of weights lies at 4 k of a unit's pack: see emit_recurrent.py.
template <int LENGTH, class X, class Acc>
TINYRT_FN void four_products(const X *x, i32 x_zp, const i8 *packed, int pitch, Acc (&acc)[4]) {
    for (int word = 0; word < (LENGTH + 3) / 4; ++word) {
        u32 w[4];
        constant16(packed + word * pitch, w);
        for (int j = 0; j < 4 && 4 * word + j < LENGTH; ++j) {
            const i32 v = x[4 * word + j] - x_zp;
            TINYRT_UNROLL
            for (int gate = 0; gate < 4; ++gate)
                acc[gate] += v * static_cast<i8>(w[gate] >> (8 * j) & 0xff);
        }
    }
}

// What a gate takes of one of its inputs, limited to int16.
template <class P> TINYRT_FN i32 gate_share(typename P::Acc acc, i32 mult, i32 shift) {
    const i64 share =
        P::WIDE ? requant_wide(acc, mult, shift) : requant(static_cast<i32>(acc), mult, shift);
    return limited<i16>(share, -32768, 32767);
}

// Entry x of a table of all answers to int16.
TINYRT_FN i32 answer(const i8 *table, i32 x) {
    return reinterpret_cast<const i16 *>(table)[x + 32768];
}

// One step in time of an LSTM: one unit of one sequence per thread, with its four gates (input,
// forget, cell, output). A barrier ends each step, for the next reads all units of this one.
template <class P> TINYRT_FN void lstm_step(const Team &t) {
    constexpr int SIZE = P::BATCHES * P::UNITS;
    for (int i = t.thread; i < P::SAMPLES * SIZE; i += t.threads) {
        const int sample = i / SIZE, at = i % SIZE, n = at / P::UNITS, unit = at % P::UNITS;
        const int row = n * P::ROW + t.step * P::STEP;
        const typename P::X *before = t.step == 0 ? P::hidden(t, sample) + n * P::UNITS
                                                  : P::y(t, sample) + (row - P::STEP) * P::UNITS;
        typename P::Acc from_x[4], from_h[4] = {};
        for (int gate = 0; gate < 4; ++gate)
            from_x[gate] = reinterpret_cast<const typename P::Acc *>(P::bias(t))[4 * unit + gate];
        four_products<P::C>(P::x(t, sample) + row * P::C, P::X_ZP, P::input_weights(t) + 16 * unit,
                            16 * P::UNITS, from_x);
        four_products<P::UNITS>(before, P::H_ZP, P::hidden_weights(t) + 16 * unit, 16 * P::UNITS,
                                from_h);
        i32 gates[4];
        for (int gate = 0; gate < 4; ++gate) {
            const i32 *mult = reinterpret_cast<const i32 *>(P::mults(t)) + gate;
            const i32 *shift = reinterpret_cast<const i32 *>(P::shifts(t)) + gate;
            gates[gate] = clamp(gate_share<P>(from_x[gate], mult[0], shift[0]) +
                                    gate_share<P>(from_h[gate], mult[4], shift[4]),
                                -32768, 32767);
        }
        const i32 held = t.step == 0 ? P::cell(t, sample)[at] : P::cell_after(t, sample)[at];
        const i32 kept =
            requant(answer(P::logistic(t), gates[1]) * held, P::FORGET_MULT, P::FORGET_SHIFT);
        const i32 taken = requant(answer(P::logistic(t), gates[0]) * answer(P::tanh(t), gates[2]),
                                  P::UPDATE_MULT, P::UPDATE_SHIFT);
        const i32 cell = clamp(clamp(kept, -32768, 32767) + clamp(taken, -32768, 32767),
                               P::CELL_LEAST, P::CELL_MOST);
        P::cell_after(t, sample)[at] = static_cast<i16>(cell);
        const i64 shown = requant(answer(P::logistic(t), gates[3]) * answer(P::cell_tanh(t), cell),
                                  P::OUTPUT_MULT, P::OUTPUT_SHIFT);
        const auto y = limited<typename P::X>(shown + P::H_ZP, P::LEAST, P::MOST);
        P::y(t, sample)[row * P::UNITS + unit] = y;
        if (t.step == P::STEPS - 1)
            P::hidden_after(t, sample)[at] = y;
    }
}

} // namespace tinyrt
