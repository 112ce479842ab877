/* For functions that the processor and CUDA kernels share. */
#ifndef LINNET_HOST_DEVICE_H
#define LINNET_HOST_DEVICE_H

#ifdef __CUDACC__
#define LINNET_HOST_DEVICE __host__ __device__
#else
#define LINNET_HOST_DEVICE
#endif

#endif
