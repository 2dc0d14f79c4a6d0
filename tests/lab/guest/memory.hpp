/// Memory of a guest program, and who touches it.
#pragma once

#include <homing/topology.hpp>

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>

#include "check.hpp"

namespace guest {

inline constexpr std::size_t huge_bytes = std::size_t{2} << 20;

/// Fresh anonymous memory at a multiple of 2 MiB, with nothing mapped before and after it.
class fresh {
 public:
  explicit fresh(std::size_t bytes) : bytes_(bytes), mapped_(bytes + 2 * huge_bytes) {
    base_ = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base_ == MAP_FAILED) give_up("no address space");
    const auto at = (reinterpret_cast<std::uintptr_t>(base_) + huge_bytes) / huge_bytes * huge_bytes;
    data_ = reinterpret_cast<double*>(at);
    if (mprotect(data_, bytes, PROT_READ | PROT_WRITE) != 0) give_up("mprotect");
  }
  fresh(const fresh&) = delete;
  fresh& operator=(const fresh&) = delete;
  ~fresh() { munmap(base_, mapped_); }
  [[nodiscard]] std::span<double> values() const { return {data_, bytes_ / sizeof(double)}; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_;
  std::size_t mapped_;
  void* base_;
  double* data_ = nullptr;
};

/// Runs `f` in a thread bound to a domain.
template <class F>
void in_domain(homing::domain_index domain, const F& f) {
  std::thread thread([&] {
    const homing::topology::bound_thread bound(homing::topology::current(), domain);
    check(bound.error_number() == 0, "a thread can be bound");
    f();
  });
  thread.join();
}

/// The thread of `domain` writes i into each element i.
inline void number(std::span<double> values, homing::domain_index domain) {
  in_domain(domain, [&] {
    for (std::size_t i = 0; i != values.size(); ++i) values[i] = static_cast<double>(i);
  });
}

[[nodiscard]] inline bool is_numbered(std::span<const double> values) {
  for (std::size_t i = 0; i != values.size(); ++i) {
    if (values[i] != static_cast<double>(i)) return false;
  }
  return true;
}

}  // namespace guest
