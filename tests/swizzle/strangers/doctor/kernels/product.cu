// C = A * transposed(B), one element a thread, a tile of 16 by 16 at a time; both tiles are kept as they come.
// swizzle doctor: --kernel product<16> --launch 2x2,16x16 --args f32[32,32],f32[32,32],f32.out[32,32],i32=32
template <int TILE>
__global__ void product(const float* a, const float* b, float* c, int n) {
  __shared__ float rows[TILE][TILE], columns[TILE][TILE];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * TILE + ty, column = blockIdx.x * TILE + tx;
  float sum = 0.0f;
  for (int first = 0; first < n; first += TILE) {
    rows[ty][tx] = a[row * n + first + tx];
    columns[ty][tx] = b[(blockIdx.x * TILE + ty) * n + first + tx];
    __syncthreads();
    for (int k = 0; k < TILE; ++k) sum += rows[ty][k] * columns[tx][k];
    __syncthreads();
  }
  c[row * n + column] = sum;
}
