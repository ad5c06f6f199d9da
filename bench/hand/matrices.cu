// A tile of a product of half-precision matrices on tensor cores, as an expert writes it: y = x @ w.T, 64 x 64 by four
// warps, 32 columns at a time through three buffers, which are filled by asynchronous copies of 16 bytes. Chunks of 8
// halves are turned by half the row, so that neither copies nor ldmatrix have bank conflicts. K columns.

#include <cuda_fp16.h>

extern "C" __global__ void __launch_bounds__(128) product_tile(
    const __half* __restrict__ x, const __half* __restrict__ w, float* __restrict__ y) {
  __shared__ __align__(16) __half tile[3][2][64][32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int copied = threadIdx.x / 4, chunk = threadIdx.x % 4;
  const unsigned start = unsigned(__cvta_generic_to_shared(&tile[0][0][0][0]));
  const unsigned to = start + copied * 64 + ((chunk ^ (copied >> 1 & 3)) << 4);
  const __half* const from_x = x + copied * K + chunk * 8;
  const __half* const from_w = w + copied * K + chunk * 8;
  const auto fetch = [&](int s) {
    const unsigned at = to + s % 3 * 8192;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                   :: "r"(at + r * 2048), "l"(from_x + r * 32 * K + s * 32) : "memory");
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                   :: "r"(at + 4096 + r * 2048), "l"(from_w + r * 32 * K + s * 32) : "memory");
    }
  };
  float c[2][4][4] = {};
  fetch(0);
  asm volatile("cp.async.commit_group;" ::: "memory");
  fetch(1);
  asm volatile("cp.async.commit_group;" ::: "memory");
  const int row_a = warp / 2 * 32 + lane % 16, row_b = warp % 2 * 32 + lane / 16 * 8 + lane % 8;
  const unsigned turn_a = row_a >> 1 & 3, turn_b = row_b >> 1 & 3;
  const unsigned at_a = start + row_a * 64, at_b = start + 4096 + row_b * 64;
#pragma unroll
  for (int s = 0; s < K / 32; ++s) {
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncthreads();
    if (s + 2 < K / 32) fetch(s + 2);
    asm volatile("cp.async.commit_group;" ::: "memory");
#pragma unroll
    for (int k = 0; k < 4; k += 2) {
      unsigned a[2][4], b[2][4];
#pragma unroll
      for (int m = 0; m < 2; ++m)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(a[m][0]), "=r"(a[m][1]), "=r"(a[m][2]), "=r"(a[m][3])
                     : "r"(at_a + s % 3 * 8192 + m * 1024 + (((k + lane / 16) ^ turn_a) << 4)) : "memory");
#pragma unroll
      for (int n = 0; n < 2; ++n)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(b[n][0]), "=r"(b[n][1]), "=r"(b[n][2]), "=r"(b[n][3])
                     : "r"(at_b + s % 3 * 8192 + n * 1024 + (((k + lane / 8 % 2) ^ turn_b) << 4)) : "memory");
#pragma unroll
      for (int m = 0; m < 2; ++m)
#pragma unroll
        for (int n = 0; n < 4; ++n)
          asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                       "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                       : "+f"(c[m][n][0]), "+f"(c[m][n][1]), "+f"(c[m][n][2]), "+f"(c[m][n][3])
                       : "r"(a[m][0]), "r"(a[m][1]), "r"(a[m][2]), "r"(a[m][3]),
                         "r"(b[n / 2][n % 2 * 2]), "r"(b[n / 2][n % 2 * 2 + 1]));
    }
  }
  float* const to_y = y + (warp / 2 * 32 + lane / 4) * 64 + warp % 2 * 32 + lane % 4 * 2;
#pragma unroll
  for (int m = 0; m < 2; ++m)
#pragma unroll
    for (int n = 0; n < 4; ++n)
#pragma unroll
      for (int h = 0; h < 2; ++h)
        *reinterpret_cast<float2*>(to_y + (m * 16 + h * 8) * 64 + n * 8) =
            make_float2(c[m][n][2 * h], c[m][n][2 * h + 1]);
}
