// Smooths 1000 numbers on the GPU, once and twice, and compares with loops on the host.
#include <cstdio>
#include <vector>

#include "smooth.cuh"
#include "twice.hpp"

namespace {

std::vector<float> smoothed(const std::vector<float>& x, const float (&w)[3]) {
  std::vector<float> y(x.size() - 2);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = w[0] * x[i] + w[1] * x[i + 1] + w[2] * x[i + 2];
  return y;
}

int stop(cudaError_t error) {
  std::fprintf(stderr, "smooth: %s\n", cudaGetErrorString(error));
  return 1;
}

}  // namespace

int main() {
  const long long n = 1000;  // no multiple of the block's 128
  const float w[3] = {1, 2, 4};
  std::vector<float> x(n + 4);
  for (long long i = 0; i < n + 4; ++i) x[i] = float(i * 37 % 101);

  float *all, *dx, *dw, *between, *y;
  if (cudaError_t error = cudaMalloc(&all, (3 * n + 9) * sizeof(float))) return stop(error);
  dx = all, between = dx + n + 4, y = between + n + 2, dw = y + n;
  cudaMemcpy(dx, x.data(), x.size() * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(dw, w, sizeof w, cudaMemcpyHostToDevice);

  const std::vector<float> once = smoothed(x, w), twice = smoothed(once, w);
  std::vector<float> got(n + 2);
  if (cudaError_t error = swizzle_smooth::launch_smooth(dx, dw, between, n + 2)) return stop(error);
  cudaMemcpy(got.data(), between, (n + 2) * sizeof(float), cudaMemcpyDeviceToHost);
  bool right = got == once;
  if (cudaError_t error = smooth_twice(dx, dw, between, y, n, nullptr)) return stop(error);
  got.resize(n);
  if (cudaError_t error = cudaMemcpy(got.data(), y, n * sizeof(float), cudaMemcpyDeviceToHost)) return stop(error);
  right = right && got == twice;
  std::puts(right ? "smooth: the GPU's numbers are the host's" : "smooth: the GPU's numbers are wrong");
  return right ? 0 : 1;
}
