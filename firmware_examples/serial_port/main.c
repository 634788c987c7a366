/** Hands what a serial port receives to the exported protocol, for ever. */
#include <stdint.h>

#include "digits_board.h"

/* The first UART of Arm's MPS2 boards (CMSDK), and the timer of every Cortex-M. */
#define UART_DATA (*(volatile uint32_t *)0x40004000U)
#define UART_STATE (*(volatile uint32_t *)0x40004004U)
#define UART_CONTROL (*(volatile uint32_t *)0x40004008U)
#define UART_DIVISOR (*(volatile uint32_t *)0x40004010U)
#define TIMER_CONTROL (*(volatile uint32_t *)0xE000E010U)
#define TIMER_RELOAD (*(volatile uint32_t *)0xE000E014U)
#define TIMER_NOW (*(volatile uint32_t *)0xE000E018U)

#define CLOCK_HZ 25000000U
#define BAUD 115200U
#define TIMER_MOST 0xFFFFFFU

enum { uart_is_full = 1, uart_has_byte = 2 };

static volatile uint32_t wraps;

void timer_wrapped(void);

/** The timer's interrupt. */
void timer_wrapped(void) {
    wraps = wraps + 1;
}

static void write_uart(void *context, const uint8_t *bytes, uint32_t count) {
    (void)context;
    for (uint32_t i = 0; i < count; ++i) {
        while (UART_STATE & uart_is_full) {
        }
        UART_DATA = bytes[i];
    }
}

/** The timer counts 24 bits down; its interrupt counts the rest. */
static uint64_t ticks(void *context) {
    uint32_t before, now;
    (void)context;
    do {
        before = wraps;
        now = TIMER_NOW;
    } while (before != wraps);
    return (uint64_t)before * (TIMER_MOST + 1U) + (TIMER_MOST - now);
}

int main(void) {
    static _Alignas(DIGITS_ARENA_ALIGNMENT) uint8_t arena[DIGITS_ARENA_BYTES];
    static struct digits_board port;
    const digits_board_calls_t calls = {
        .write = write_uart, .ticks = ticks, .ticks_per_second = CLOCK_HZ};

    UART_DIVISOR = CLOCK_HZ / BAUD;
    UART_CONTROL = 3U; /* sends and receives */
    TIMER_RELOAD = TIMER_MOST;
    TIMER_NOW = 0;
    TIMER_CONTROL = 7U; /* runs, with its interrupt, from the processor's clock */
    if (digits_board_start(&port, &calls, arena) != 0) {
        return 1;
    }
    for (;;) {
        if (UART_STATE & uart_has_byte) {
            digits_board_take(&port, (uint8_t)UART_DATA);
        }
    }
}
