// The Jacobi solver of Wittmann and Hager in blocks: a six-point stencil on one lattice, or on several at once.
// The lattice and the update are those of bench/jacobi, which studies the paper's orders and first touches.
#pragma once

#include <homing/distribution.hpp>
#include <homing/placement.hpp>

#include <cstddef>
#include <string>
#include <vector>

#include "../../bench/jacobi/kernel.hpp"
#include "../common/at_home.hpp"
#include "../common/variants.hpp"

namespace jacobi_program {

using jacobi::site_box;
using programs::array;
using programs::request;

struct input {
  jacobi::extents sites;
  jacobi::extents block;
  std::size_t lattices;
  int sweeps;
};

/// The lattices' blocks, two arrays of values in memory that the variant has made, and a sweep over some blocks.
class problem {
 public:
  explicit problem(const request& r);
  [[nodiscard]] std::size_t values() const { return input_.lattices * lattice_.values(); }
  [[nodiscard]] const homing::regular_distribution<1>& blocks() const { return blocks_; }
  /// Of the values: planes of sites, in blocks over the domains.
  [[nodiscard]] homing::regular_distribution<1> homes_of_values() const {
    return homing::block(values(), homing::domain_set::all(), lattice_.plane());
  }
  void see(double* a, double* b) { a_ = a, b_ = b; }
  [[nodiscard]] int sweeps() const { return input_.sweeps; }

  // Of blocks first..last-1: the first values; and sweep s, from one array to the other by turns.
  void touch(std::size_t first, std::size_t last) const;
  void sweep(int s, std::size_t first, std::size_t last) const;
  /// With stores that don't read the lines which they fill.
  void sweep_past_caches(int s, std::size_t first, std::size_t last) const;

  // For several sweeps in one pass: planes of sites of all lattices, one lattice behind the other, as their values are;
  // so an equal part of the planes is at home where that part of the values is. And sweep s of one plane.
  [[nodiscard]] std::size_t planes() const { return input_.lattices * input_.sites.i; }
  void sweep_plane(int s, std::size_t plane) const;

  [[nodiscard]] std::string wrong() const;
  [[nodiscard]] std::vector<homing::memory_range> data() const;
  /// Million site updates.
  [[nodiscard]] double amount() const;

 private:
  [[nodiscard]] double* from(int s) const { return s % 2 == 0 ? a_ : b_; }
  [[nodiscard]] double* to(int s) const { return s % 2 == 0 ? b_ : a_; }
  [[nodiscard]] std::size_t base_of(std::size_t b) const { return b / lattice_.block_count() * lattice_.values(); }
  [[nodiscard]] site_box box_of(std::size_t b) const { return lattice_.box_of(b % lattice_.block_count()); }

  const input& input_;
  jacobi::lattice lattice_;
  homing::regular_distribution<1> blocks_;
  double *a_ = nullptr, *b_ = nullptr;
};

/// A problem whose values are in arrays of that kind, made of what `homes` says of the problem.
template <class Array>
class solver_in {
 public:
  template <class Homes>
  solver_in(const request& r, const Homes& homes) : p_(r), a_(homes(p_)), b_(homes(p_)) {
    p_.see(a_.data(), b_.data());
  }
  [[nodiscard]] std::string wrong() const { return p_.wrong(); }
  [[nodiscard]] double amount() const { return p_.amount(); }
  [[nodiscard]] std::vector<homing::memory_range> data() const { return p_.data(); }

 protected:
  problem p_;

 private:
  Array a_, b_;
};

/// In plain pages, touched first as the variant's own sweeps are dealt.
class solver_in_pages : public solver_in<array<double>> {
 public:
  explicit solver_in_pages(const request& r) : solver_in(r, [](const problem& p) { return p.values(); }) {}
};

// More files of variants than other programs have.
programs::variant_list openmp_queues_variants();    // openmp_queues.cpp
programs::variant_list homing_queues_variants();    // homing_queues.cpp
programs::variant_list homing_nt_variants();        // homing.cpp
programs::variant_list homing_temporal_variants();  // homing_temporal.cpp

[[nodiscard]] programs::description about() noexcept;

}  // namespace jacobi_program
