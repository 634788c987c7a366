#include "tinyrt_boxes.h"

#include "tinyrt_best_scores.h"

enum { most_units = 32767, bits = 12, lowest = 128 };

/** Side times a part of 4096ths, rounded to nearest, halves up. Both have 15 bits and a sign at
 * most. */
static int32_t part_of(int32_t side, int32_t part) {
    const uint32_t offset = (uint32_t)1 << 31;
    const uint32_t product = (uint32_t)((side * part) + (1 << (bits - 1))) + offset;
    return (int32_t)(product >> bits) - (int32_t)(offset >> bits);
}

static int16_t within(int32_t value, int32_t limit) {
    const int32_t low = (value < 0) ? 0 : value;
    return (int16_t)((low > limit) ? limit : low);
}

/** The box of a score at a place. */
static tinyrt_box decoded(const tinyrt_boxes_params *p, const int8_t *scores,
                          const int8_t *encodings, int32_t place) {
    const int32_t number = place / p->classes;
    const int16_t *const anchor = p->anchors + (4 * number);
    int32_t down = anchor[0], across = anchor[1], height = anchor[2], width = anchor[3];
    if (encodings != NULL) {
        const int8_t *const code = encodings + (4 * number);
        down += part_of(height, p->moves[code[0] + lowest]);
        across += part_of(width, p->moves[code[1] + lowest]);
        height = part_of(height, p->growths[code[2] + lowest]);
        width = part_of(width, p->growths[code[3] + lowest]);
        height = (height > most_units) ? most_units : height;
        width = (width > most_units) ? most_units : width;
    }
    const int32_t top = down - (height / 2), left = across - (width / 2);
    const tinyrt_box box = {
        .top = within(top, p->height),
        .left = within(left, p->width),
        .bottom = within(top + height, p->height),
        .right = within(left + width, p->width),
        .label = (int16_t)(place - (number * p->classes)),
        .score = scores[place],
    };
    return box;
}

static uint32_t area(int32_t height, int32_t width) {
    return (uint32_t)height * (uint32_t)width;
}

/** From the later of two beginnings to the earlier of two ends; 0 where there is nothing. */
static int32_t common(int32_t begin_a, int32_t begin_b, int32_t end_a, int32_t end_b) {
    const int32_t begin = (begin_a > begin_b) ? begin_a : begin_b;
    const int32_t end = (end_a < end_b) ? end_a : end_b;
    return (end > begin) ? (end - begin) : 0;
}

/** Whether the intersection is more than so many 256ths of the union. */
static int32_t overlap(const tinyrt_box *a, const tinyrt_box *b, int32_t share) {
    const uint32_t both = area(common(a->top, b->top, a->bottom, b->bottom),
                               common(a->left, b->left, a->right, b->right));
    const uint32_t own = area(a->bottom - a->top, a->right - a->left);
    const uint32_t others = area(b->bottom - b->top, b->right - b->left);
    const uint32_t either = (own + others) - both;
    return ((uint64_t)both << 8) > ((uint64_t)(uint32_t)share * either);
}

int32_t tinyrt_boxes_s8(const tinyrt_boxes_params *p, const int8_t *scores, const int8_t *encodings,
                        tinyrt_box *found, int32_t *memory) {
    const int32_t count = tinyrt_best_scores(scores, p->count * p->classes, p->classes, p->ignored,
                                             p->threshold, p->candidates, memory);
    int32_t kept = 0;
    for (int32_t i = 0; (i < count) && (kept < p->most); ++i) {
        const tinyrt_box box = decoded(p, scores, encodings, memory[i]);
        int32_t at = 0;
        while ((at < kept) && (((p->by_class != 0) && (found[at].label != box.label)) ||
                               (overlap(&box, &found[at], p->share) == 0))) {
            ++at;
        }
        if (at == kept) {
            found[kept] = box;
            ++kept;
        }
    }
    return kept;
}
