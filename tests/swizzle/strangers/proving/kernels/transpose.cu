// swizzle prove: --launch 2x2,8x4 --args f32[10,14],f32.out[14,10],i32=10,i32=14
__global__ void transpose(const float* in, float* out, int h, int w) {
  __shared__ float tile[8][9];
  int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  for (int j = 0; j < 8; j += 4)
    if (x < w && y + j < h) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * w + x];
  __syncthreads();
  x = blockIdx.y * 8 + threadIdx.x;
  y = blockIdx.x * 8 + threadIdx.y;
  for (int j = 0; j < 8; j += 4)
    if (x < h && y + j < w) out[(y + j) * h + x] = tile[threadIdx.x][threadIdx.y + j];
}
