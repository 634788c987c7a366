/** The vector intrinsics of cores with MVE, as plain C over lanes, for a host and its sanitizers.
 *
 *  A function has the name, the arguments and the answer that Arm's intrinsics reference gives it.
 *  tests/firmware/test_intrinsics.py compares each with the instruction on an emulated core. Lanes
 *  that a predicate leaves out touch no memory, and others touch their own element only. */
#ifndef ARM_MVE_H
#define ARM_MVE_H

#include "mve_types.h"

#include "mve_arithmetic.h"
#include "mve_compare.h"
#include "mve_memory.h"
#include "mve_moves.h"
#include "mve_multiply.h"
#include "mve_shifts.h"
#include "mve_sums.h"

#endif
