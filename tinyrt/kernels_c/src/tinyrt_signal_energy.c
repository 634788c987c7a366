#include "tinyrt_signal_filter_bank.h"

void tinyrt_signal_energy(const tinyrt_signal_energy_params *p, const int16_t *TINYRT_RESTRICT x,
                          uint32_t *TINYRT_RESTRICT y) {
    for (int32_t i = 0; i < p->size; ++i, x += 2) {
        const int is_wanted = (i >= p->start) && (i < p->end);
        y[i] = is_wanted ? (uint32_t)(x[0] * x[0]) + (uint32_t)(x[1] * x[1]) : 0;
    }
}
