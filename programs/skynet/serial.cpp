// Plain calls.
#include "problem.hpp"

namespace skynet {
namespace {

class solver : public problem {
 public:
  using problem::problem;
  void run() { result_ = sum(0, leaves_); }

 private:
  static std::uint64_t sum(std::uint64_t first, std::uint64_t count) {
    if (count == 1) return first;
    sums_of_children sums{};
    const std::uint64_t each = count / fan_out;
    for (std::uint64_t i = 0; i < fan_out; ++i) sums[i] = sum(first + i * each, each);
    return total(sums);
  }
};

}  // namespace
}  // namespace skynet

programs::variant_list programs::serial_variants() {
  return {{"serial", "one thread", measure<skynet::solver, one_thread>}};
}
