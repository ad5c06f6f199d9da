// A product of matrices, 16 by 8, 32 deep, of halves, summed in halves, by one warp.
// swizzle prove: --launch 1,32 --args f16[16,32],f16[32,8],f16.out[16,8]
#include <cuda_fp16.h>
__global__ void f16_sums(const __half* A, const __half* B, __half* C) {
  int g = threadIdx.x / 4, t = threadIdx.x % 4;
  unsigned c[2] = {0, 0};
  for (int k = 0; k < 32; k += 16) {
    unsigned a[4], b[2];
    for (int r = 0; r < 4; ++r)
      a[r] = *reinterpret_cast<const unsigned*>(A + (g + r % 2 * 8) * 32 + k + 2 * t + r / 2 * 8);
    for (int r = 0; r < 2; ++r) {
      __half2 pair = __halves2half2(B[(k + 2 * t + 8 * r) * 8 + g], B[(k + 2 * t + 8 * r + 1) * 8 + g]);
      b[r] = *reinterpret_cast<unsigned*>(&pair);
    }
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 "
                 "{%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
                 : "+r"(c[0]), "+r"(c[1]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
  for (int i = 0; i < 2; ++i) *reinterpret_cast<unsigned*>(C + (g + i * 8) * 8 + 2 * t) = c[i];
}
