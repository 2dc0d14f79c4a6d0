#include "problem.hpp"

#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace jacobi_program {
namespace {

constexpr input inputs[] = {{{60, 60, 96}, {60, 10, 8}, 1, 8},
                            {{60, 60, 24}, {60, 10, 8}, 4, 8},
                            {{150, 150, 600}, {150, 10, 25}, 1, 10},
                            {{600, 600, 2400}, {600, 10, 100}, 1, 10}};
constexpr programs::size_name sizes[] = {{"small", "60x60x96 sites, 5 MiB"},
                                         {"several", "4 lattices of 60x60x24 at once"},
                                         {"medium", "150x150x600 sites, 211 MiB"},
                                         {"paper", "600x600x2400 sites, 13 GB, in blocks of 600x10x100"}};

constexpr std::size_t line_bytes = 64;

/// As jacobi::sweep_block, with stores that don't read the lines which they fill.
void past_caches(const jacobi::lattice& l, const double* from, double* to, const site_box& b) {
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
      const auto four_past_caches = [&](std::size_t k) {
        __m256d sum = _mm256_add_pd(_mm256_loadu_pd(here + k - 1), _mm256_loadu_pd(here + k + 1));
        for (const double* const other : {here + k - row, here + k + row, here + k - plane, here + k + plane}) {
          sum = _mm256_add_pd(sum, _mm256_loadu_pd(other));
        }
        _mm256_stream_pd(result + k, _mm256_mul_pd(sixth, sum));
      };
      // Whole lines only: memory is slow with parts of one, and those at the ends are the neighbouring rows', too.
      std::size_t k = 0;
      for (; k < count && reinterpret_cast<std::uintptr_t>(result + k) % line_bytes != 0; ++k) one(k);
      for (constexpr std::size_t line = line_bytes / sizeof(double); k + line <= count; k += line) {
        four_past_caches(k);
        four_past_caches(k + line / 2);
      }
      for (; k < count; ++k) one(k);
    }
  }
  _mm_sfence();  // before another thread is told that the block is done
}

}  // namespace

problem::problem(const request& r)
    : input_(inputs[r.size]),
      lattice_(input_.sites, input_.block),
      blocks_(homing::block(input_.lattices * lattice_.block_count())) {}

void problem::touch(std::size_t first, std::size_t last) const {
  for (std::size_t b = first; b < last; ++b) {
    const std::size_t base = base_of(b);
    jacobi::touch_block(lattice_, a_ + base, b_ + base, box_of(b));
  }
}

void problem::sweep(int s, std::size_t first, std::size_t last) const {
  programs::count_work(blocks_, first, last);
  for (std::size_t b = first; b < last; ++b) {
    jacobi::sweep_block(lattice_, from(s) + base_of(b), to(s) + base_of(b), box_of(b));
  }
}

void problem::sweep_past_caches(int s, std::size_t first, std::size_t last) const {
  programs::count_work(blocks_, first, last);
  for (std::size_t b = first; b < last; ++b) {
    past_caches(lattice_, from(s) + base_of(b), to(s) + base_of(b), box_of(b));
  }
}

void problem::sweep_plane(int s, std::size_t plane) const {
  const std::size_t base = plane / input_.sites.i * lattice_.values();
  const std::size_t i = plane % input_.sites.i;
  const site_box all{{0, 0, i}, {input_.sites.k, input_.sites.j, i + 1}};
  jacobi::sweep_block(lattice_, from(s) + base, to(s) + base, all);
}

// By the definition, site after site, with nothing of the sweeps but the first values and the order of the additions.
std::string problem::wrong() const {
  const auto [sites_k, sites_j, sites_i] = input_.sites;
  const std::size_t row = sites_k + 2;
  const std::size_t plane = row * (sites_j + 2);
  std::vector<double> now(plane * (sites_i + 2));
  for (std::size_t place = 0; place < now.size(); ++place) now[place] = jacobi::first_value(place);
  std::vector<double> next = now;
  for (int s = 0; s < sweeps(); ++s) {
    for (std::size_t i = 1; i <= sites_i; ++i) {
      for (std::size_t j = 1; j <= sites_j; ++j) {
        for (std::size_t k = 1; k <= sites_k; ++k) {
          const double* const u = &now[i * plane + j * row + k];
          next[i * plane + j * row + k] = 1.0 / 6.0 * (u[-1] + u[1] + *(u - row) + u[row] + *(u - plane) + u[plane]);
        }
      }
    }
    std::swap(now, next);
  }
  for (std::size_t l = 0; l < input_.lattices; ++l) {
    const double* const its = from(sweeps()) + l * now.size();
    const auto [found, expected] = std::mismatch(its, its + now.size(), now.begin());
    if (expected != now.end()) {
      return "lattice " + std::to_string(l) + ", place " + std::to_string(expected - now.begin()) + ": " +
             std::to_string(*found) + ", expected " + std::to_string(*expected);
    }
  }
  return "";
}

std::vector<homing::memory_range> problem::data() const {
  return {{a_, values() * sizeof(double)}, {b_, values() * sizeof(double)}};
}

double problem::amount() const {
  return static_cast<double>(input_.lattices * input_.sites.sites()) * input_.sweeps / 1e6;
}

programs::description about() noexcept { return {"jacobi", "A six-point Jacobi solver in blocks.", "MLUP", sizes}; }

}  // namespace jacobi_program
