// swizzle prove: --launch 1,64 --args i32[64],i32.out[64]
__global__ void block_scan(const int* x, int* y) {
  __shared__ int warps[2];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, v = x[threadIdx.x];
  for (int step = 1; step < 32; step *= 2) {
    int other = __shfl_up_sync(0xffffffffu, v, step);
    if (lane >= step) v += other;
  }
  if (lane == 31) warps[warp] = v;
  __syncthreads();
  y[threadIdx.x] = v + (warp > 0 ? warps[0] : 0);
}
