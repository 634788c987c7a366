#include "tinyrt_standard.h"

#include "tinyrt_group_sums.h"
#include "tinyrt_signal_filter_bank.h"

/** A feature from 0 on, of 4 fraction bits. */
static inline int32_t fine(const tinyrt_standard_params *p, uint16_t x) {
    return (int32_t)(x ^ p->flip) * 16;
}

void tinyrt_standard(const tinyrt_standard_params *p, const uint16_t *window,
                     tinyrt_standard_group *TINYRT_RESTRICT groups) {
    const int32_t in_group = (p->rows * p->size) / p->groups;
    const uint64_t count = (uint64_t)in_group;
    const int32_t none = 0;
    for (int32_t k = 0; k < p->groups; ++k) {
        const tinyrt_group group = {window + k, in_group, p->groups, p->flip};
        const uint64_t sum = tinyrt_group_sum(&group);
        const int32_t mean = (int32_t)(((32U * sum) + count) / (2U * count));
        const uint64_t squares = tinyrt_group_squares(&group, mean);
        const uint64_t square = squares / count;
        uint32_t root;
        tinyrt_signal_filter_bank_square_root(1, &square, &none, &root);
        groups[k].mean = mean;
        groups[k].deviation = (root < 16U) ? 16U : root;
    }
}

void tinyrt_standard_row(const tinyrt_standard_params *p, const tinyrt_standard_group *groups,
                         const uint16_t *x, int32_t *TINYRT_RESTRICT y) {
    const tinyrt_standard_group *group = groups;
    for (int32_t i = 0; i < p->size; ++i) {
        const int32_t far = fine(p, x[i]) - group->mean;
        const uint32_t size = (far < 0) ? 0U - (uint32_t)far : (uint32_t)far;
        const uint32_t parts = ((size * 256U) + (group->deviation / 2U)) / group->deviation;
        const int32_t most = (parts > (uint32_t)INT16_MAX) ? INT16_MAX : (int32_t)parts;
        y[i] = (far < 0) ? -most : most;
        group += (p->groups > 1) ? 1 : 0;
    }
}
