/** Walking over tensors of any rank, last axis fastest. */
#ifndef TINYRT_INDEX_H
#define TINYRT_INDEX_H

#include "tinyrt_types.h"

/** Advances index to the next element of a tensor; returns 0 after the last one. */
static inline int tinyrt_next_index(int32_t rank, const int32_t *dims, int32_t *index) {
    for (int32_t axis = rank - 1; axis >= 0; --axis) {
        if (++index[axis] < dims[axis]) {
            return 1;
        }
        index[axis] = 0;
    }
    return 0;
}

/** As tinyrt_next_index; at, the element's distance from the tensor's first one, follows. */
static inline int tinyrt_next_place(int32_t rank, const int32_t *dims, const int32_t *strides,
                                    int32_t *index, int32_t *at) {
    for (int32_t axis = rank - 1; axis >= 0; --axis) {
        *at += strides[axis];
        if (++index[axis] < dims[axis]) {
            return 1;
        }
        *at -= strides[axis] * dims[axis];
        index[axis] = 0;
    }
    return 0;
}

/** The element's distance from the tensor's first one. */
static inline int32_t tinyrt_flat_index(int32_t rank, const int32_t *strides,
                                        const int32_t *index) {
    int32_t flat = 0;
    for (int32_t axis = 0; axis < rank; ++axis) {
        flat += strides[axis] * index[axis];
    }
    return flat;
}

#endif
