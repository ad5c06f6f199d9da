// A tile of 64 by 64 halves: filled by cp.async, 16 bytes a lane, read by ldmatrix, multiplied by tensor cores. One warp.
// swizzle doctor: --launch 1,32 --args f16[64,64],f16[64,8],f32.out[64,8]
#include <cuda_fp16.h>
#include <cstdint>

__global__ void product(const __half* a, const __half* b, float* c) {
  __shared__ __align__(128) __half tile[64][64];
  __shared__ __align__(128) __half other[64][8];
  const int lane = threadIdx.x;
  for (int k = lane; k < 64 * 8; k += 32) {
    const uint32_t to = static_cast<uint32_t>(__cvta_generic_to_shared(&tile[k / 8][k % 8 * 8]));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(a + 8 * k));
  }
  asm volatile("cp.async.commit_group;");
  for (int k = lane; k < 64; k += 32) {
    const uint32_t to = static_cast<uint32_t>(__cvta_generic_to_shared(&other[k][0]));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(b + 8 * k));
  }
  asm volatile("cp.async.commit_group;\n cp.async.wait_group 0;");
  __syncthreads();
  for (int row = 0; row < 64; row += 16) {
    float d[4] = {0, 0, 0, 0};
    for (int k = 0; k < 64; k += 16) {
      uint32_t m[4], n[2];
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
                   : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(&tile[row + lane % 16][k + lane / 16 * 8]))));
      asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                   : "=r"(n[0]), "=r"(n[1])
                   : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(&other[k + lane % 16][0]))));
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                   "{%0, %1, %2, %3};"
                   : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                   : "r"(m[0]), "r"(m[1]), "r"(m[2]), "r"(m[3]), "r"(n[0]), "r"(n[1]));
    }
    float* to = c + (row + lane / 4) * 8 + lane % 4 * 2;
    to[0] = d[0], to[1] = d[1], to[64] = d[2], to[65] = d[3];
  }
}
