#include "tinyrt_kept_boxes.h"

#include "tinyrt_is_apart.h"

enum { most_units = 32767, bits = 12, lowest = 128 };

/** Side times a part of 4096ths, rounded to nearest, halves up. Both have 15 bits and a sign at
 * most. */
static int32_t part_of(int32_t side, int32_t part) {
    return ((side * part) + (1 << (bits - 1))) >> bits;
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

int32_t tinyrt_kept_boxes(const tinyrt_boxes_params *p, const int8_t *scores,
                          const int8_t *encodings, const int32_t *places, int32_t count,
                          tinyrt_box *found) {
    int32_t kept = 0;
    for (int32_t i = 0; (i < count) && (kept < p->most); ++i) {
        const tinyrt_box box = decoded(p, scores, encodings, places[i]);
        if (tinyrt_is_apart(found, kept, &box, p->by_class, p->share) != 0) {
            found[kept] = box;
            ++kept;
        }
    }
    return kept;
}
