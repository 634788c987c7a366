/** Two tasks of FreeRTOS with a model each: one looks at an image ten times a second, one listens
 *  all the time. A watchdog starts the board again unless both are alive. */
#include <stdio.h>
#include <stdlib.h>

#include "FreeRTOS.h"
#include "semphr.h"
#include "task.h"

#include "board.h"
#include "digits.h"
#include "images.h"
#include "keywords_audio.h"

#define BLOCK 320 /* samples that the microphone delivers at a time: 20 ms */
#define HEADER 44 /* bytes before the samples of a WAV file */
#define INK 16.0F /* the pixel value that the model knows as 1.0 */
#define STACK_WORDS 640
#define ALIVE_MS 250 /* in which each task has to be done with a turn of its work */

enum { looks, listens, tasks };

static TaskHandle_t handles[tasks];
static volatile int is_alive[tasks];
static SemaphoreHandle_t console; /* files and lines of the debugger: one task at a time */

static void require(int status) {
    if (status != 0) {
        abort();
    }
}

static void print_scores(const char *what, long number, const int8_t *scores, int count) {
    xSemaphoreTake(console, portMAX_DELAY);
    printf("%s %ld:", what, number);
    for (int i = 0; i < count; ++i) {
        printf(" %d", scores[i]);
    }
    printf("\n");
    xSemaphoreGive(console);
}

static void look(void *unused) {
    static _Alignas(DIGITS_ARENA_ALIGNMENT) int8_t arena[DIGITS_ARENA_BYTES];
    TickType_t woken = xTaskGetTickCount();
    (void)unused;
    for (int n = 0;; ++n) {
        const uint8_t *const pixels = &images[n % 10][0][0];
        for (int i = 0; i < DIGITS_INPUT_0_BYTES; ++i) {
            arena[DIGITS_INPUT_0_OFFSET + i] = digits_quantize_f32((float)pixels[i] / INK);
        }
        require(digits_invoke(&(digits_io_t){0}, arena));
        print_scores("image", n, arena + DIGITS_OUTPUT_0_OFFSET, DIGITS_OUTPUT_0_BYTES);
        while (n >= HANGS_AT) { /* a fault, for the watchdog: see README.md */
        }
        is_alive[looks] = 1;
        vTaskDelayUntil(&woken, pdMS_TO_TICKS(100));
    }
}

static size_t read_block(int16_t *block, FILE *microphone) {
    xSemaphoreTake(console, portMAX_DELAY);
    const size_t count = fread(block, sizeof *block, BLOCK, microphone);
    xSemaphoreGive(console);
    return count;
}

static void listen(void *microphone) {
    static _Alignas(KEYWORDS_ARENA_ALIGNMENT) int8_t arena[KEYWORDS_ARENA_BYTES];
    static _Alignas(KEYWORDS_AUDIO_STATE_ALIGNMENT) uint8_t state[KEYWORDS_AUDIO_STATE_BYTES];
    static int16_t block[BLOCK];
    const keywords_io_t in_arena = {0};
    keywords_heard_t heard;
    TickType_t woken = xTaskGetTickCount();
    long at = 0;
    require(keywords_reset_audio(state));
    for (size_t count; (count = read_block(block, microphone)) > 0;) {
        for (size_t i = 0; i < count; i += (size_t)heard.used, at += heard.used) {
            require(keywords_push_audio(block + i, (int32_t)(count - i), &heard, &in_arena, arena,
                                        state));
            if (heard.is_answered) {
                print_scores("sound", at + heard.used, arena + KEYWORDS_OUTPUT_0_OFFSET,
                             KEYWORDS_OUTPUT_0_BYTES);
            }
        }
        is_alive[listens] = 1;
        vTaskDelayUntil(&woken, pdMS_TO_TICKS(20));
    }
    xSemaphoreTake(console, portMAX_DELAY);
    printf("bytes of stack left: look %u, listen %u\n",
           4 * (unsigned)uxTaskGetStackHighWaterMark(handles[looks]),
           4 * (unsigned)uxTaskGetStackHighWaterMark(handles[listens]));
    exit(0); /* no more of the recording */
}

/** FreeRTOS calls this every millisecond, from an interrupt. */
void vApplicationTickHook(void) {
    if (is_alive[looks] && is_alive[listens]) {
        is_alive[looks] = is_alive[listens] = 0;
        feed_watchdog(ALIVE_MS);
    }
}

int main(void) {
    static StackType_t stacks[tasks][STACK_WORDS];
    static StaticTask_t blocks[tasks];
    static StaticSemaphore_t mutex;
    FILE *const file = fopen("words.wav", "rb");
    if (was_reset_by_watchdog() || file == NULL || fseek(file, HEADER, SEEK_SET) != 0) {
        printf(file != NULL ? "the watchdog has started the board again\n" : "no words.wav\n");
        return 1;
    }
    console = xSemaphoreCreateMutexStatic(&mutex);
    handles[looks] = xTaskCreateStatic(look, "look", STACK_WORDS, NULL, 2, stacks[0], blocks);
    handles[listens] =
        xTaskCreateStatic(listen, "listen", STACK_WORDS, file, 1, stacks[1], blocks + 1);
    feed_watchdog(ALIVE_MS);
    vTaskStartScheduler();
    return 1;
}
