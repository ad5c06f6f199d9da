// swizzle prove: --kernel gemm_tiled<8> --launch 2x2,8x8 --args f32[16,24],f32[24,16],f32.out[16,16],i32=16,i32=24
template <int TILE>
__global__ void gemm_tiled(const float* A, const float* B, float* C, int N, int K) {
  __shared__ float a[TILE][TILE], b[TILE][TILE];
  int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
  float sum = 0.f;
  for (int t = 0; t < K; t += TILE) {
    a[threadIdx.y][threadIdx.x] = A[row * K + t + threadIdx.x];
    b[threadIdx.y][threadIdx.x] = B[(t + threadIdx.y) * N + col];
    __syncthreads();
    for (int k = 0; k < TILE; ++k) sum += a[threadIdx.y][k] * b[k][threadIdx.x];
    __syncthreads();
  }
  C[row * N + col] = sum;
}
