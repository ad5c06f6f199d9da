// swizzle prove: --launch 2,64 --args f32[300],f32.out[300],f32,u32=300
__global__ void grid_stride(const float* __restrict__ x, float* __restrict__ y, float a, unsigned n) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = a * x[i];
}
