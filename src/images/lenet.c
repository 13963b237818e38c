// LeNet's two convolutions, forward and backward, for a processor; images.kernel compiles this file and hands it to XLA.
//
//   forward, for each image:
//     maps1 <- relu(b1 + the largest of 2 x 2 of convolution(image, w1))     14 x 14 x 64
//     maps2 <- relu(b2 + the largest of 2 x 2 of convolution(maps1, w2))      5 x  5 x 64
//     remember which of each four was the largest
//   moved, for each image: maps2 of moved and mirrored copies, which share what they have in common
//   backward, for each image and the derivative of the loss by maps2:
//     live  <- the places that were the largest of their four and are positive
//     d w2, d b2  <- sums over live places of maps2
//     d maps1     <- the sum over live places of maps2 of derivative times w2
//     d w1, d b1  <- sums over live places of maps1
//
// At most one place in four is live, one in six by measurement, and all others have derivative 0: the backward sums go
// over lists of live places, where a product of matrices would multiply by zeros.
// All arrays are float32, in C order, channels last; windows are 5 x 5, without padding.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "xla/ffi/api/c_api.h"

enum { SIDE = 32, COLOURS = 3, MAPS = 64, WINDOW = 5, SIDE1 = 14, SIDE2 = 5 };
enum { IMAGE = SIDE * SIDE * COLOURS, PLACES1 = SIDE1 * SIDE1, PLACES2 = SIDE2 * SIDE2 };
enum { RUN = 16 };  // a row of a window of an image is 15 numbers; 16 are as fast

#ifdef __AVX512F__
enum { LANES = 16, WIDE = 4 };  // 4 places x 4 vectors of sums fill half of the registers
#else
enum { LANES = 8, WIDE = 2 };
#endif
typedef int Places __attribute__((vector_size(4 * LANES)));
typedef uint8_t Bytes __attribute__((vector_size(LANES), aligned(1), may_alias));
typedef float Lanes __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

// One term of a sum over live places: where the row begins that is added, and its factor.
typedef struct {
  int row;
  float factor;
} Term;

// sum += four windows times the weights of WIDE * LANES maps. A window begins at its corner; its rows are `down`
// numbers from each other, and the places in a row `right` numbers.
static inline void add_windows(Lanes sum[4][WIDE], const float *const corners[4], const int down, const int right,
                               const int channels, const float *weights) {
  for (int i = 0; i < WINDOW; i++)
#pragma GCC unroll 5
    for (int j = 0; j < WINDOW; j++)
      for (int k = i * down + j * right; k < i * down + j * right + channels; k++, weights += MAPS)
#pragma GCC unroll 4
        for (int n = 0; n < WIDE; n++) {
          Lanes weight = *(const Lanes *)(weights + n * LANES);
#pragma GCC unroll 4
          for (int q = 0; q < 4; q++) sum[q][n] += corners[q][k] * weight;
        }
}

// Convolution, the largest of 2 x 2, ReLU: maps (side/2 - 2)^2 x MAPS, and which of the four was the largest.
static inline void convolved(const float *image, const int side, const int channels, const float *weights,
                             const float *offsets, float *maps, uint8_t *largest) {
  const int half = (side - WINDOW + 1) / 2, across = side * channels;
  for (int place = 0; place < half * half; place++) {
    const float *corner = image + place / half * 2 * across + place % half * 2 * channels;
    const float *corners[4] = {corner, corner + channels, corner + across, corner + across + channels};
    for (int map = 0; map < MAPS; map += WIDE * LANES) {
      Lanes sum[4][WIDE] = {0};
      add_windows(sum, corners, across, channels, channels, weights + map);
#pragma GCC unroll 4
      for (int n = 0; n < WIDE; n++) {
        Lanes most = sum[0][n];
        Places which = {0};
#pragma GCC unroll 3
        for (int q = 1; q < 4; q++) {
          Places more = sum[q][n] > most;
          which = (which & ~more) | (more & q);
          most = (Lanes)(((Places)most & ~more) | ((Places)sum[q][n] & more));
        }
        most += *(const Lanes *)(offsets + map + n * LANES);
        int at = place * MAPS + map + n * LANES;
        *(Lanes *)(maps + at) = (Lanes)((Places)most & (most > 0));
        *(Bytes *)(largest + at) = __builtin_convertvector(which, Bytes);
      }
    }
  }
}

// Moved copies of an image share windows. Where a copy begins at row y and column x of the image with its edges, its
// first convolution is that of the whole at y + i, x + j. Its maxima of 2 x 2, two apart, are among those at every
// place of the whole, and so its second convolution is one of the whole with windows whose places are two apart, at
// y + 2 i and x + 2 j, and its maxima are of four of these that are two apart. Each place that some copy needs is taken
// once.

typedef struct {
  int mirrored, row, column;
} Copy;

// A convolution of windows whose places are `apart` from each other, wherever one of the copies, of places x places,
// needs it: sums, of which those that no copy needs are left as they are.
static inline void convolved_once(const float *image, const int side, const int channels, const int apart,
                                  const float *weights, const Copy *copies, int count, int mirrored, const int places,
                                  float *sums) {
  const int grid = side - (WINDOW - 1) * apart;
  int needed[grid * grid + 4], total = 0;
  uint8_t seen[grid * grid];
  memset(seen, 0, sizeof seen);
  for (const Copy *copy = copies; copy < copies + count; copy++)
    for (int e = 0; e < places * places && copy->mirrored == mirrored; e++) {
      int at = (copy->row + e / places * apart) * grid + copy->column + e % places * apart;
      needed[total] = at;
      total += !seen[at];
      seen[at] = 1;
    }
  for (int e = 0; e < total; e += 4)
    for (int map = 0; map < MAPS; map += WIDE * LANES) {
      Lanes sum[4][WIDE] = {0};
      const float *corners[4];
      for (int q = 0; q < 4; q++) {
        if (e + q >= total) needed[e + q] = needed[e];
        corners[q] = image + (needed[e + q] / grid * side + needed[e + q] % grid) * channels;
      }
      add_windows(sum, corners, apart * side * channels, apart * channels, channels, weights + map);
#pragma GCC unroll 4
      for (int q = 0; q < 4; q++)
#pragma GCC unroll 4
        for (int n = 0; n < WIDE; n++) *(Lanes *)(sums + needed[e + q] * MAPS + map + n * LANES) = sum[q][n];
    }
}

// ReLU of the largest of four sums, `right` and `down` numbers from each other
static inline void largest_of_four(const float *sums, int right, int down, const float *offsets, float *maps) {
  for (int n = 0; n < MAPS; n += LANES) {
    Lanes most = *(const Lanes *)(sums + n);
#pragma GCC unroll 3
    for (int q = 1; q < 4; q++) {
      Lanes other = *(const Lanes *)(sums + n + q % 2 * right + q / 2 * down);
      Places more = other > most;
      most = (Lanes)(((Places)most & ~more) | ((Places)other & more));
    }
    most += *(const Lanes *)(offsets + n);
    *(Lanes *)(maps + n) = (Lanes)((Places)most & (most > 0));
  }
}

// sum[0:width] += the sum over terms of factor * from[row : row + width], width a multiple of 16 up to 64
static inline void add_terms(float *sum, const float *from, const Term *terms, int count, const int width) {
  Lanes s[MAPS / LANES];
#pragma GCC unroll 8
  for (int n = 0; n < width / LANES; n++) s[n] = *(Lanes *)(sum + n * LANES);
  for (int e = 0; e < count; e++) {
    const float *x = from + terms[e].row;
#pragma GCC unroll 8
    for (int n = 0; n < width / LANES; n++) s[n] += terms[e].factor * *(const Lanes *)(x + n * LANES);
  }
#pragma GCC unroll 8
  for (int n = 0; n < width / LANES; n++) *(Lanes *)(sum + n * LANES) = s[n];
}

// Start, in an image of rows `across`, of the window that gave the largest value of a place, number `which` of four.
static inline int begins(int place, int half, int which, int across, int channels) {
  return (place / half * 2 + which / 2) * across + (place % half * 2 + which % 2) * channels;
}

typedef struct {
  Term by_map[MAPS][PLACES1], by_place[4 * PLACES2][MAPS];
  int of_map[MAPS], of_place[4 * PLACES2];
  float d_maps1[PLACES1 * MAPS], image[IMAGE + 1];
  float by_input[WINDOW * WINDOW * MAPS * MAPS];                                        // w2, inputs last
  float d_w1[MAPS * WINDOW * RUN], d_w2[WINDOW * WINDOW * MAPS * MAPS], d_b1[MAPS], d_b2[MAPS];  // inputs last
} Work;

static void backward_image(Work *k, const float *maps1, const uint8_t *largest1, const float *maps2,
                           const uint8_t *largest2, const float *d_maps2) {
  // live places of maps2
  memset(k->of_map, 0, sizeof k->of_map);
  memset(k->of_place, 0, sizeof k->of_place);
  for (int place = 0; place < PLACES2; place++)
    for (int map = 0; map < MAPS; map++) {
      int at = place * MAPS + map, which = largest2[at], alive = maps2[at] > 0, four = place * 4 + which;
      k->by_map[map][k->of_map[map]] = (Term){begins(place, SIDE2, which, SIDE1 * MAPS, MAPS), d_maps2[at]};
      k->by_place[four][k->of_place[four]] = (Term){map * MAPS, d_maps2[at]};
      k->of_map[map] += alive;
      k->of_place[four] += alive;
      k->d_b2[map] += alive ? d_maps2[at] : 0;
    }
  // d w2 and d maps1, one place of the window after the other
  memset(k->d_maps1, 0, sizeof k->d_maps1);
  for (int window = 0; window < WINDOW * WINDOW; window++) {
    int off = (window / WINDOW * SIDE1 + window % WINDOW) * MAPS;
    for (int map = 0; map < MAPS; map++)
      add_terms(k->d_w2 + (window * MAPS + map) * MAPS, maps1 + off, k->by_map[map], k->of_map[map], MAPS);
    for (int four = 0; four < 4 * PLACES2; four++)
      add_terms(k->d_maps1 + begins(four / 4, SIDE2, four % 4, SIDE1 * MAPS, MAPS) + off,
                k->by_input + window * MAPS * MAPS, k->by_place[four], k->of_place[four], MAPS);
  }
  // live places of maps1
  memset(k->of_map, 0, sizeof k->of_map);
  for (int place = 0; place < PLACES1; place++)
    for (int map = 0; map < MAPS; map++) {
      int at = place * MAPS + map, alive = maps1[at] > 0;
      k->by_map[map][k->of_map[map]] =
          (Term){begins(place, SIDE1, largest1[at], SIDE * COLOURS, COLOURS), k->d_maps1[at]};
      k->of_map[map] += alive;
      k->d_b1[map] += alive ? k->d_maps1[at] : 0;
    }
  // d w1
  for (int map = 0; map < MAPS; map++)
    for (int i = 0; i < WINDOW; i++)
      add_terms(k->d_w1 + (map * WINDOW + i) * RUN, k->image + i * SIDE * COLOURS, k->by_map[map], k->of_map[map], RUN);
}

// Functions that XLA calls: buffers in the order of images.kernel. XLA asks first for the version of the interface.

static int asked_for_version(XLA_FFI_CallFrame *call) {
  XLA_FFI_Extension_Base *asked = call->extension_start;
  if (!asked || asked->type != XLA_FFI_Extension_Metadata) return 0;
  XLA_FFI_Api_Version *version = &((XLA_FFI_Metadata_Extension *)asked)->metadata->api_version;
  version->major_version = XLA_FFI_API_MAJOR;
  version->minor_version = XLA_FFI_API_MINOR;
  return 1;
}

#define ARGUMENT(n) (((XLA_FFI_Buffer *)call->args.args[n])->data)
#define RESULT(n) (((XLA_FFI_Buffer *)call->rets.rets[n])->data)

// images, w1, b1, w2, b2 -> maps2, maps1, which was the largest for each
XLA_FFI_Error *lenet_forward(XLA_FFI_CallFrame *call) {
  if (asked_for_version(call)) return NULL;
  const float *images = ARGUMENT(0);
  float *maps2 = RESULT(0), *maps1 = RESULT(1);
  uint8_t *largest1 = RESULT(2), *largest2 = RESULT(3);
  int64_t count = ((XLA_FFI_Buffer *)call->args.args[0])->dims[0];
  for (int64_t b = 0; b < count; b++) {
    float *mine = maps1 + b * PLACES1 * MAPS;
    convolved(images + b * IMAGE, SIDE, COLOURS, ARGUMENT(1), ARGUMENT(2), mine, largest1 + b * PLACES1 * MAPS);
    int64_t at = b * PLACES2 * MAPS;
    convolved(mine, SIDE1, MAPS, ARGUMENT(3), ARGUMENT(4), maps2 + at, largest2 + at);
  }
  return NULL;
}

// images with their edges, as they are and mirrored, w1, b1, w2, b2, copies of each -> maps2 of copies
XLA_FFI_Error *lenet_moved(XLA_FFI_CallFrame *call) {
  if (asked_for_version(call)) return NULL;
  const float *image = ARGUMENT(0), *b1 = ARGUMENT(2), *b2 = ARGUMENT(4);
  const Copy *copies = ARGUMENT(5);
  float *maps2 = RESULT(0);
  const int64_t *asked = ((XLA_FFI_Buffer *)call->args.args[5])->dims;
  const int count = asked[0], of_each = asked[1], side = ((XLA_FFI_Buffer *)call->args.args[0])->dims[2];
  const int grid1 = side - WINDOW + 1, most1 = grid1 - 1, grid2 = most1 - 2 * (WINDOW - 1);  // places along a side
  float *sums = malloc(sizeof(float) * grid1 * grid1 * MAPS), *maps1 = malloc(sizeof(float) * most1 * most1 * MAPS);
  for (int b = 0; b < count; b++, copies += of_each)
    for (int mirrored = 0; mirrored < 2; mirrored++, image += side * side * COLOURS) {
      convolved_once(image, side, COLOURS, 1, ARGUMENT(1), copies, of_each, mirrored, 2 * SIDE1, sums);
      for (int place = 0; place < most1 * most1; place++) {
        int corner = (place / most1 * grid1 + place % most1) * MAPS;
        largest_of_four(sums + corner, MAPS, grid1 * MAPS, b1, maps1 + place * MAPS);
      }
      convolved_once(maps1, most1, MAPS, 2, ARGUMENT(3), copies, of_each, mirrored, 2 * SIDE2, sums);
      for (int e = 0; e < of_each; e++)
        for (int place = 0; place < PLACES2 && copies[e].mirrored == mirrored; place++) {
          int row = copies[e].row + place / SIDE2 * 4, column = copies[e].column + place % SIDE2 * 4;
          largest_of_four(sums + (row * grid2 + column) * MAPS, 2 * MAPS, 2 * grid2 * MAPS, b2,
                          maps2 + (((int64_t)b * of_each + e) * PLACES2 + place) * MAPS);
        }
    }
  free(sums);
  free(maps1);
  return NULL;
}

// images, w2, maps2, maps1, which was the largest for each, d maps2 -> d w1, d b1, d w2, d b2
XLA_FFI_Error *lenet_backward(XLA_FFI_CallFrame *call) {
  if (asked_for_version(call)) return NULL;
  const float *images = ARGUMENT(0), *w2 = ARGUMENT(1), *maps2 = ARGUMENT(2), *maps1 = ARGUMENT(3), *d = ARGUMENT(6);
  const uint8_t *largest1 = ARGUMENT(4), *largest2 = ARGUMENT(5);
  float *d_w1 = RESULT(0), *d_w2 = RESULT(2);
  int64_t count = ((XLA_FFI_Buffer *)call->args.args[0])->dims[0];
  Work *k = calloc(1, sizeof *k);
  for (int window = 0; window < WINDOW * WINDOW; window++)
    for (int map = 0; map < MAPS; map++)
      for (int input = 0; input < MAPS; input++)
        k->by_input[(window * MAPS + map) * MAPS + input] = w2[(window * MAPS + input) * MAPS + map];
  for (int64_t b = 0; b < count; b++) {
    int64_t one = b * PLACES1 * MAPS, two = b * PLACES2 * MAPS;
    memcpy(k->image, images + b * IMAGE, sizeof(float) * IMAGE);
    backward_image(k, maps1 + one, largest1 + one, maps2 + two, largest2 + two, d + two);
  }
  for (int map = 0; map < MAPS; map++) {
    for (int i = 0; i < WINDOW; i++)
      for (int j = 0; j < WINDOW * COLOURS; j++)
        d_w1[(i * WINDOW * COLOURS + j) * MAPS + map] = k->d_w1[(map * WINDOW + i) * RUN + j];
    for (int window = 0; window < WINDOW * WINDOW; window++)
      for (int input = 0; input < MAPS; input++)
        d_w2[(window * MAPS + input) * MAPS + map] = k->d_w2[(window * MAPS + map) * MAPS + input];
  }
  memcpy(RESULT(1), k->d_b1, sizeof k->d_b1);
  memcpy(RESULT(3), k->d_b2, sizeof k->d_b2);
  free(k);
  return NULL;
}
