/** detection_postprocess: boxes are decoded, and the best of those that overlap are kept. */
#ifndef TINYRT_DETECTION_POSTPROCESS_H
#define TINYRT_DETECTION_POSTPROCESS_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Requires: at least one box of at least 4 coordinates, of which the others are passed over; one
 *  class behind the background; scales that are not 0. */
typedef struct {
    int32_t boxes;
    int32_t coordinates;
    int32_t classes;
    int32_t background;
    int32_t detections;
    int32_t of_a_class;
    int32_t by_class;
    float score_threshold;
    float iou_threshold;
    float y_scale;
    float x_scale;
    float h_scale;
    float w_scale;
} tinyrt_detection_postprocess_params;

/** A decoded box. */
typedef struct {
    float y0;
    float x0;
    float y1;
    float x1;
} tinyrt_corners;

/** What one box takes while it is compared. */
typedef struct {
    tinyrt_corners corners;
    float score;
    int32_t rank;
} tinyrt_detection_box;

/** x is (boxes, coordinates), scores (boxes, background + classes), anchors (boxes, 4); memory has
 *  room for all boxes. Outputs are boxes (detections, 4), classes, scores, and how many there are;
 *  zeros behind them. Nothing overlaps. */
void tinyrt_detection_postprocess_f32(const tinyrt_detection_postprocess_params *p, const float *x,
                                      const float *scores, const float *anchors,
                                      tinyrt_detection_box *memory, float *boxes, float *classes,
                                      float *best, float *count);

#ifdef __cplusplus
}
#endif

#endif
