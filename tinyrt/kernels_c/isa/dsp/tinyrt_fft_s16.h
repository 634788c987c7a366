/** Stages of transforms of int16, a complex number in a word. */
#ifndef TINYRT_FFT_S16_H
#define TINYRT_FFT_S16_H

#include "tinyrt_fft_words_s16.h"

#define TINYRT_FFT_FOURS tinyrt_fft_fours_words

#endif
