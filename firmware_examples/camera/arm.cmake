# For CMAKE_TOOLCHAIN_FILE: GCC for Arm microcontrollers, whose programs this machine cannot run.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
