// A tile of 32 by 32, 32 deep, by four warps: copied asynchronously into rows of 64 bytes whose pieces are swizzled.
// swizzle prove: --launch 1,128 --args f16[32,32],f16[32,32],f32.out[32,32]
#include <cuda_fp16.h>

__device__ unsigned at(const __half* tile, int row, int piece) {
  return static_cast<unsigned>(__cvta_generic_to_shared(tile + row * 32 + (piece ^ row / 2 % 4) * 8));
}

__global__ void tile(const __half* A, const __half* B, float* C) {
  __shared__ __align__(16) __half a[32 * 32], b[32 * 32];
  const int t = threadIdx.x, lane = t % 32, top = t / 32 / 2 * 16, left = t / 32 % 2 * 16;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at(a, t / 4, t % 4)), "l"(A + t * 8));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at(b, t / 4, t % 4)), "l"(B + t * 8));
  asm volatile("cp.async.commit_group;");
  asm volatile("cp.async.wait_group 0;");
  __syncthreads();
  float c[2][4] = {};
  for (int k = 0; k < 32; k += 16) {
    unsigned m[4], n[4];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
                 : "r"(at(a, top + lane % 16, k / 8 + lane / 16)));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(n[0]), "=r"(n[1]), "=r"(n[2]), "=r"(n[3])
                 : "r"(at(b, k + lane % 16, left / 8 + lane / 16)));
    for (int j = 0; j < 2; ++j)
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                   "{%0, %1, %2, %3};"
                   : "+f"(c[j][0]), "+f"(c[j][1]), "+f"(c[j][2]), "+f"(c[j][3])
                   : "r"(m[0]), "r"(m[1]), "r"(m[2]), "r"(m[3]), "r"(n[2 * j]), "r"(n[2 * j + 1]));
  }
  for (int j = 0; j < 2; ++j)
    for (int i = 0; i < 4; ++i)
      C[(top + lane / 4 + i / 2 * 8) * 32 + left + j * 8 + lane % 4 * 2 + i % 2] = c[j][i];
}
