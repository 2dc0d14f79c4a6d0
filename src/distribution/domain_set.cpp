/// Named sets of domains, and weights brought to whole numbers.
#include <homing/domain_set.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace homing {
namespace {

constexpr double weight_max = 4294967296.0;  // 2^32: a weight times a 64-bit count fits 128 bits with room to add

detail::shared_table table_of(std::span<const domain_index> members) {
  std::vector<std::uint64_t> values;
  for (const domain_index d : members) values.push_back(to_index(d));
  std::vector<std::uint64_t> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  detail::expects(!sorted.empty(), "domain_set", "no domain given; a set names at least one");
  detail::expects(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(), "domain_set",
                  "a domain is named twice");
  return detail::shared_table(values);
}

// Whole numbers stay as they are; others are scaled by a power of two, so that the same figures give the same
// weights everywhere. Nothing above zero becomes zero.
detail::shared_table whole_numbers(std::span<const double> figures) {
  double largest = 0;
  bool are_whole = true;
  for (const double f : figures) {
    detail::expects(std::isfinite(f) && f >= 0, "weights", "a weight is negative, infinite or not a number");
    largest = std::max(largest, f);
    are_whole = are_whole && f == std::floor(f);
  }
  detail::expects(largest > 0, "weights", "no weight is above zero; at least one must be");
  int exponent = 0;
  std::frexp(largest, &exponent);  // largest < 2^exponent
  const int scale = are_whole && largest <= weight_max ? 0 : 32 - exponent;
  std::vector<std::uint64_t> values;
  for (const double f : figures) {
    const double scaled = std::nearbyint(std::ldexp(f, scale));
    values.push_back(f > 0 ? std::max<std::uint64_t>(1, static_cast<std::uint64_t>(scaled)) : 0);
  }
  return detail::shared_table(values);
}

}  // namespace

domain_set domain_set::all() { return first(static_cast<std::uint32_t>(topology::current().domains().size())); }

domain_set::domain_set(std::initializer_list<domain_index> members)
    : domain_set(std::span(members.begin(), members.size())) {}

domain_set::domain_set(std::span<const domain_index> members)
    : count_(static_cast<std::uint32_t>(members.size())), members_(table_of(members)) {}

weights::weights(std::initializer_list<double> figures) : weights(std::span(figures.begin(), figures.size())) {}

weights::weights(std::span<const double> figures) : table_(whole_numbers(figures)) {}

weights weights::by_cpus(const topology::snapshot& machine, const domain_set& over) {
  std::vector<double> figures;
  for (std::uint32_t i = 0; i < over.size(); ++i) {
    figures.push_back(static_cast<double>(machine.at(over[i]).cpus.size()));
  }
  return weights(figures);
}

}  // namespace homing
