/* A libcuda.so.1 without a GPU, so that NVIDIA's Python package has something to call: it checks
 * what a driver would check of the arguments, and runs kernels of one input and one output that
 * were compiled for the host. A module's image is the path of such a library. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, INVALID = 1, NOT_FOUND = 500, NOT_IN_CAPTURE = 900 };
enum { MOST_OPS = 16, MOST_THREADS = 1024, SHARED_LIMIT = 232448, FREE_SHARED = 48 * 1024 };

typedef void kernel(int, int, const int *, int, void *, const void *, int, void *, void *);

typedef struct {
    kernel *run; /* NULL for a copy */
    void *to;
    const void *from;
    size_t size;
    int blocks, threads, samples;
    unsigned shared;
    void *arena, *weights, *ports[2];
} op;

typedef struct {
    int count;
    op ops[MOST_OPS];
} graph;

static graph *recording;
static void *recorded_stream;
static unsigned allowed_shared = FREE_SHARED;
static int current, streams, allocations, modules, graphs;

static void run(const op *o) {
    if (o->run == NULL) {
        memcpy(o->to, o->from, o->size);
        return;
    }
    int order[MOST_THREADS];
    for (int i = 0; i < o->threads; ++i) {
        order[i] = i;
    }
    void *arena = o->shared ? aligned_alloc(64, (o->shared + 63u) / 64u * 64u) : o->arena;
    for (int block = 0; block < o->blocks; ++block) {
        o->run(block, o->blocks, order, o->threads, arena, o->weights, o->samples, o->ports[0],
               o->ports[1]);
    }
    if (o->shared) {
        free(arena);
    }
}

static int start(const op *o, void *stream) {
    if (stream == NULL || !current) {
        return INVALID;
    }
    if (recording == NULL) {
        run(o);
        return OK;
    }
    if (stream != recorded_stream || recording->count == MOST_OPS) {
        return INVALID;
    }
    recording->ops[recording->count++] = *o;
    return OK;
}

#define NOT_WHILE_RECORDING                                                                        \
    if (recording != NULL)                                                                         \
    return NOT_IN_CAPTURE

int cuInit(unsigned flags) {
    return flags == 0 ? OK : INVALID;
}
int cuDriverGetVersion(int *version) {
    *version = 13000;
    return OK;
}
int cuDeviceGetCount(int *count) {
    *count = 1;
    return OK;
}
int cuDeviceGet(int *device, int ordinal) {
    *device = 0;
    return ordinal == 0 ? OK : INVALID;
}
int cuDeviceGetName(char *name, int length, int device) {
    (void)device;
    strncpy(name, "stub", (size_t)length);
    return OK;
}
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    (void)device;
    switch (attribute) { /* CU_DEVICE_ATTRIBUTE_... */
    case 13:
        *value = 1980000;
        return OK; /* CLOCK_RATE */
    case 16:
        *value = 4;
        return OK; /* MULTIPROCESSOR_COUNT */
    case 75:
        *value = 9;
        return OK; /* COMPUTE_CAPABILITY_MAJOR */
    case 76:
        *value = 0;
        return OK; /* COMPUTE_CAPABILITY_MINOR */
    case 97:
        *value = SHARED_LIMIT;
        return OK; /* MAX_SHARED_MEMORY_PER_BLOCK_OPTIN */
    default:
        return INVALID;
    }
}
int cuDevicePrimaryCtxRetain(void **context, int device) {
    (void)device;
    *context = &current;
    return OK;
}
int cuCtxSetCurrent(void *context) {
    current = context == &current;
    return current ? OK : INVALID;
}
int cuModuleLoadData(void **module, const void *image) {
    NOT_WHILE_RECORDING;
    *module = dlopen(image, RTLD_NOW);
    modules += *module != NULL;
    return *module != NULL ? OK : INVALID;
}
int cuModuleUnload(void *module) {
    --modules;
    return dlclose(module) == 0 ? OK : INVALID;
}
int cuModuleGetFunction(void **function, void *module, const char *name) {
    *function = dlsym(module, name);
    return *function != NULL ? OK : NOT_FOUND;
}
int cuFuncSetAttribute(void *function, int attribute, int value) {
    if (function == NULL || attribute != 8 || value > SHARED_LIMIT) {
        return INVALID;
    }
    allowed_shared = (unsigned)value > FREE_SHARED ? (unsigned)value : FREE_SHARED;
    return OK;
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads,
                                                size_t shared) {
    NOT_WHILE_RECORDING;
    *blocks = 2;
    return function && threads <= MOST_THREADS && shared <= allowed_shared ? OK : INVALID;
}
int cuMemAlloc(uint64_t *address, size_t size) {
    NOT_WHILE_RECORDING;
    *address = (uint64_t)(uintptr_t)aligned_alloc(256, (size + 255) / 256 * 256);
    ++allocations;
    return size > 0 ? OK : INVALID;
}
int cuMemFree(uint64_t address) {
    --allocations;
    free((void *)(uintptr_t)address);
    return OK;
}
int cuMemHostAlloc(void **memory, size_t size, unsigned flags) {
    uint64_t address = 0;
    const int result = cuMemAlloc(&address, size);
    *memory = (void *)(uintptr_t)address;
    return flags == 2 ? result : INVALID; /* CU_MEMHOSTALLOC_DEVICEMAP */
}
int cuMemHostGetDevicePointer(uint64_t *found, void *memory, unsigned flags) {
    *found = (uint64_t)(uintptr_t)memory;
    return memory != NULL && flags == 0 ? OK : INVALID;
}
int cuMemFreeHost(void *memory) {
    return cuMemFree((uint64_t)(uintptr_t)memory);
}
int cuMemHostRegister(void *memory, size_t size, unsigned flags) {
    NOT_WHILE_RECORDING;
    ++allocations;
    /* CU_MEMHOSTREGISTER_DEVICEMAP */
    return memory != NULL && size > 0 && flags == 2 ? OK : INVALID;
}
int cuMemHostUnregister(void *memory) {
    --allocations;
    return memory != NULL ? OK : INVALID;
}
int cuStreamCreate(void **stream, unsigned flags) {
    *stream = malloc(1);
    ++streams;
    return flags == 1 ? OK : INVALID; /* CU_STREAM_NON_BLOCKING */
}
int cuStreamDestroy(void *stream) {
    --streams;
    free(stream);
    return OK;
}
int cuStreamSynchronize(void *stream) {
    NOT_WHILE_RECORDING;
    return stream != NULL ? OK : INVALID;
}
int cuMemcpyHtoDAsync(uint64_t to, const void *from, size_t size, void *stream) {
    const op o = {.to = (void *)(uintptr_t)to, .from = from, .size = size};
    return start(&o, stream);
}
int cuMemcpyDtoHAsync(void *to, uint64_t from, size_t size, void *stream) {
    const op o = {.to = to, .from = (const void *)(uintptr_t)from, .size = size};
    return start(&o, stream);
}
int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned threads,
                   unsigned ty, unsigned tz, unsigned shared, void *stream, void **parameters,
                   void **extra) {
    if (function == NULL || x == 0 || y != 1 || z != 1 || ty != 1 || tz != 1 || extra != NULL ||
        threads == 0 || threads > MOST_THREADS || shared > allowed_shared) {
        return INVALID;
    }
    op o = {.blocks = (int)x, .threads = (int)threads, .shared = shared};
    memcpy(&o.run, &function, sizeof function);
    if (shared == 0) { /* then arenas are the first parameter */
        o.arena = *(void **)*parameters++;
    }
    o.weights = *(void **)parameters[0];
    o.samples = *(int *)parameters[1];
    o.ports[0] = *(void **)parameters[2];
    o.ports[1] = *(void **)parameters[3];
    return start(&o, stream);
}
int cuStreamBeginCapture(void *stream, int mode) {
    NOT_WHILE_RECORDING;
    recording = calloc(1, sizeof *recording);
    recorded_stream = stream;
    return mode == 1 ? OK : INVALID; /* CU_STREAM_CAPTURE_MODE_THREAD_LOCAL */
}
int cuStreamEndCapture(void *stream, void **found) {
    *found = recording;
    recording = NULL;
    return stream == recorded_stream && *found != NULL ? OK : INVALID;
}
int cuGraphInstantiate(void **ready, const void *found, unsigned long long flags) {
    *ready = malloc(sizeof(graph));
    memcpy(*ready, found, sizeof(graph));
    ++graphs;
    return flags == 0 ? OK : INVALID;
}
/* The same call; the package's versions differ in which name they ask for. */
int cuGraphInstantiateWithFlags(void **ready, const void *found, unsigned long long flags) {
    return cuGraphInstantiate(ready, found, flags);
}
int cuGraphDestroy(void *found) {
    free(found);
    return OK;
}
int cuGraphExecDestroy(void *ready) {
    --graphs;
    free(ready);
    return OK;
}
int cuGraphLaunch(const graph *ready, void *stream) {
    for (int i = 0; i < ready->count; ++i) {
        const int result = start(&ready->ops[i], stream);
        if (result != OK) {
            return result;
        }
    }
    return OK;
}

/* What has not been given back. */
int stub_held(void) {
    return streams + allocations + modules + graphs;
}

int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags,
                        int *status) {
    (void)version, (void)flags;
    *function = dlsym(RTLD_DEFAULT, name);
    Dl_info here, there;
    /* Other libraries may have functions of the same name. */
    if (*function != NULL && dladdr((void *)(uintptr_t)cuInit, &here) &&
        dladdr(*function, &there) && here.dli_fbase != there.dli_fbase) {
        *function = NULL;
    }
    if (status != NULL) {
        *status = *function != NULL ? 0 : 1;
    }
    return *function != NULL ? OK : NOT_FOUND;
}
int cuGetProcAddress(const char *name, void **function, int version, uint64_t flags, int *status) {
    return cuGetProcAddress_v2(name, function, version, flags, status);
}
