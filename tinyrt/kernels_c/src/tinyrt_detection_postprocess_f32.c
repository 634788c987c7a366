#include "tinyrt_detection_postprocess.h"

#include "tinyrt_float.h"

typedef tinyrt_detection_box box_t;

/** a * b + c in doubles, rounded after each step. */
static float scaled(double a, double b, double c) {
    const volatile double product = a * b;
    return (float)(product + c);
}

static void decode(const tinyrt_detection_postprocess_params *p, const float *x,
                   const float *anchors, box_t *memory) {
    for (int32_t i = 0; i < p->boxes; ++i, x += p->coordinates, anchors += 4) {
        const double height = (double)anchors[2], width = (double)anchors[3];
        const float y = scaled((double)x[0] / (double)p->y_scale, height, (double)anchors[0]);
        const float across = scaled((double)x[1] / (double)p->x_scale, width, (double)anchors[1]);
        const double tall = 0.5 * exp((double)x[2] / (double)p->h_scale);
        const double wide = 0.5 * exp((double)x[3] / (double)p->w_scale);
        const float half_h = (float)(tall * height), half_w = (float)(wide * width);
        memory[i].corners.y0 = y - half_h;
        memory[i].corners.x0 = across - half_w;
        memory[i].corners.y1 = y + half_h;
        memory[i].corners.x1 = across + half_w;
    }
}

static float area(const tinyrt_corners *box) {
    return tinyrt_rounded((box->y1 - box->y0) * (box->x1 - box->x0));
}

/** From the later of two beginnings to the earlier of two ends; 0 where there is nothing. */
static float shared_side(float begin_a, float begin_b, float end_a, float end_b) {
    const float begin = (begin_a < begin_b) ? begin_b : begin_a;
    const float end = (end_b < end_a) ? end_b : end_a;
    return ((end - begin) < 0.0F) ? 0.0F : (end - begin);
}

/** Whether two boxes share more than the threshold, as a part of what they cover together. */
static int32_t overlap(const tinyrt_corners *a, const tinyrt_corners *b, float threshold) {
    const float area_a = area(a), area_b = area(b);
    if ((area_a <= 0.0F) || (area_b <= 0.0F)) {
        return 0;
    }
    const float shared = tinyrt_rounded(shared_side(a->y0, b->y0, a->y1, b->y1) *
                                        shared_side(a->x0, b->x0, a->x1, b->x1));
    return shared / (area_a + area_b - shared) > threshold;
}

/** Whether box a comes before box b: a better score, or the same and a smaller number. */
static int32_t before(const box_t *memory, int32_t a, int32_t b) {
    const float first = memory[a].score, second = memory[b].score;
    return (first > second) || ((first == second) && (a < b));
}

/** Let the box at a place of the heap sink to where none below it comes later. */
static void sink(box_t *memory, int32_t at, int32_t end) {
    const int32_t box = memory[at].rank;
    for (int32_t child = (2 * at) + 1; child < end; child = (2 * at) + 1) {
        if (((child + 1) < end) && before(memory, memory[child].rank, memory[child + 1].rank)) {
            ++child;
        }
        if (!before(memory, box, memory[child].rank)) {
            break;
        }
        memory[at].rank = memory[child].rank;
        at = child;
    }
    memory[at].rank = box;
}

/** Bring the ranks of those boxes whose scores suffice into their order; how many they are. */
static int32_t sort(const tinyrt_detection_postprocess_params *p, box_t *memory) {
    int32_t count = 0;
    for (int32_t i = 0; i < p->boxes; ++i) {
        if (memory[i].score >= p->score_threshold) {
            memory[count++].rank = i;
        }
    }
    for (int32_t at = (count / 2) - 1; at >= 0; --at) {
        sink(memory, at, count);
    }
    for (int32_t end = count - 1; end > 0; --end) {
        const int32_t last = memory[0].rank;
        memory[0].rank = memory[end].rank;
        memory[end].rank = last;
        sink(memory, 0, end);
    }
    return count;
}

/** Mark those boxes behind one that overlap it. */
static void suppress(box_t *memory, int32_t at, int32_t count, float threshold) {
    const tinyrt_corners *const box = &memory[memory[at].rank].corners;
    for (int32_t i = at + 1; i < count; ++i) {
        const int32_t other = memory[i].rank;
        if ((other >= 0) && overlap(box, &memory[other].corners, threshold)) {
            memory[i].rank = -1;
        }
    }
}

/** The outputs, best first. */
typedef struct {
    int32_t most;
    int32_t count;
    float *boxes;
    float *classes;
    float *scores;
} found_t;

/** Put a box behind all that are as good; the last one goes where there is no room. */
static void insert(found_t *found, const box_t *box, float score, int32_t class) {
    int32_t at = found->count;
    if (at == found->most) {
        if (!(score > found->scores[at - 1])) {
            return;
        }
        --at;
    } else {
        ++found->count;
    }
    for (; (at > 0) && (score > found->scores[at - 1]); --at) {
        found->scores[at] = found->scores[at - 1];
        found->classes[at] = found->classes[at - 1];
        for (int32_t i = 0; i < 4; ++i) {
            found->boxes[(4 * at) + i] = found->boxes[(4 * at) - 4 + i];
        }
    }
    found->scores[at] = score;
    found->classes[at] = (float)class;
    found->boxes[4 * at] = box->corners.y0;
    found->boxes[(4 * at) + 1] = box->corners.x0;
    found->boxes[(4 * at) + 2] = box->corners.y1;
    found->boxes[(4 * at) + 3] = box->corners.x1;
}

/** The best class of a row of scores; of equal ones the first. */
static int32_t best_of(const float *scores, int32_t classes) {
    int32_t best = 0;
    for (int32_t i = 1; i < classes; ++i) {
        best = (scores[i] > scores[best]) ? i : best;
    }
    return best;
}

/** Add the best boxes by the scores in memory: all of one class, or each with its best one. */
static void select(const tinyrt_detection_postprocess_params *p, const float *scores, int32_t class,
                   int32_t most, box_t *memory, found_t *found) {
    const int32_t step = p->background + p->classes;
    const int32_t count = sort(p, memory);
    for (int32_t i = 0, selected = 0; (i < count) && (selected < most); ++i) {
        const int32_t box = memory[i].rank;
        if (box < 0) {
            continue;
        }
        ++selected;
        const int32_t own = (class < 0) ? best_of(scores + (box * step), p->classes) : class;
        insert(found, &memory[box], memory[box].score, own);
        suppress(memory, i, count, p->iou_threshold);
    }
}

void tinyrt_detection_postprocess_f32(const tinyrt_detection_postprocess_params *p, const float *x,
                                      const float *scores, const float *anchors,
                                      tinyrt_detection_box *memory, float *boxes, float *classes,
                                      float *best, float *count) {
    found_t found = {p->detections, 0, boxes, classes, best};
    const int32_t step = p->background + p->classes;
    scores += p->background;
    decode(p, x, anchors, memory);
    for (int32_t class = 0; class < ((p->by_class != 0) ? p->classes : 1); ++class) {
        for (int32_t i = 0; i < p->boxes; ++i) {
            const float *const row = scores + (i * step);
            memory[i].score = row[(p->by_class != 0) ? class : best_of(row, p->classes)];
        }
        if (p->by_class != 0) {
            select(p, scores, class, p->of_a_class, memory, &found);
        } else {
            select(p, scores, -1, p->detections, memory, &found);
        }
    }
    *count = (float)found.count;
    for (int32_t i = found.count; i < p->detections; ++i) {
        best[i] = 0.0F;
        classes[i] = 0.0F;
        for (int32_t side = 0; side < 4; ++side) {
            boxes[(4 * i) + side] = 0.0F;
        }
    }
}
