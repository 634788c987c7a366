/** Counts the instructions of every op: included ahead of everything in a profiling build. */
#ifndef HARNESS_PROFILE_H
#define HARNESS_PROFILE_H

void harness_profile_begin(int op);
void harness_profile_end(int op);

#define TINYRT_PROFILE_BEGIN(op) harness_profile_begin(op)
#define TINYRT_PROFILE_END(op) harness_profile_end(op)

#endif
