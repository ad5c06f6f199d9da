// A product of matrices, 16 by 8, 16 deep, of halves, by one warp.
// swizzle prove: --launch 1,32 --args f16[16,16],f16[16,8],f32.out[16,8]
#include <cuda_fp16.h>
__global__ void f16(const __half* A, const __half* B, float* C) {
  int g = threadIdx.x / 4, t = threadIdx.x % 4;
  unsigned a[4], b[2];
  float c[4] = {0.f, 0.f, 0.f, 0.f};
  for (int r = 0; r < 4; ++r) a[r] = *reinterpret_cast<const unsigned*>(A + (g + r % 2 * 8) * 16 + 2 * t + r / 2 * 8);
  for (int r = 0; r < 2; ++r) {
    __half2 pair = __halves2half2(B[(2 * t + 8 * r) * 8 + g], B[(2 * t + 8 * r + 1) * 8 + g]);
    b[r] = *reinterpret_cast<unsigned*>(&pair);
  }
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  for (int i = 0; i < 4; ++i) C[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = c[i];
}
