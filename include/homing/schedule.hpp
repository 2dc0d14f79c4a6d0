/// One loop for both: a distribution or one of oneTBB's partitioners, chosen when the program runs.
///
///   tbb::affinity_partitioner ap;
///   homing::regular_distribution rows = homing::block(row_count);
///   homing::parallel_for(range, sweep, use_numa ? homing::schedule(rows) : ap);
///
/// Source: TBB-NUMA figure 11.
#pragma once

#include <homing/detail/loop_parts.hpp>
#include <homing/distribution.hpp>

#include <oneapi/tbb/partitioner.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

namespace homing {
namespace detail {

/// Any one-dimensional distribution behind one type. Cheap to copy; the copies share it.
class any_distribution {
 public:
  template <class Dist>
  explicit any_distribution(Dist of) : of_(std::make_shared<const held<Dist>>(std::move(of))) {}
  [[nodiscard]] std::optional<domain_index> home(const box<1>& part) const { return of_->home(part); }
  [[nodiscard]] piece run_at(std::size_t position, std::size_t last) const { return of_->run_at(position, last); }
  [[nodiscard]] std::size_t size() const { return of_->size(); }

 private:
  struct holder {
    holder() = default;
    holder(const holder&) = delete;
    holder& operator=(const holder&) = delete;
    virtual ~holder() = default;
    [[nodiscard]] virtual std::optional<domain_index> home(const box<1>& part) const = 0;
    [[nodiscard]] virtual piece run_at(std::size_t position, std::size_t last) const = 0;
    [[nodiscard]] virtual std::size_t size() const = 0;
  };
  template <class Dist>
  struct held final : holder {
    explicit held(Dist d) : of(std::move(d)) {}
    [[nodiscard]] std::optional<domain_index> home(const box<1>& part) const override { return of.home(part); }
    [[nodiscard]] piece run_at(std::size_t position, std::size_t last) const override {
      return homing::run_at(of, position, last);
    }
    // One that does not say where it ends has no end.
    [[nodiscard]] std::size_t size() const override {
      if constexpr (requires { of.size(); }) {
        return of.size();
      } else {
        return SIZE_MAX;
      }
    }
    Dist of;
  };
  std::shared_ptr<const holder> of_;
};

}  // namespace detail

/// What homing::parallel_for, parallel_reduce, parallel_scan and their kin take in the distribution's place, for one
/// dimension: made of either, without a word.
///
/// Ownership: a distribution is copied once, and copies of the schedule share it. An affinity_partitioner is used by
///            reference: what it has learnt must last from loop to loop, so it outlives the schedule; two loops that
///            run at the same time need one each.
/// Threads:   like an int, but for that. Errors: std::bad_alloc when made of a distribution.
class schedule : public detail::run_time_choice {
 public:
  template <distribution_over<1> Dist>
  schedule(Dist dist)  // NOLINT(google-explicit-constructor): so that both sides of ?: are schedules
      : how_(detail::any_distribution(std::move(dist))) {}
  schedule(tbb::affinity_partitioner& how) noexcept : how_(&how) {}        // NOLINT(google-explicit-constructor)
  schedule(const tbb::auto_partitioner&) noexcept : how_(automatic()) {}   // NOLINT(google-explicit-constructor)
  schedule(const tbb::simple_partitioner&) noexcept : how_(simple()) {}    // NOLINT(google-explicit-constructor)
  schedule(const tbb::static_partitioner&) noexcept : how_(constant()) {}  // NOLINT(google-explicit-constructor)

  /// Calls f with the distribution or with the partitioner, as an lvalue.
  template <class F>
  decltype(auto) choose(F&& f) const {
    if (const auto* const dist = std::get_if<detail::any_distribution>(&how_)) return f(*dist);
    if (const auto* const partitioner = std::get_if<tbb::affinity_partitioner*>(&how_)) return f(**partitioner);
    if (std::holds_alternative<simple>(how_)) return f(std::as_const(simple_));
    if (std::holds_alternative<constant>(how_)) return f(std::as_const(constant_));
    return f(std::as_const(automatic_));
  }

 private:
  struct automatic {};
  struct simple {};
  struct constant {};
  // They have no state.
  static inline tbb::auto_partitioner automatic_;
  static inline tbb::simple_partitioner simple_;
  static inline tbb::static_partitioner constant_;
  std::variant<detail::any_distribution, tbb::affinity_partitioner*, automatic, simple, constant> how_;
};

}  // namespace homing
