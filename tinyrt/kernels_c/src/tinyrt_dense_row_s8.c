#include "tinyrt_dense_row.h"

#include "tinyrt_dot_eight.h"

#define TINYRT_DENSE_ROW tinyrt_dense_row_s8
#define TINYRT_DOT_EIGHT tinyrt_dot_eight
#include "tinyrt_row_loop.h"
