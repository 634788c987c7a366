/** Frames of a camera, line by line: rows of an image of another size, as bytes. */
#ifndef TINYRT_CAMERA_H
#define TINYRT_CAMERA_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A frame of height lines, of which lines from top on and width pixels from left on make rows of
 *  columns. Sides are 2 to 4096, of the image 1 to 1024. The image is grey, of 1 channel, or red,
 *  green and blue; is_grey says that grey has to be made of colours. Of places and nbytes, see each
 *  function.
 *
 *  Bilinear: a column lies between pixel column_first and the next one, whose weight is column_part
 *  of 2048; rows likewise. Area: columns begin with pixel column_first, of which column_part of as
 *  many parts as there are columns belong to the one before; there is an entry behind the last. */
typedef struct {
    int32_t height;
    int32_t top;
    int32_t left;
    int32_t lines;
    int32_t width;
    int32_t rows;
    int32_t columns;
    int32_t channels;
    int32_t is_grey;
    int32_t nbytes;
    uint8_t places[3];
    const uint16_t *row_first;
    const uint16_t *row_part;
    const uint16_t *column_first;
    const uint16_t *column_part;
} tinyrt_camera_params;

/** What is kept from one call to the next, in front of sums or lines: 4 bytes for each number of a
 *  row. Zeros are the beginning of a frame. */
typedef struct {
    int32_t line;     /* the next one of the frame */
    int32_t row;      /* the next one of the image */
    int32_t is_taken; /* whether the line has been looked at for this row */
} tinyrt_camera_state;

/** Takes the next line of a frame. Returns 1 where that makes a row of the image, to be called with
 *  the same line again; 0 where the next line is due. Behind the last line the next frame begins.
 *
 *  Area: each pixel is the mean of what it covers, rounded to nearest. Pixels of nbytes bytes, of
 *  which places are red, green and blue. */
int32_t tinyrt_camera_area_bytes(const tinyrt_camera_params *p, const uint8_t *line, void *state,
                                 uint8_t *row);

/** Likewise, with words of 5, 6 and 5 bits: places[0] is that of the upper byte. */
int32_t tinyrt_camera_area_rgb565(const tinyrt_camera_params *p, const uint8_t *line, void *state,
                                  uint8_t *row);

/** Likewise, with pairs of pixels in 4 bytes: places are those of the first one's luma, and of both
 *  colour differences. */
int32_t tinyrt_camera_area_yuv422(const tinyrt_camera_params *p, const uint8_t *line, void *state,
                                  uint8_t *row);

/** Likewise, between the four pixels around a pixel's middle. */
int32_t tinyrt_camera_bilinear_bytes(const tinyrt_camera_params *p, const uint8_t *line,
                                     void *state, uint8_t *row);

/** As tinyrt_camera_bilinear_bytes and tinyrt_camera_area_rgb565. */
int32_t tinyrt_camera_bilinear_rgb565(const tinyrt_camera_params *p, const uint8_t *line,
                                      void *state, uint8_t *row);

/** As tinyrt_camera_bilinear_bytes and tinyrt_camera_area_yuv422. */
int32_t tinyrt_camera_bilinear_yuv422(const tinyrt_camera_params *p, const uint8_t *line,
                                      void *state, uint8_t *row);

#ifdef __cplusplus
}
#endif

#endif
