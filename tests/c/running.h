/** Stands before every source of a model in tests: requirements of kernels are checked, and the op
 *  that runs is known to whoever reports that the program stopped. */
#ifndef RUNNING_H
#define RUNNING_H

#include <assert.h>

#define TINYRT_ASSERT assert

/** The number of the op that was begun last; -1 before the first and behind each. */
extern int tinyrt_running;

#define TINYRT_PROFILE_BEGIN(op) (tinyrt_running = (op))
#define TINYRT_PROFILE_END(op) ((void)(op), tinyrt_running = -1)

#endif
