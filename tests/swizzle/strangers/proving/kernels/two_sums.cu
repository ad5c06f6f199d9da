// swizzle prove: --kernel partial --launch 4,32 --args x:f32[128],sums:f32.out[4]
// swizzle prove: --kernel total --launch 1,4 --args sums:f32[4],result:f32.out[1]
__global__ void partial(const float* in, float* out) {
  float v = in[blockIdx.x * 32 + threadIdx.x];
  for (int offset = 16; offset > 0; offset /= 2) v += __shfl_xor_sync(0xffffffffu, v, offset);
  if (threadIdx.x == 0) out[blockIdx.x] = v;
}
__global__ void total(const float* in, float* out) {
  __shared__ float s[4];
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) out[0] = s[0] + s[1] + s[2] + s[3];
}
