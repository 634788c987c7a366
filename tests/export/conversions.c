/* All conversions of a model's header, on floats, int16 and every byte. With PROGRAM from stdin to
 * stdout, else as an image of a core, of what lies in the arena. */
#include <string.h>

#include "net.h"

#ifdef BLOB
#include "net_blob.h"
static net_handle_t handle;
#define GIVEN(value) &handle, value
#else
#define GIVEN(value) value
#endif

enum {
    in_bytes = 4 * FLOATS + 2 * SHORTS,
    out_bytes = FLOATS * sizeof(PORT) + SHORTS + 256 * EACH
};

static void put(uint8_t **out, const void *value, size_t size) {
    memcpy(*out, value, size);
    *out += size;
}

static void convert(const uint8_t *in, uint8_t *out) {
#ifdef BLOB
    (void)net_open(&handle, net_blob, NET_BLOB_BYTES);
#endif
    for (int i = 0; i < FLOATS; ++i, in += 4) {
        float real;
        memcpy(&real, in, 4);
        const PORT stored = net_quantize_f32(GIVEN(real));
        put(&out, &stored, sizeof stored);
    }
#if EACH
    for (int i = 0; i < SHORTS; ++i, in += 2) {
        int16_t value;
        memcpy(&value, in, 2);
        const int8_t stored = net_quantize_s16(GIVEN(value));
        put(&out, &stored, 1);
    }
    for (int i = 0; i < 256; ++i) {
        const int8_t value = (int8_t)(i - 128);
        const int8_t stored = net_quantize_u8((uint8_t)i);
        const uint8_t byte = net_dequantize_u8(value);
        const int16_t finer = net_dequantize_s16(GIVEN(value));
        const float real = net_dequantize_f32(GIVEN(value));
        put(&out, &stored, 1);
        put(&out, &byte, 1);
        put(&out, &finer, 2);
        put(&out, &real, 4);
    }
#endif
}

#ifdef PROGRAM
#include <stdio.h>
int main(void) {
    static uint8_t in[in_bytes], out[out_bytes];
    if (fread(in, 1, in_bytes, stdin) != in_bytes) {
        return 1;
    }
    convert(in, out);
    return fwrite(out, 1, out_bytes, stdout) != out_bytes;
}
#else
#include "clip.h"
int clip_invoke(const clip_io_t *io, void *arena) {
    (void)io;
    convert(arena, (uint8_t *)arena + CLIP_OUTPUT_0_OFFSET);
    return 0;
}
#endif
