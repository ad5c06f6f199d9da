// A product of matrices, 16 by 8, 32 deep, of bytes, the second one by columns, by one warp.
// swizzle prove: --launch 1,32 --args i8[16,32],i8[8,32],i32.out[16,8]
__global__ void s8(const signed char* A, const signed char* B, int* C) {
  int g = threadIdx.x / 4, t = threadIdx.x % 4, a[4], b[2], c[4] = {0, 0, 0, 0};
  for (int r = 0; r < 4; ++r) a[r] = *reinterpret_cast<const int*>(A + (g + r % 2 * 8) * 32 + 4 * t + r / 2 * 16);
  for (int r = 0; r < 2; ++r) b[r] = *reinterpret_cast<const int*>(B + g * 32 + 4 * t + 16 * r);
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  for (int i = 0; i < 4; ++i) C[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = c[i];
}
