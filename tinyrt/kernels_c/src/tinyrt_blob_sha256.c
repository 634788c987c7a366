#include "tinyrt_blob.h"

#define BLOCK 64U

static const uint32_t rounds[64] = {
    0x428A2F98U, 0x71374491U, 0xB5C0FBCFU, 0xE9B5DBA5U, 0x3956C25BU, 0x59F111F1U, 0x923F82A4U,
    0xAB1C5ED5U, 0xD807AA98U, 0x12835B01U, 0x243185BEU, 0x550C7DC3U, 0x72BE5D74U, 0x80DEB1FEU,
    0x9BDC06A7U, 0xC19BF174U, 0xE49B69C1U, 0xEFBE4786U, 0x0FC19DC6U, 0x240CA1CCU, 0x2DE92C6FU,
    0x4A7484AAU, 0x5CB0A9DCU, 0x76F988DAU, 0x983E5152U, 0xA831C66DU, 0xB00327C8U, 0xBF597FC7U,
    0xC6E00BF3U, 0xD5A79147U, 0x06CA6351U, 0x14292967U, 0x27B70A85U, 0x2E1B2138U, 0x4D2C6DFCU,
    0x53380D13U, 0x650A7354U, 0x766A0ABBU, 0x81C2C92EU, 0x92722C85U, 0xA2BFE8A1U, 0xA81A664BU,
    0xC24B8B70U, 0xC76C51A3U, 0xD192E819U, 0xD6990624U, 0xF40E3585U, 0x106AA070U, 0x19A4C116U,
    0x1E376C08U, 0x2748774CU, 0x34B0BCB5U, 0x391C0CB3U, 0x4ED8AA4AU, 0x5B9CCA4FU, 0x682E6FF3U,
    0x748F82EEU, 0x78A5636FU, 0x84C87814U, 0x8CC70208U, 0x90BEFFFAU, 0xA4506CEBU, 0xBEF9A3F7U,
    0xC67178F2U,
};

static uint32_t turned(uint32_t x, int by) {
    return (x >> by) | (x << (32 - by));
}

/** The next word of the message's schedule, in the place of the oldest of sixteen. */
static uint32_t next(uint32_t *w, int32_t i) {
    const uint32_t a = w[(i + 1) & 15];
    const uint32_t b = w[(i + 14) & 15];
    w[i & 15] += (turned(a, 7) ^ turned(a, 18) ^ (a >> 3)) + w[(i + 9) & 15] +
                 (turned(b, 17) ^ turned(b, 19) ^ (b >> 10));
    return w[i & 15];
}

/** Takes one block of a message into the hash. */
static void take(uint32_t *hash, uint32_t *w) {
    uint32_t s[8];
    for (int32_t i = 0; i < 8; ++i) {
        s[i] = hash[i];
        TINYRT_SHORT_LOOP;
    }
    for (int32_t i = 0; i < 64; ++i) {
        const uint32_t word = (i < 16) ? w[i] : next(w, i);
        const uint32_t e = s[4];
        const uint32_t a = s[0];
        const uint32_t one = s[7] + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) +
                             ((e & s[5]) ^ (~e & s[6])) + rounds[i] + word;
        const uint32_t two = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) +
                             ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
        for (int32_t k = 7; k > 0; --k) {
            s[k] = s[k - 1];
            TINYRT_SHORT_LOOP;
        }
        s[4] += one;
        s[0] = one + two;
    }
    for (int32_t i = 0; i < 8; ++i) {
        hash[i] += s[i];
    }
}

/** Byte i of the message with what SHA-256 puts behind it. */
static uint32_t byte_of(const uint8_t *bytes, uint32_t count, uint32_t all, uint32_t i) {
    if (i < count) {
        return bytes[i];
    }
    if (i == count) {
        return 0x80U;
    }
    /* The message's length in bits, in the last eight bytes. */
    const uint32_t left = all - 1U - i;
    return left < 8U ? (uint32_t)(((uint64_t)count * 8U) >> (8U * left)) & 0xFFU : 0U;
}

int tinyrt_blob_sha256(const void *blob) {
    const tinyrt_blob_header *const header = blob;
    const uint8_t *const body = (const uint8_t *)(header + 1);
    const uint32_t count = header->total_bytes - header->header_bytes;
    const uint32_t all = (count + 8U + BLOCK) / BLOCK * BLOCK;
    uint32_t hash[8] = {0x6A09E667U, 0xBB67AE85U, 0x3C6EF372U, 0xA54FF53AU,
                        0x510E527FU, 0x9B05688CU, 0x1F83D9ABU, 0x5BE0CD19U};
    uint32_t w[16] = {0};
    for (uint32_t at = 0; at < all; at += BLOCK) {
        for (uint32_t i = 0; i < BLOCK; ++i) {
            w[i / 4U] = (w[i / 4U] << 8) | byte_of(body, count, all, at + i);
        }
        take(hash, w);
    }
    for (uint32_t i = 0; i < 32U; ++i) {
        if (((hash[i / 4U] >> (24U - (8U * (i % 4U)))) & 0xFFU) != header->body_sha256[i]) {
            return TINYRT_OTHER_SHA256;
        }
    }
    return TINYRT_OK;
}
