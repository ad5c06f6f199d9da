// swizzle prove: --launch 2x2,8x8 --args f32[14,14],f32.inout[14,14],i32=14
__global__ void stencil(const float* u, float* v, int n) {
  int i = blockIdx.y * 8 + threadIdx.y, j = blockIdx.x * 8 + threadIdx.x;
  if (i < 1 || j < 1 || i >= n - 1 || j >= n - 1) return;
  v[i * n + j] = 0.25f * (u[(i - 1) * n + j] + u[(i + 1) * n + j] + u[i * n + j - 1] + u[i * n + j + 1]);
}
