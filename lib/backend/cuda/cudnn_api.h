/* The part of cuDNN's API of recurrent networks that Linnet calls. It is the same in versions 8 and 9 (sources:
 * cudnn_adv.h of version 9, the documentation of version 8). With it Linnet builds without cuDNN. Names and values are
 * NVIDIA's. */
#ifndef LINNET_CUDNN_API_H
#define LINNET_CUDNN_API_H

#include <stddef.h>
#include <stdint.h>

struct CUstream_st; /* a stream: cudaStream_t points to it */

typedef struct cudnnContext *cudnnHandle_t;
typedef struct cudnnTensorStruct *cudnnTensorDescriptor_t;
typedef struct cudnnDropoutStruct *cudnnDropoutDescriptor_t;
typedef struct cudnnRNNStruct *cudnnRNNDescriptor_t;
typedef struct cudnnRNNDataStruct *cudnnRNNDataDescriptor_t;

typedef enum { CUDNN_STATUS_SUCCESS = 0 } cudnnStatus_t; /* other values differ between versions */
typedef enum { CUDNN_DATA_FLOAT = 0, CUDNN_DATA_BFLOAT16 = 9 } cudnnDataType_t;
/* CUDNN_DEFAULT_MATH: tensor cores round operands to TF32. CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION: to float16. */
typedef enum {
  CUDNN_DEFAULT_MATH = 0,
  CUDNN_TENSOR_OP_MATH = 1,
  CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION = 2,
  CUDNN_FMA_MATH = 3
} cudnnMathType_t;
typedef enum { CUDNN_RNN_ALGO_STANDARD = 0 } cudnnRNNAlgo_t;
typedef enum { CUDNN_LSTM = 2 } cudnnRNNMode_t;
typedef enum { CUDNN_RNN_DOUBLE_BIAS = 2 } cudnnRNNBiasMode_t;
typedef enum { CUDNN_BIDIRECTIONAL = 1 } cudnnDirectionMode_t;
typedef enum { CUDNN_LINEAR_INPUT = 0 } cudnnRNNInputMode_t;
typedef enum { CUDNN_FWD_MODE_INFERENCE = 0, CUDNN_FWD_MODE_TRAINING = 1 } cudnnForwardMode_t;
typedef enum { CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED = 1 } cudnnRNNDataLayout_t;
typedef enum { CUDNN_WGRAD_MODE_ADD = 0 } cudnnWgradMode_t;
enum { CUDNN_RNN_PADDED_IO_DISABLED = 0 };

size_t cudnnGetVersion(void);
const char *cudnnGetErrorString(cudnnStatus_t status);
cudnnStatus_t cudnnCreate(cudnnHandle_t *handle);
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle);
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, struct CUstream_st *stream);

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t *tensor);
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t tensor);
cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t tensor, cudnnDataType_t type, int dimensions,
                                         const int sizes[], const int strides[]);
cudnnStatus_t cudnnGetTensorNdDescriptor(const cudnnTensorDescriptor_t tensor, int requested, cudnnDataType_t *type,
                                         int *dimensions, int sizes[], int strides[]);
cudnnStatus_t cudnnCreateDropoutDescriptor(cudnnDropoutDescriptor_t *dropout);
cudnnStatus_t cudnnDestroyDropoutDescriptor(cudnnDropoutDescriptor_t dropout);
cudnnStatus_t cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t dropout, cudnnHandle_t handle, float rate,
                                        void *states, size_t bytes, unsigned long long seed);

cudnnStatus_t cudnnCreateRNNDescriptor(cudnnRNNDescriptor_t *rnn);
cudnnStatus_t cudnnDestroyRNNDescriptor(cudnnRNNDescriptor_t rnn);
cudnnStatus_t cudnnSetRNNDescriptor_v8(cudnnRNNDescriptor_t rnn, cudnnRNNAlgo_t algorithm, cudnnRNNMode_t cell,
                                       cudnnRNNBiasMode_t bias, cudnnDirectionMode_t direction,
                                       cudnnRNNInputMode_t input, cudnnDataType_t type, cudnnDataType_t sums,
                                       cudnnMathType_t math, int32_t inputs, int32_t width, int32_t projection,
                                       int32_t layers, cudnnDropoutDescriptor_t dropout, uint32_t flags);
cudnnStatus_t cudnnCreateRNNDataDescriptor(cudnnRNNDataDescriptor_t *data);
cudnnStatus_t cudnnDestroyRNNDataDescriptor(cudnnRNNDataDescriptor_t data);
/* Packed layout: lengths are sorted, the longest first, and none is 0. */
cudnnStatus_t cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t data, cudnnDataType_t type,
                                        cudnnRNNDataLayout_t layout, int longest, int sequences, int width,
                                        const int lengths[], void *padding);
/* The sizes hold for exactly the lengths of `x`: longer sequences do not always need more. */
cudnnStatus_t cudnnGetRNNTempSpaceSizes(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, cudnnForwardMode_t mode,
                                        cudnnRNNDataDescriptor_t x, size_t *work, size_t *reserve);
cudnnStatus_t cudnnGetRNNWeightSpaceSize(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, size_t *bytes);
/* The address of a linear layer in a weight space. Pseudo-layers of a bidirectional layer: forward, reverse. Linear
 * layers of an LSTM: those of the inputs for i, f, g, o, then those of h. */
cudnnStatus_t cudnnGetRNNWeightParams(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, int32_t pseudo_layer,
                                      size_t bytes, const void *space, int32_t linear_layer,
                                      cudnnTensorDescriptor_t matrix, void **matrix_at, cudnnTensorDescriptor_t bias,
                                      void **bias_at);

/* device_lengths: device memory, the same lengths as in the data descriptors. An initial state that is NULL is zero; a
 * final state that is NULL is not written. */
cudnnStatus_t cudnnRNNForward(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, cudnnForwardMode_t mode,
                              const int32_t device_lengths[], cudnnRNNDataDescriptor_t x_data, const void *x,
                              cudnnRNNDataDescriptor_t y_data, void *y, cudnnTensorDescriptor_t h, const void *hx,
                              void *hy, cudnnTensorDescriptor_t c, const void *cx, void *cy, size_t weight_bytes,
                              const void *weights, size_t work_bytes, void *work, size_t reserve_bytes, void *reserve);
cudnnStatus_t cudnnRNNBackwardData_v8(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, const int32_t device_lengths[],
                                      cudnnRNNDataDescriptor_t y_data, const void *y, const void *dy,
                                      cudnnRNNDataDescriptor_t x_data, void *dx, cudnnTensorDescriptor_t h,
                                      const void *hx, const void *dhy, void *dhx, cudnnTensorDescriptor_t c,
                                      const void *cx, const void *dcy, void *dcx, size_t weight_bytes,
                                      const void *weights, size_t work_bytes, void *work, size_t reserve_bytes,
                                      void *reserve);
/* Call after the backward pass of the data, with the reserve space that it wrote. Adds to the gradients. */
cudnnStatus_t cudnnRNNBackwardWeights_v8(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, cudnnWgradMode_t mode,
                                         const int32_t device_lengths[], cudnnRNNDataDescriptor_t x_data, const void *x,
                                         cudnnTensorDescriptor_t h, const void *hx, cudnnRNNDataDescriptor_t y_data,
                                         const void *y, size_t weight_bytes, void *gradients, size_t work_bytes,
                                         void *work, size_t reserve_bytes, void *reserve);

#endif
