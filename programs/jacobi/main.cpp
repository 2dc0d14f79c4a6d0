// The Jacobi solver of Wittmann and Hager in blocks: a six-point stencil on one lattice, or on several at once.
// The lattice and the update are those of bench/jacobi, which studies the paper's orders and first touches.
#include <immintrin.h>

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "../../bench/jacobi/kernel.hpp"
#include "../common/trapezoids.hpp"
#include "models.hpp"

namespace {

using namespace programs;
using namespace jacobi_program;
using jacobi::site_box;

struct problem {
  jacobi::extents sites;
  jacobi::extents block;
  std::size_t lattices;
  int sweeps;
};
constexpr problem problems[] = {{{60, 60, 96}, {60, 10, 8}, 1, 8},
                                {{60, 60, 24}, {60, 10, 8}, 4, 8},
                                {{150, 150, 600}, {150, 10, 25}, 1, 10},
                                {{600, 600, 2400}, {600, 10, 100}, 1, 10}};
constexpr size_name sizes[] = {{"small", "60x60x96 sites, 5 MiB"},
                               {"several", "4 lattices of 60x60x24 at once"},
                               {"medium", "150x150x600 sites, 211 MiB"},
                               {"paper", "600x600x2400 sites, 13 GB, in blocks of 600x10x100"}};

/// As jacobi::sweep_block, with stores that don't read the lines which they fill.
void sweep_past_caches(const jacobi::lattice& l, const double* from, double* to, const site_box& b) {
  const std::size_t row = l.row();
  const std::size_t plane = l.plane();
  const std::size_t count = b.last.k - b.first.k;
  const __m256d sixth = _mm256_set1_pd(1.0 / 6.0);
  for (std::size_t i = b.first.i; i < b.last.i; ++i) {
    for (std::size_t j = b.first.j; j < b.last.j; ++j) {
      const double* const here = from + l.place_of(i, j, b.first.k);
      double* const result = to + l.place_of(i, j, b.first.k);
      const auto one = [&](std::size_t k) {
        const double sum =
            here[k - 1] + here[k + 1] + here[k - row] + here[k + row] + here[k - plane] + here[k + plane];
        result[k] = 1.0 / 6.0 * sum;
      };
      std::size_t k = 0;
      for (; k < count && reinterpret_cast<std::uintptr_t>(result + k) % sizeof(__m256d) != 0; ++k) one(k);
      for (; k + 4 <= count; k += 4) {
        __m256d sum = _mm256_add_pd(_mm256_loadu_pd(here + k - 1), _mm256_loadu_pd(here + k + 1));
        for (const double* const other : {here + k - row, here + k + row, here + k - plane, here + k + plane}) {
          sum = _mm256_add_pd(sum, _mm256_loadu_pd(other));
        }
        _mm256_stream_pd(result + k, _mm256_mul_pd(sixth, sum));
      }
      for (; k < count; ++k) one(k);
    }
  }
  _mm_sfence();  // before another thread is told that the block is done
}

template <class Model>
class solver {
 public:
  solver(const request& r, Model& model)
      : request_(r),
        problem_(problems[r.size]),
        model_(model),
        lattice_(problem_.sites, problem_.block),
        blocks_(problem_.lattices * lattice_.block_count()),
        from_(problem_.lattices * lattice_.values()),
        to_(from_.size()) {
    reset();
    const auto planes = homing::block(from_.size(), homing::domain_set::all(), lattice_.plane());
    model_.place(planes, from_);
    model_.place(planes, to_);
  }
  void reset() {
    model_.loop(blocks_, [this](std::size_t first, std::size_t last) {
      for (std::size_t b = first; b < last; ++b) {
        const std::size_t base = base_of(b);
        jacobi::touch_block(lattice_, from_.data() + base, to_.data() + base, box_of(b));
      }
    });
  }
  void run() {
    if constexpr (std::is_same_v<Model, homing_temporal>) {
      sweep_in_trapezoids();
    } else {
      for (int s = 0; s < problem_.sweeps; ++s) {
        sweep();
        std::swap(from_, to_);
      }
    }
  }
  [[nodiscard]] std::string wrong() const {
    serial_model one(1);
    solver<serial_model> serial(request_, one);
    serial.run();
    const bool same = std::memcmp(serial.result().data(), from_.data(), from_.size() * sizeof(double)) == 0;
    return same ? "" : "not the serial result, bit by bit";
  }
  [[nodiscard]] const array<double>& result() const { return from_; }
  [[nodiscard]] std::vector<homing::memory_range> data() const { return {from_.range(), to_.range()}; }
  /// Million site updates.
  [[nodiscard]] double amount() const {
    return static_cast<double>(problem_.lattices * problem_.sites.sites()) * problem_.sweeps / 1e6;
  }

 private:
  [[nodiscard]] std::size_t base_of(std::size_t b) const { return b / lattice_.block_count() * lattice_.values(); }
  [[nodiscard]] site_box box_of(std::size_t b) const { return lattice_.box_of(b % lattice_.block_count()); }

  void sweep() {
    model_.loop(blocks_, [this](std::size_t first, std::size_t last) {
      for (std::size_t b = first; b < last; ++b) {
        const double* const from = from_.data() + base_of(b);
        double* const to = to_.data() + base_of(b);
        if constexpr (std::is_same_v<Model, homing_nontemporal>) {
          sweep_past_caches(lattice_, from, to, box_of(b));
        } else {
          jacobi::sweep_block(lattice_, from, to, box_of(b));
        }
      }
    });
  }
  // Rows of the trapezoids are planes of sites; lattices come one after the other.
  void sweep_in_trapezoids() {
    const auto step = [this](std::size_t base) {
      return [this, base](int t, std::size_t i) {
        const site_box plane{{0, 0, i}, {problem_.sites.k, problem_.sites.j, i + 1}};
        const array<double>& from = t % 2 == 0 ? from_ : to_;
        const array<double>& to = t % 2 == 0 ? to_ : from_;
        jacobi::sweep_block(lattice_, from.data() + base, to.data() + base, plane);
      };
    };
    for (std::size_t l = 0; l < problem_.lattices; ++l) {
      const std::size_t base = l * lattice_.values();
      const auto data = [this, base](std::size_t i) { return &from_[base + lattice_.place_of(i, 0, 0)]; };
      const auto planes = step(base);
      trapezoids(model_, problem_.sites.i, planes, data).run(problem_.sweeps);
    }
    if (problem_.sweeps % 2 != 0) std::swap(from_, to_);
  }

  request request_;
  const problem& problem_;
  Model& model_;
  jacobi::lattice lattice_;
  space blocks_;
  array<double> from_, to_;
};

}  // namespace

int main(int argc, char** argv) {
  return run_program<solver, serial_model, tbb_auto, tbb_static, tbb_affinity, tbb_arenas, openmp, openmp_affinity,
                     openmp_queues, homing_sent, homing_placed, homing_queues, homing_nontemporal, homing_temporal>(
      argc, argv, {"jacobi", "A six-point Jacobi solver in blocks.", "MLUP", sizes});
}
