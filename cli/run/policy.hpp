/// Memory policy and CPUs for a program, as numactl(8) sets them: before it starts, inherited over exec.
#pragma once

#include <optional>
#include <string>

namespace homing::cli {

/// Node lists as they were written; empty: not asked for. At most one of the first three.
struct policy_request {
  std::string interleave{};
  std::string membind{};
  std::string preferred{};
  std::string cpunodebind{};
  bool cpus_first = false;  ///< the last one was written before the others: what `same` means there
  [[nodiscard]] bool empty() const noexcept {
    return interleave.empty() && membind.empty() && preferred.empty() && cpunodebind.empty();
  }
};

/// Sets them for the calling thread and what it starts. CPUs that the mask does not allow stay out.
/// Returns an error that names the option, and what was wrong or refused; nothing if all is set.
[[nodiscard]] std::optional<std::string> apply(const policy_request& request);

}  // namespace homing::cli
