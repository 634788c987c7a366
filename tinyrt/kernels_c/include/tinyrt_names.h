/** The kernels' names in a program. An exported folder has its own file of this name, which renames
 *  them all, so that kernels of two exports never meet; here they are what they are. */
#ifndef TINYRT_NAMES_H
#define TINYRT_NAMES_H

#endif
