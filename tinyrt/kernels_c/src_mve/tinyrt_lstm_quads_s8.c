#include "tinyrt_lstm_quads.h"

#define TINYRT_WEIGHT_BITS 8
#define TINYRT_KERNEL tinyrt_lstm_quads_s8
#include "tinyrt_lstm_quads_bytes_loop.h"
