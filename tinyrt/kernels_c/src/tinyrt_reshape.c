#include "tinyrt_reshape.h"

#include "tinyrt_copy_all.h"

void tinyrt_reshape(int32_t bytes, const void *x, void *TINYRT_RESTRICT y) {
    tinyrt_copy_all(x, (size_t)bytes, y);
}
