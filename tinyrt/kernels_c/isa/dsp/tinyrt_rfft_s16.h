/** The last step of transforms of real int16, a complex number in a word. */
#ifndef TINYRT_RFFT_S16_H
#define TINYRT_RFFT_S16_H

#include "tinyrt_rfft_words_s16.h"

#define TINYRT_RFFT_PAIRS(count, split, y) tinyrt_rfft_words(1, count, split, y)

#endif
