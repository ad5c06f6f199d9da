#pragma once
#include <cuda_runtime.h>

/// x has n + 4 elements, between n + 2, y n, w 3; all on the device.
cudaError_t smooth_twice(const float* x, const float* w, float* between, float* y, long long n, cudaStream_t stream);
