/** What FreeRTOS is told of this firmware: static memory alone, preemption, a tick of 1 ms. */
#ifndef FREERTOS_CONFIG_H
#define FREERTOS_CONFIG_H

#define configCPU_CLOCK_HZ 25000000UL
#define configTICK_RATE_HZ 1000
#define configUSE_PREEMPTION 1
#define configUSE_TIME_SLICING 1
#define configTICK_TYPE_WIDTH_IN_BITS TICK_TYPE_WIDTH_32_BITS
#define configMAX_PRIORITIES 3
#define configMINIMAL_STACK_SIZE 128
#define configMAX_TASK_NAME_LEN 8

#define configSUPPORT_STATIC_ALLOCATION 1
#define configSUPPORT_DYNAMIC_ALLOCATION 0
#define configKERNEL_PROVIDED_STATIC_MEMORY 1
#define configUSE_MUTEXES 1
#define configUSE_TIMERS 0
#define configUSE_IDLE_HOOK 1
#define configUSE_TICK_HOOK 1
#define configCHECK_FOR_STACK_OVERFLOW 2
#define INCLUDE_xTaskDelayUntil 1
#define INCLUDE_vTaskSuspend 1
#define INCLUDE_uxTaskGetStackHighWaterMark 1

extern void abort(void);
#define configASSERT(holds) ((holds) ? (void)0 : abort())

/* Of the eight bits of a priority, the board has the three highest. */
#define configKERNEL_INTERRUPT_PRIORITY (7 << 5)
#define configMAX_SYSCALL_INTERRUPT_PRIORITY (5 << 5)

#endif
