// Fibonacci numbers by the definition, a task for each call: what a fork and a join cost when there is no work.
#include <cstdint>

#include "../common/models.hpp"
#include "../common/solver_parts.hpp"

namespace {

using namespace programs;

constexpr size_name sizes[] = {{"20", "fib(20): 21,891 calls"},
                               {"27", "fib(27)"},
                               {"32", "fib(32)"},
                               {"37", "fib(37): 126 million calls"},
                               {"42", "fib(42)"}};
constexpr int arguments[] = {20, 27, 32, 37, 42};
constexpr std::uint64_t known[] = {6765, 196'418, 2'178'309, 24'157'817, 267'914'296};

template <class Model>
class solver : public solver_without_data {
 public:
  solver(const request& r, Model& model) : model_(model), size_(r.size) {}
  void run() {
    model_.root([this] { result_ = fib(arguments[size_]); });
  }
  [[nodiscard]] std::string wrong() const { return result_ == known[size_] ? "" : "fib is " + std::to_string(result_); }
  /// Millions of calls: 2 fib(n + 1) - 1, and fib grows by the golden ratio.
  [[nodiscard]] double amount() const { return 2 * 1.618034 * static_cast<double>(known[size_]) / 1e6; }

 private:
  std::uint64_t fib(int n) {
    if (n < 2) return static_cast<std::uint64_t>(n);
    std::uint64_t a = 0;
    std::uint64_t b = 0;
    model_.invoke([&] { a = fib(n - 1); }, [&] { b = fib(n - 2); });
    return a + b;
  }

  Model& model_;
  std::size_t size_;
  std::uint64_t result_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return run_tasks<solver>(argc, argv, {"fib", "Fibonacci numbers, a task for each call.", "Mcall", sizes});
}
