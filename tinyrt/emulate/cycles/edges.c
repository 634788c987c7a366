/** Counts how often control went from one block of code to another, in a plugin of QEMU.
 *
 *  Arguments: out=FILE; mark=ADDRESS, where a new segment of the counts begins, as often as wanted;
 *  code=FIRST-LAST, the instructions whose fetches and data accesses are counted; flash=FIRST-LAST
 *  and line=BYTES, the memory that they may be slow in; code_lines=N and data_lines=N, how many of
 *  its lines are kept, the ones used last. Numbers are hexadecimal.
 *
 *  The file has for each segment "segment MARK" (0 before the first one), "memory" with lines of
 *  code that were not kept, loads from flash, lines of data that were not kept, and extra accesses
 *  of loads and of stores whose address is not aligned, then a line
 *  "edge START INSTRUCTIONS NEXT TIMES" to each pair of blocks. The last block of a run has no next
 *  one, and is in no edge.
 *
 *  QEMU's functions are declared here: its header comes with few installations. */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))
#define MARKS 8

typedef uint64_t plugin_id;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef uint32_t memory_info;

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id, void (*)(plugin_id, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *, void (*)(unsigned, void *), int,
                                          void *);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *,
                                      void (*)(unsigned, memory_info, uint64_t, void *), int, int,
                                      void *);
void qemu_plugin_register_atexit_cb(plugin_id, void (*)(plugin_id, void *), void *);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *);
unsigned qemu_plugin_mem_size_shift(memory_info);
bool qemu_plugin_mem_is_store(memory_info);
EXPORTED extern int qemu_plugin_version;
EXPORTED int qemu_plugin_install(plugin_id, const void *, int, char **);

int qemu_plugin_version = TINYRT_PLUGIN_VERSION;

enum { NO_REGISTERS = 0, READS_AND_WRITES = 3 };

typedef struct {
    uint64_t first;
    uint64_t last;
} range;

/** One way out of a block. */
typedef struct edge {
    struct edge *next;
    uint64_t to;
    uint64_t times;
} edge;

/** One block of code, as QEMU translates it. */
typedef struct block {
    struct block *next;
    uint64_t start;
    size_t instructions;
    edge *edges;
    uint64_t first_line;
    uint64_t last_line;
    bool is_mark;
    bool is_fetched;
} block;

/** Lines that are kept, the one used last in front. */
typedef struct {
    uint64_t *lines;
    size_t count;
    size_t used;
} cache;

static struct {
    uint64_t code_misses;
    uint64_t flash_loads;
    uint64_t data_misses;
    uint64_t loads_apart;
    uint64_t stores_apart;
} memory;

static FILE *out;
static block *blocks;
static block *last_block;
static uint64_t marks[MARKS];
static int mark_count;
static uint64_t segment;
static range code;
static range flash;
static uint64_t line_bytes = 16;
static cache code_cache = {NULL, 1, 0};
static cache data_cache = {NULL, 1, 0};

static bool is_in(range where, uint64_t address) {
    return where.first <= address && address <= where.last;
}

static void *allocated(size_t bytes) {
    void *const place = calloc(1, bytes);
    if (place == NULL) {
        fputs("the plugin has no memory left\n", stderr);
        abort();
    }
    return place;
}

/** Writes what was counted since the last mark, and starts anew. */
static void end_segment(uint64_t next) {
    fprintf(out, "segment %" PRIx64 "\n", segment);
    fprintf(out, "memory %" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIx64 "\n",
            memory.code_misses, memory.flash_loads, memory.data_misses, memory.loads_apart,
            memory.stores_apart);
    for (block *b = blocks; b != NULL; b = b->next) {
        for (edge *e = b->edges; e != NULL; e = e->next) {
            if (e->times != 0) {
                fprintf(out, "edge %" PRIx64 " %zx %" PRIx64 " %" PRIx64 "\n", b->start,
                        b->instructions, e->to, e->times);
                e->times = 0;
            }
        }
    }
    memset(&memory, 0, sizeof memory);
    segment = next;
}

static void count_edge(block *from, uint64_t to) {
    edge *e = from->edges;
    while (e != NULL && e->to != to) {
        e = e->next;
    }
    if (e == NULL) {
        e = allocated(sizeof *e);
        e->to = to;
        e->next = from->edges;
        from->edges = e;
    }
    e->times += 1;
}

/** Uses a line; returns whether it was not kept. */
static bool misses(cache *c, uint64_t line) {
    size_t at = 0;
    while (at < c->used && c->lines[at] != line) {
        ++at;
    }
    const bool is_new = at == c->used;
    if (is_new && c->used < c->count) {
        c->used += 1;
    } else if (is_new) {
        at -= 1;
    }
    memmove(c->lines + 1, c->lines, at * sizeof *c->lines);
    c->lines[0] = line;
    return is_new;
}

static void on_block(unsigned processor, void *data) {
    block *const b = data;
    (void)processor;
    if (last_block != NULL) {
        count_edge(last_block, b->start);
    }
    last_block = b;
    if (b->is_mark) {
        end_segment(b->start);
    }
    if (b->is_fetched) {
        for (uint64_t line = b->first_line; line <= b->last_line; ++line) {
            memory.code_misses += misses(&code_cache, line);
        }
    }
}

/** Accesses that an access at an address takes beyond one to each of its words. */
static uint64_t extra(uint64_t address, unsigned size_shift) {
    if (size_shift == 0 || (address & ((size_shift == 1 ? 2U : 4U) - 1U)) == 0) {
        return 0;
    }
    const uint64_t of_a_word = size_shift == 1 || (address & 1U) == 0 ? 1 : 2;
    return size_shift <= 2 ? of_a_word : of_a_word << (size_shift - 2);
}

static void on_access(unsigned processor, memory_info info, uint64_t address, void *data) {
    const uint64_t more = extra(address, qemu_plugin_mem_size_shift(info));
    (void)processor;
    (void)data;
    if (qemu_plugin_mem_is_store(info)) {
        memory.stores_apart += more;
        return;
    }
    memory.loads_apart += more;
    if (is_in(flash, address)) {
        memory.flash_loads += 1;
        memory.data_misses += misses(&data_cache, address / line_bytes);
    }
}

static block *known_block(uint64_t start, uint64_t last, size_t instructions) {
    block *b = blocks;
    while (b != NULL && (b->start != start || b->instructions != instructions)) {
        b = b->next;
    }
    if (b == NULL) {
        b = allocated(sizeof *b);
        b->start = start;
        b->instructions = instructions;
        b->first_line = start / line_bytes;
        b->last_line = last / line_bytes;
        b->is_fetched = is_in(code, start) && is_in(flash, start);
        for (int i = 0; i < mark_count; ++i) {
            b->is_mark = b->is_mark || marks[i] == start;
        }
        b->next = blocks;
        blocks = b;
    }
    return b;
}

static void on_translation(plugin_id id, struct qemu_plugin_tb *tb) {
    const size_t count = qemu_plugin_tb_n_insns(tb);
    const struct qemu_plugin_insn *const final = qemu_plugin_tb_get_insn(tb, count - 1);
    const uint64_t last = qemu_plugin_insn_vaddr(final) + qemu_plugin_insn_size(final) - 1;
    (void)id;
    qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, NO_REGISTERS,
                                         known_block(qemu_plugin_tb_vaddr(tb), last, count));
    for (size_t i = 0; i < count; ++i) {
        struct qemu_plugin_insn *const instruction = qemu_plugin_tb_get_insn(tb, i);
        if (is_in(code, qemu_plugin_insn_vaddr(instruction))) {
            qemu_plugin_register_vcpu_mem_cb(instruction, on_access, NO_REGISTERS, READS_AND_WRITES,
                                             NULL);
        }
    }
}

static void on_end(plugin_id id, void *data) {
    (void)id;
    (void)data;
    end_segment(0);
    if (fclose(out) != 0) {
        fputs("the plugin cannot write its counts\n", stderr);
    }
}

static range range_of(const char *text) {
    char *end;
    const uint64_t first = strtoull(text, &end, 16);
    const range both = {first, *end == '-' ? strtoull(end + 1, NULL, 16) : first};
    return both;
}

/** The value of an argument of that name; NULL where it is another one. */
static const char *value_of(const char *argument, const char *name) {
    const size_t length = strlen(name);
    return strncmp(argument, name, length) == 0 && argument[length] == '=' ? argument + length + 1
                                                                           : NULL;
}

static bool take(const char *argument) {
    const char *value;
    if ((value = value_of(argument, "out")) != NULL) {
        out = fopen(value, "w");
    } else if ((value = value_of(argument, "mark")) != NULL && mark_count < MARKS) {
        marks[mark_count++] = range_of(value).first;
    } else if ((value = value_of(argument, "code")) != NULL) {
        code = range_of(value);
    } else if ((value = value_of(argument, "flash")) != NULL) {
        flash = range_of(value);
    } else if ((value = value_of(argument, "line")) != NULL) {
        line_bytes = range_of(value).first;
    } else if ((value = value_of(argument, "code_lines")) != NULL) {
        code_cache.count = range_of(value).first;
    } else if ((value = value_of(argument, "data_lines")) != NULL) {
        data_cache.count = range_of(value).first;
    } else {
        fprintf(stderr, "the plugin does not know %s\n", argument);
        return false;
    }
    return true;
}

int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv) {
    (void)info;
    for (int i = 0; i < argc; ++i) {
        if (!take(argv[i])) {
            return 1;
        }
    }
    if (out == NULL || line_bytes == 0 || code_cache.count == 0 || data_cache.count == 0) {
        fputs("the plugin needs a file to write to, and lines that are not empty\n", stderr);
        return 1;
    }
    code_cache.lines = allocated(code_cache.count * sizeof *code_cache.lines);
    data_cache.lines = allocated(data_cache.count * sizeof *data_cache.lines);
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    qemu_plugin_register_atexit_cb(id, on_end, NULL);
    return 0;
}
