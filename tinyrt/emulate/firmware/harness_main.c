/** Runs every sample of inputs.bin through the model and measures it.
 *
 *  Reads inputs.bin (the samples one after the other, each with all inputs), writes outputs.bin
 *  likewise and report.txt (one "name hexadecimal" to a line). The model works in blocks of
 *  memory with a canary on both sides, checked after every inference. */
/* Where there are several models, each has this file to itself, and files of its own. */
#ifndef HARNESS_MODEL
#define HARNESS_MODEL "harness_model.h"
#define HARNESS_PART ""
#endif

#include <stdint.h>

#include "harness_clock.h"
#include HARNESS_MODEL
#include "harness_profile.h"
#include "harness_semihosting.h"

#define ARENA_FILL 0xA5U
#define CANARY_FILL 0x3CU
#define STACK_FILL 0xC5C5C5C5U
#define PHASES HARNESS_POLL_INSTRUCTIONS

extern uint32_t image_stack_limit;

#ifdef HARNESS_SHARED
/* Models that take turns define it each; the linker keeps one, as large as the largest. */
#define memory harness_memory
uint8_t memory[HARNESS_MEMORY_BYTES] __attribute__((common, aligned(64)));
#else
static uint8_t memory[HARNESS_MEMORY_BYTES] __attribute__((aligned(64)));
#endif
static int32_t report_file;
static int32_t invoke_status;

void harness_print_hex(const char *label, uint32_t value);
void harness_call(void);

static uint32_t length_of(const char *text) {
    uint32_t length = 0;
    while (text[length] != '\0') {
        ++length;
    }
    return length;
}

static void fail(const char *message) {
    semihosting_print("error: ");
    semihosting_print(message);
    semihosting_print("\n");
    semihosting_exit(SEMIHOSTING_FAILED);
}

static int32_t open_file(const char *name, uint32_t mode) {
    const int32_t file = semihosting_open(name, length_of(name), mode);
    if (file < 0) {
        semihosting_print(name);
        fail(" cannot be opened");
    }
    return file;
}

/** Writes " 89abcdef\n". */
static void format_hex(uint32_t value, char *text) {
    *text++ = ' ';
    for (int32_t shift = 28; shift >= 0; shift -= 4) {
        const uint32_t digit = (value >> shift) & 0xFU;
        *text++ = (char)(digit < 10 ? '0' + digit : 'a' + digit - 10);
    }
    *text++ = '\n';
    *text = '\0';
}

void harness_print_hex(const char *label, uint32_t value) {
    char text[11];
    format_hex(value, text);
    semihosting_print(label);
    semihosting_print(text);
}

static void report(const char *label, uint32_t value) {
    char text[11];
    format_hex(value, text);
    if (semihosting_write(report_file, label, length_of(label)) != 0 ||
        semihosting_write(report_file, text, length_of(text)) != 0) {
        fail("report.txt cannot be written");
    }
}

static void fill(uint8_t *bytes, uint32_t count, uint8_t value) {
    for (uint32_t i = 0; i < count; ++i) {
        bytes[i] = value;
    }
}

/** Ends the emulation if the model wrote beside a block of its memory. */
static void check_canaries(void) {
    for (uint32_t block = 0; block < HARNESS_BLOCKS; ++block) {
        const uint8_t *const start = memory + harness_blocks[block].offset;
        const uint8_t *const end = start + harness_blocks[block].bytes;
        for (uint32_t i = 0; i < HARNESS_CANARY_BYTES; ++i) {
            if (start[-1 - (int32_t)i] != CANARY_FILL) {
                harness_print_hex("bytes_before_arena", i + 1);
                fail("the model wrote before the start of its arena");
            }
            if (end[i] != CANARY_FILL) {
                harness_print_hex("bytes_behind_arena", i + 1);
                fail("the model wrote behind the end of its arena");
            }
        }
    }
}

static void read_inputs(int32_t file) {
    for (uint32_t i = 0; i < HARNESS_INPUTS; ++i) {
        const harness_place *place = &harness_inputs[i];
        if (semihosting_read(file, memory + place->offset, place->bytes) != 0) {
            fail("inputs.bin is too short");
        }
    }
}

static void write_outputs(int32_t file) {
    for (uint32_t i = 0; i < HARNESS_OUTPUTS; ++i) {
        const harness_place *place = &harness_outputs[i];
        if (semihosting_write(file, memory + place->offset, place->bytes) != 0) {
            fail("outputs.bin cannot be written");
        }
    }
}

static uint32_t sample_bytes(void) {
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < HARNESS_INPUTS; ++i) {
        bytes += harness_inputs[i].bytes;
    }
    return bytes;
}

/** Stack is counted from here. */
__attribute__((noinline)) void harness_call(void) {
    invoke_status = harness_invoke(memory);
}

static harness_time time_call(void (*function)(void), uint32_t delay) {
    harness_clock_start(delay);
    function();
    return harness_clock_stop();
}

static void check_run(void) {
    if (invoke_status != 0) {
        harness_print_hex("status", (uint32_t)invoke_status);
        fail("the model's invoke function returned an error");
    }
    check_canaries();
}

/** Invokes the model once; returns the stack bytes used below this function. */
__attribute__((noinline)) static uint32_t invoke_measuring_stack(void) {
    uint32_t *const limit = &image_stack_limit;
    uint32_t *const stack_pointer = machine_stack_pointer();
    for (uint32_t *word = limit; word < stack_pointer; ++word) {
        *word = STACK_FILL;
    }
    harness_call();
    const uint32_t *deepest = limit;
    while (deepest < stack_pointer && *deepest == STACK_FILL) {
        ++deepest;
    }
    return (uint32_t)((const uint8_t *)stack_pointer - (const uint8_t *)deepest);
}

static void report_time(const char *ticks_label, const char *polls_label, harness_time time) {
    report(ticks_label, time.ticks);
    report(polls_label, time.polls);
}

static void calibrate(void) {
    const harness_time calibration = time_call(harness_calibration_loop, 0);
    report("calibration_instructions", HARNESS_CALIBRATION_INSTRUCTIONS);
    report_time("calibration_ticks", "calibration_polls", calibration);
}

static void read_first_inputs(int32_t inputs) {
    if (semihosting_seek(inputs, 0) != 0) {
        fail("inputs.bin cannot be read again");
    }
    read_inputs(inputs);
}

#ifdef HARNESS_PROFILE

static uint32_t profile_phase;
static int32_t profiling;

void harness_profile_begin(int op) {
    (void)op;
    harness_clock_start(profile_phase);
}

void harness_profile_end(int op) {
    const harness_time time = harness_clock_stop();
    if (profiling) {
        report("op", (uint32_t)op);
        report_time("op_ticks", "op_polls", time);
    }
}

/** Times every op of the first sample; op -1 is nothing at all. */
static void measure_time(int32_t inputs) {
    calibrate();
    profiling = 1;
    for (profile_phase = 0; profile_phase < PHASES; ++profile_phase) {
        harness_profile_begin(-1);
        harness_profile_end(-1);
        read_first_inputs(inputs);
        harness_call();
        check_run();
    }
}

#else

static void do_nothing(void) {
}

#ifdef HARNESS_SLICES

static void step(void) {
    invoke_status = harness_step();
}

/** Times every slice of the first sample. */
static void measure_slices(int32_t inputs) {
    for (uint32_t phase = 0; phase < PHASES; ++phase) {
        read_first_inputs(inputs);
        invoke_status = harness_begin(memory);
        do {
            report_time("slice_ticks", "slice_polls", time_call(step, phase));
        } while (invoke_status == HARNESS_MORE);
        check_run();
    }
}

#else

static void measure_slices(int32_t inputs) {
    (void)inputs;
}

#endif

#ifdef HARNESS_EACH

/** Times every sample once, one phase after the other. */
static void measure_each(int32_t inputs) {
    const uint32_t end = (uint32_t)semihosting_length(inputs);
    uint32_t phase = 0;
    read_first_inputs(inputs);
    for (uint32_t position = 0; position < end; position += sample_bytes()) {
        if (position != 0) {
            read_inputs(inputs);
        }
        report_time("sample_ticks", "sample_polls", time_call(harness_call, phase));
        check_run();
        phase = (phase + 1) % PHASES;
    }
}

#else

static void measure_each(int32_t inputs) {
    (void)inputs;
}

#endif

static void measure_time(int32_t inputs) {
    calibrate();
    for (uint32_t phase = 0; phase < PHASES; ++phase) {
        report_time("empty_ticks", "empty_polls", time_call(do_nothing, phase));
        read_first_inputs(inputs);
        report_time("invoke_ticks", "invoke_polls", time_call(harness_call, phase));
        check_run();
    }
    measure_slices(inputs);
    measure_each(inputs);
}

#endif

/** Runs all samples; returns the most stack that any of them used. */
static uint32_t run_samples(int32_t inputs, int32_t outputs) {
    const uint32_t end = (uint32_t)semihosting_length(inputs);
    uint32_t most_stack = 0;
    for (uint32_t position = 0; position < end; position += sample_bytes()) {
        read_inputs(inputs);
        const uint32_t used = invoke_measuring_stack();
        check_run();
        most_stack = used > most_stack ? used : most_stack;
        write_outputs(outputs);
    }
    return most_stack;
}

int main(void) {
    const int32_t inputs = open_file("inputs" HARNESS_PART ".bin", SEMIHOSTING_OPEN_READ);
    const int32_t outputs = open_file("outputs" HARNESS_PART ".bin", SEMIHOSTING_OPEN_WRITE);
    report_file = open_file("report" HARNESS_PART ".txt", SEMIHOSTING_OPEN_WRITE);

    fill(memory, HARNESS_MEMORY_BYTES, CANARY_FILL);
    for (uint32_t block = 0; block < HARNESS_BLOCKS; ++block) {
        fill(memory + harness_blocks[block].offset, harness_blocks[block].bytes, ARENA_FILL);
    }
    harness_reset(memory);
    report("arena_bytes", HARNESS_ARENA_BYTES);
    report("stack_bytes", run_samples(inputs, outputs));
    measure_time(inputs);
    return 0;
}
