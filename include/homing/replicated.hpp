/// Read-mostly data with a copy a domain: everybody reads near, writing means telling the copies.
///
///   homing::replicated<float> table(weights_of_a_network);      // copies, each in its domain's memory
///   parallel_for(..., [&] { use(table.local()); });             // the calling thread's domain's copy
///   table.edit([](std::span<float> original) { original[7] = 1; }); // the copies see it after the next refresh()
///   table.refresh();
#pragma once

#include <homing/detail/replica_store.hpp>
#include <homing/distribution.hpp>
#include <homing/placement.hpp>
#include <homing/topology.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

namespace homing {

/// An original and a copy in each domain whose memory is not the original's. Domains with the same memory node share
/// one, and with one node everybody reads the original: no copy is made.
///
/// It is a distribution, too: every part of it is everywhere, so home() names none and no work is drawn anywhere.
///
/// Ownership: of original and copies.
/// Threads:   local() and at() from any thread at the same time; edit() and refresh() by one, while nobody reads (as
///            with a container that is changed).
/// Errors:    std::bad_alloc on construction. Copies that could not be placed are as good to read, only farther:
///            report() counts them.
/// Source:    TBB-NUMA 4.5 and 5.1: data that every domain reads as a whole is no domain's.
template <class T>
class replicated {
  static_assert(std::is_trivially_copyable_v<T>, "copies are made byte by byte: elements must be trivially copyable");

 public:
  /// Takes the values of `from`, and copies them into every domain of the current machine, or of `over`.
  explicit replicated(std::span<const T> from, const placement_options& options = {})
      : replicated(from, domain_set::all(), options) {}
  replicated(std::span<const T> from, const domain_set& over, const placement_options& options = {})
      : store_(from.size_bytes(), alignof(T), over, options), size_(from.size()) {
    store_.write(from.data());
    store_.refresh();
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// The values as of the last refresh(), near the calling thread. A domain that has no copy reads the nearest one.
  [[nodiscard]] std::span<const T> local() const noexcept { return at(topology::current_domain()); }
  [[nodiscard]] std::span<const T> at(domain_index domain) const noexcept { return values(store_.copy_of(domain)); }
  /// Copies that exist beside the original.
  [[nodiscard]] std::size_t copy_count() const noexcept { return store_.copy_count(); }

  /// Calls f(std::span<T>) on the original.
  template <class F>
  void edit(F&& f) {
    std::forward<F>(f)(std::span<T>(static_cast<T*>(store_.original()), size_));
  }
  /// Brings all copies up to the original.
  void refresh() noexcept { store_.refresh(); }

  /// What placing the original and the copies came to, summed up.
  [[nodiscard]] const placement_report& report() const noexcept { return store_.report(); }

  static constexpr bool has_homes = false;
  /// None: every domain has it.
  template <std::size_t Dims>
  [[nodiscard]] constexpr std::optional<domain_index> home(const box<Dims>&) const noexcept {
    return std::nullopt;
  }

 private:
  [[nodiscard]] std::span<const T> values(const void* copy) const noexcept {
    return {static_cast<const T*>(copy), size_};
  }

  detail::replica_store store_;
  std::size_t size_;
};

}  // namespace homing
