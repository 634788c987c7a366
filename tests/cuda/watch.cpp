/* Stands in for a thread sanitizer's library, whose calls the compiler puts before each access to
 * memory: here the threads of a block take their turns on one thread, and what is recorded is which
 * of them touched a byte between two barriers. What a GPU would do in any order is a fault, and so
 * is what it could not do at all. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PLAIN __attribute__((no_sanitize("thread")))

namespace {

enum Kind { SHARED, ARENA, PORT, CONSTANT };
enum Fault { NONE, RACE, UNALIGNED, OUTSIDE, WRITES_A_CONSTANT, UNWRITTEN };

/* One byte: who wrote and who read it last, in which phase; several readers are `MANY`. */
struct Byte {
    int written_in, writer, read_in, reader;
};
constexpr int MANY = -2, LAUNCH = 1 << 16, BLOCK = 1 << 20;
constexpr uintptr_t STACK = 1 << 20;

struct Range {
    uintptr_t first, last;
    Kind kind;
    Byte *bytes;
};

constexpr int MOST_RANGES = 4096;
Range ranges[MOST_RANGES];
int range_count, launch, block_now, phase, thread_now;
bool strict;
struct {
    int fault, thread, other, phase, size;
    long place;
    int range;
} found;

PLAIN void report(Fault fault, const Range &r, uintptr_t at, int size, int other) {
    if (found.fault != NONE)
        return;
    found.fault = fault, found.thread = thread_now, found.other = other, found.phase = phase;
    found.place = static_cast<long>(at - r.first), found.size = size;
    found.range = static_cast<int>(&r - ranges);
}

PLAIN void touch_byte(const Range &r, uintptr_t at, int size, bool writes) {
    Byte &b = r.bytes[at - r.first];
    /* Between blocks there is no barrier in a launch; ports belong to all of them. */
    const int now = launch * LAUNCH + (r.kind == PORT ? 0 : phase);
    if (b.written_in == now && b.writer != thread_now)
        report(RACE, r, at, size, b.writer);
    if (writes) {
        if (b.read_in == now && b.reader != thread_now)
            report(RACE, r, at, size, b.reader);
        b.written_in = now, b.writer = thread_now;
        return;
    }
    if (strict && r.kind != PORT && b.written_in == 0)
        report(UNWRITTEN, r, at, size, 0);
    b.reader = b.read_in == now && b.reader != thread_now ? MANY : thread_now;
    b.read_in = now;
}

PLAIN void touch(const void *p, int size, bool writes) {
    const uintptr_t at = reinterpret_cast<uintptr_t>(p);
    for (int i = 0; i < range_count; ++i) {
        const Range &r = ranges[i];
        if (at >= r.last || at + static_cast<unsigned>(size) <= r.first)
            continue;
        if (at % static_cast<unsigned>(size) != 0)
            report(UNALIGNED, r, at, size, 0);
        if (at < r.first || at + static_cast<unsigned>(size) > r.last) {
            report(OUTSIDE, r, at, size, 0);
        } else if (r.kind == CONSTANT) {
            if (writes)
                report(WRITES_A_CONSTANT, r, at, size, 0);
        } else {
            for (int k = 0; k < size; ++k)
                touch_byte(r, at + static_cast<unsigned>(k), size, writes);
        }
        return;
    }
    const uintptr_t here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    if ((at < here ? here - at : at - here) > STACK)
        report(OUTSIDE, ranges[0], at, size, 0);
}

} // namespace

extern "C" {

/* Before a launch: what it may touch. Ranges stay until `watch_clear`. */
PLAIN void watch_range(void *first, size_t size, int kind) {
    if (range_count == MOST_RANGES)
        abort();
    Range &r = ranges[range_count++];
    r = {reinterpret_cast<uintptr_t>(first), reinterpret_cast<uintptr_t>(first) + size,
         static_cast<Kind>(kind), nullptr};
    if (kind <= PORT)
        r.bytes = static_cast<Byte *>(calloc(size, sizeof(Byte)));
}
PLAIN void watch_clear(void) {
    for (int i = 0; i < range_count; ++i)
        free(ranges[i].bytes);
    range_count = launch = phase = 0;
    memset(&found, 0, sizeof found);
}
PLAIN void watch_launch(int new_strict) {
    strict = new_strict != 0;
    ++launch;
}
/* A new block finds nothing in shared memory that it may read. */
PLAIN void watch_block(int block) {
    block_now = block, phase = 0;
    for (int i = 0; i < range_count; ++i) {
        if (ranges[i].kind == SHARED)
            memset(ranges[i].bytes, 0, (ranges[i].last - ranges[i].first) * sizeof(Byte));
    }
}
PLAIN const void *watch_found(void) {
    return &found;
}
/* From generated code: thread `id` goes on; below 0, all have come to a barrier. */
PLAIN void tinyrt_turn(int id) {
    thread_now = block_now * BLOCK + id;
    phase += id < 0;
}

#define ACCESS(size)                                                                               \
    PLAIN void __tsan_read##size(void *p) {                                                        \
        touch(p, size, false);                                                                     \
    }                                                                                              \
    PLAIN void __tsan_write##size(void *p) {                                                       \
        touch(p, size, true);                                                                      \
    }                                                                                              \
    PLAIN void __tsan_unaligned_read##size(void *p) {                                              \
        touch(p, size, false);                                                                     \
    }                                                                                              \
    PLAIN void __tsan_unaligned_write##size(void *p) {                                             \
        touch(p, size, true);                                                                      \
    }
ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)
PLAIN void __tsan_read_range(void *p, size_t size) {
    touch(p, static_cast<int>(size), false);
}
PLAIN void __tsan_write_range(void *p, size_t size) {
    touch(p, static_cast<int>(size), true);
}
PLAIN void __tsan_func_entry(void *) {
}
PLAIN void __tsan_func_exit(void) {
}
PLAIN void __tsan_init(void) {
}
}
