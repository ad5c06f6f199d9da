// A product of 16 by 16, 32 deep, by one warp with WMMA, the second matrix by way of shared memory, scaled.
// swizzle prove: --launch 1,32 --args f16[16,32],f16[32,16],f32=2.0,f32.out[16,16]
#include <mma.h>
using namespace nvcuda;

__global__ void wmma_gemm(const __half* A, const __half* B, float alpha, float* C) {
  __shared__ __align__(32) __half tile[16 * 16];
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
  wmma::fill_fragment(c, 0.f);
  for (int k = 0; k < 32; k += 16) {
    __syncwarp();
    for (int i = threadIdx.x; i < 256; i += 32) tile[i] = B[k * 16 + i];
    __syncwarp();
    wmma::load_matrix_sync(a, A + k, 32);
    wmma::load_matrix_sync(b, tile, 16);
    wmma::mma_sync(c, a, b, c);
  }
  for (int i = 0; i < c.num_elements; ++i) c.x[i] *= alpha;
  wmma::store_matrix_sync(C, c, 16, wmma::mem_row_major);
}
