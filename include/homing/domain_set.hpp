/// Which domains a distribution deals to, in which order, and in what proportion.
#pragma once

#include <homing/detail/fault.hpp>
#include <homing/detail/shared_table.hpp>
#include <homing/export.hpp>
#include <homing/ids.hpp>
#include <homing/topology.hpp>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace homing {

/// An ordered set of domains: part i of a distribution belongs to its i-th member. Never empty.
/// Threads: like an int. Cheap to copy. Errors: no member, or one twice, is a programmer's error.
class HOMING_API domain_set {
 public:
  /// All domains of the current machine, in its order.
  [[nodiscard]] static domain_set all();
  /// The domains 0..count-1, whatever the machine. A constant.
  [[nodiscard]] static constexpr domain_set first(std::uint32_t count) noexcept { return domain_set(count); }
  /// These domains, in this order.
  domain_set(std::initializer_list<domain_index> members);
  explicit domain_set(std::span<const domain_index> members);

  [[nodiscard]] constexpr std::uint32_t size() const noexcept { return count_; }
  [[nodiscard]] constexpr domain_index operator[](std::uint32_t i) const noexcept {
    return static_cast<domain_index>(members_.empty() ? i : members_[i]);
  }
  /// The member's place; nothing if it is none.
  [[nodiscard]] constexpr std::optional<std::uint32_t> find(domain_index domain) const noexcept {
    for (std::uint32_t i = 0; i < count_; ++i) {
      if ((*this)[i] == domain) return i;
    }
    return std::nullopt;
  }

 private:
  constexpr explicit domain_set(std::uint32_t count) noexcept : count_(count) {
    detail::expects(count > 0, "domain_set", "no domain given; a set names at least one");
  }

  std::uint32_t count_;
  detail::shared_table members_;  // empty: 0..count_-1
};

struct weights_or_error;

/// How much each member of a domain_set gets, relative to the others: one figure a member, in its order. Zero is
/// allowed: that member gets nothing. Whole numbers up to 2^32 are kept exactly; others are kept to 32 bits.
///
/// Threads: like an int. Cheap to copy. Errors: a programmer's error is a figure that is negative, infinite or not a
/// number, no figure, and figures that are all zero.
class HOMING_API weights {
 public:
  /// Given figures: any shares.
  weights(std::initializer_list<double> figures);
  explicit weights(std::span<const double> figures);
  /// The CPUs of each member that this process may use.
  [[nodiscard]] static weights by_cpus(const topology::snapshot& machine, const domain_set& over);
  /// The bandwidth that firmware reports of each member's memory, seen from the member; nothing where any is unknown.
  /// Members whose memory is the same node's share its bandwidth evenly.
  [[nodiscard]] static std::optional<weights> by_reported_bandwidth(const topology::snapshot& machine,
                                                                    const domain_set& over);
  /// The bandwidth that each member's CPUs were measured to get from its memory: `file` is what
  /// `homing bandwidth --csv` wrote on this machine, of which the medians of `kernel` count. Shared as above.
  [[nodiscard]] static weights_or_error by_measured_bandwidth(const topology::snapshot& machine, const domain_set& over,
                                                              const std::string& file,
                                                              std::string_view kernel = "triad");

  /// At most 2^32 each, never all zero.
  [[nodiscard]] std::span<const std::uint64_t> values() const noexcept { return table_.values(); }

 private:
  detail::shared_table table_;
};

/// What a file of figures came to.
struct [[nodiscard]] weights_or_error {
  std::optional<weights> value{};
  std::string error{};  ///< empty, or in one line what is wrong with the file, and what to do
};

}  // namespace homing
