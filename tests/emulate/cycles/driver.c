/** The plugin with an emulator that runs what it reads: "b START COUNT" a block of instructions of
 *  two bytes, "m ADDRESS SHIFT STORE" an access of the last block's first instruction. */
#include "edges.c"

#define MOST 64

struct qemu_plugin_insn {
    uint64_t address;
    void (*access)(unsigned, memory_info, uint64_t, void *);
};

struct qemu_plugin_tb {
    size_t count;
    struct qemu_plugin_insn instructions[MOST];
    void (*run)(unsigned, void *);
    void *data;
};

static void (*translate)(plugin_id, struct qemu_plugin_tb *);
static void (*at_end)(plugin_id, void *);
static struct qemu_plugin_tb tbs[MOST];
static int tb_count;

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id,
                                           void (*f)(plugin_id, struct qemu_plugin_tb *)) {
    (void)id;
    translate = f;
}
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, void (*f)(unsigned, void *),
                                          int registers, void *data) {
    (void)registers;
    tb->run = f;
    tb->data = data;
}
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
                                      void (*f)(unsigned, memory_info, uint64_t, void *), int flags,
                                      int both, void *data) {
    (void)flags;
    (void)data;
    insn->access = both == 3 ? f : NULL;
}
void qemu_plugin_register_atexit_cb(plugin_id id, void (*f)(plugin_id, void *), void *data) {
    (void)id;
    (void)data;
    at_end = f;
}
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb) {
    return tb->count;
}
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb) {
    return tb->instructions[0].address;
}
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i) {
    return (struct qemu_plugin_insn *)&tb->instructions[i];
}
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn) {
    return insn->address;
}
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn) {
    (void)insn;
    return 2;
}
unsigned qemu_plugin_mem_size_shift(memory_info info) {
    return info & 0xFU;
}
bool qemu_plugin_mem_is_store(memory_info info) {
    return (info & 0x10U) != 0;
}

static struct qemu_plugin_tb *block_of(uint64_t start, size_t count) {
    for (int i = 0; i < tb_count; ++i) {
        if (tbs[i].instructions[0].address == start && tbs[i].count == count) {
            return &tbs[i];
        }
    }
    struct qemu_plugin_tb *const tb = &tbs[tb_count++];
    tb->count = count;
    for (size_t i = 0; i < count; ++i) {
        tb->instructions[i].address = start + 2 * i;
    }
    translate(1, tb);
    return tb;
}

int main(int argc, char **argv) {
    struct qemu_plugin_tb *last = NULL;
    char what;
    uint64_t first;
    size_t second;
    if (qemu_plugin_install(1, NULL, argc - 1, argv + 1) != 0) {
        return 1;
    }
    while (scanf(" %c %" SCNx64 " %zx", &what, &first, &second) == 3) {
        if (what == 'b') {
            last = block_of(first, second);
            last->run(0, last->data);
        } else if (last->instructions[0].access != NULL) {
            last->instructions[0].access(0, (memory_info)second, first, NULL);
        }
    }
    at_end(1, NULL);
    return 0;
}
