/// A plain STREAM, with nothing of ours in it: static arrays, OpenMP, -O3. What `homing bandwidth` is compared with.
///
/// usage: plain_stream [RUNS]; prints one JSON object: each run's rate of each kernel in MB/s (10^6 bytes/s).
/// Written from STREAM's rules (J. D. McCalpin): first touch in parallel, the first run does not count, each array read
/// or written once, results checked against scalars.
#include <omp.h>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr std::size_t elements = HOMING_STREAM_ELEMENTS;
constexpr double scalar = 3.0;
constexpr int runs_max = 200;  // 3.0 multiplies by 15 a run

double a[elements];
double b[elements];
double c[elements];

using loop_index = std::ptrdiff_t;  // OpenMP's loops are happiest with a signed one
constexpr auto n = static_cast<loop_index>(elements);

void copy() {
#pragma omp parallel for
  for (loop_index i = 0; i < n; ++i) c[i] = a[i];
}
void scale() {
#pragma omp parallel for
  for (loop_index i = 0; i < n; ++i) b[i] = scalar * c[i];
}
void add() {
#pragma omp parallel for
  for (loop_index i = 0; i < n; ++i) c[i] = a[i] + b[i];
}
void triad() {
#pragma omp parallel for
  for (loop_index i = 0; i < n; ++i) a[i] = b[i] + scalar * c[i];
}

struct kernel {
  const char* name;
  void (*run)();
  double bytes;
};
constexpr kernel kernels[] = {{"copy", copy, 16.0 * elements},
                              {"scale", scale, 16.0 * elements},
                              {"add", add, 24.0 * elements},
                              {"triad", triad, 24.0 * elements}};

bool is_right(int runs) {
  double va = 1;
  double vb = 2;
  double vc = 0;
  for (int run = 0; run < runs; ++run) {
    vc = va;
    vb = scalar * vc;
    vc = va + vb;
    va = vb + scalar * vc;
  }
  double errors[3] = {};
  for (loop_index i = 0; i < n; ++i) {
    errors[0] += std::fabs(a[i] - va);
    errors[1] += std::fabs(b[i] - vb);
    errors[2] += std::fabs(c[i] - vc);
  }
  const double mean = 1e-13 * static_cast<double>(elements);
  return errors[0] <= mean * va && errors[1] <= mean * vb && errors[2] <= mean * vc;
}

}  // namespace

int main(int count, char** words) {
  const int runs = count > 1 ? std::atoi(words[1]) : 10;
  if (count > 2 || runs < 1 || runs > runs_max) {
    std::fprintf(stderr, "usage: plain_stream [RUNS], from 1 to %d\n", runs_max);
    return 2;
  }
#pragma omp parallel for
  for (loop_index i = 0; i < n; ++i) {
    a[i] = 1;
    b[i] = 2;
    c[i] = 0;
  }
  std::vector<double> rates[4];
  for (int run = 0; run <= runs; ++run) {
    for (int k = 0; k < 4; ++k) {
      const double begin = omp_get_wtime();
      kernels[k].run();
      const double seconds = omp_get_wtime() - begin;
      if (run > 0) rates[k].push_back(kernels[k].bytes / 1e6 / seconds);
    }
  }
  if (!is_right(runs + 1)) {
    std::fputs("plain_stream: wrong results\n", stderr);
    return 1;
  }
  std::printf("{\"array_bytes\": %zu, \"threads\": %d", elements * sizeof(double), omp_get_max_threads());
  for (int k = 0; k < 4; ++k) {
    std::printf(", \"%s\": [", kernels[k].name);
    for (std::size_t i = 0; i < rates[k].size(); ++i) std::printf("%s%.1f", i == 0 ? "" : ", ", rates[k][i]);
    std::printf("]");
  }
  std::printf("}\n");
  return 0;
}
