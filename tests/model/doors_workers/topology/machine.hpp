/// A machine of one or two domains in place of "topology/machine.hpp": models need no more of it than this.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "platform/cpu_set.hpp"
#include "topology/ids.hpp"

namespace homing::topology {

struct constraints_query {
  friend bool operator==(const constraints_query&, const constraints_query&) = default;
};

struct domain {
  std::vector<int> cpus;
  platform::cpu_set binding;
};

class machine {
 public:
  machine(unsigned domains, unsigned cpus_in_each) : domains_(domains) {
    for (domain& d : domains_) {
      d.cpus.resize(cpus_in_each);
    }
  }

  [[nodiscard]] std::span<const domain> domains() const noexcept { return domains_; }
  [[nodiscard]] const domain& at(domain_index d) const noexcept { return domains_[to_index(d)]; }
  [[nodiscard]] std::span<const domain_index> nearest_first(domain_index from) const noexcept {
    return std::span(orders_[to_index(from)]).first(domains_.size());
  }
  [[nodiscard]] unsigned default_concurrency() const noexcept { return concurrency({}); }
  [[nodiscard]] unsigned concurrency(const constraints_query& /*query*/) const noexcept {
    return static_cast<unsigned>(domains_.size() * domains_[0].cpus.size());
  }
  void count_allowed_cpus(const constraints_query& /*query*/, std::span<unsigned> by_domain) const noexcept {
    std::fill(by_domain.begin(), by_domain.end(), static_cast<unsigned>(domains_[0].cpus.size()));
  }

 private:
  std::vector<domain> domains_;
  static constexpr std::array<std::array<domain_index, 2>, 2> orders_{
      {{domain_index{0}, domain_index{1}}, {domain_index{1}, domain_index{0}}}};
};

}  // namespace homing::topology
