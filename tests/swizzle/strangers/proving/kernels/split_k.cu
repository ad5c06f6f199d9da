// swizzle prove: --launch 1x1x4,4x4 --args f32[4,32],f32[32,4],f32.inout[4,4],i32=32
__global__ void split_k(const float* A, const float* B, float* C, int K) {
  int row = threadIdx.y, col = threadIdx.x, part = K / gridDim.z;
  float sum = 0.f;
  for (int k = blockIdx.z * part; k < (blockIdx.z + 1) * part; ++k) sum += A[row * K + k] * B[k * 4 + col];
  atomicAdd(&C[row * 4 + col], sum);
}
