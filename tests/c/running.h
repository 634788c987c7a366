/** Stands before every source of a model in tests: requirements of kernels are checked, and the op
 *  that runs is known to whoever reports that the program stopped. */
#ifndef RUNNING_H
#define RUNNING_H

#include <assert.h>

#define TINYRT_ASSERT assert

/** An op begins: it may touch its own bytes of the arena. */
void tinyrt_op_begins(int op);

/** An op is done. */
void tinyrt_op_ends(void);

#define TINYRT_PROFILE_BEGIN(op) tinyrt_op_begins(op)
#define TINYRT_PROFILE_END(op) ((void)(op), tinyrt_op_ends())

#endif
