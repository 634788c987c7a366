#include "tinyrt_lstm_quads.h"

#define TINYRT_WEIGHT_BITS 4
#define TINYRT_KERNEL tinyrt_lstm_quads_s4
#include "tinyrt_lstm_quads_bytes_loop.h"
