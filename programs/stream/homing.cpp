// Homing: loops that go to their elements' homes; homing-placed has the arrays made there, or for *far* one domain
// further.
#include <homing/distributed_array.hpp>
#include <homing/parallel_for.hpp>

#include "../common/tbb_threads.hpp"
#include "problem.hpp"

namespace stream {
namespace {

class solver_at_home {
 public:
  explicit solver_at_home(const request& r) : p_(r), a_(made()), b_(made()), c_(made()) {
    p_.see(a_.data(), b_.data(), c_.data());
  }
  void reset() {}
  [[nodiscard]] std::string wrong() const { return p_.wrong(); }
  [[nodiscard]] double amount() const { return p_.amount(); }
  [[nodiscard]] std::vector<homing::memory_range> data() const { return p_.data(); }

 protected:
  void move_if_far() {}  // they are far from the start
  problem p_;

 private:
  using vector = homing::distributed_array<double>;
  [[nodiscard]] vector made() const {
    return vector(p_.is_far() ? p_.one_further() : p_.homes(), homing::uninitialized);
  }
  vector a_, b_, c_;
};

template <class Data>
class solver : public Data {
 public:
  explicit solver(const request& r) : Data(r) {
    over([this](std::size_t first, std::size_t last) { p_.fill(first, last); });
    this->move_if_far();
  }
  void run() {
    for (int l = 0; l < loops; ++l) {
      over([this](std::size_t first, std::size_t last) { p_.copy(first, last); });
      over([this](std::size_t first, std::size_t last) { p_.scale(first, last); });
      over([this](std::size_t first, std::size_t last) { p_.add(first, last); });
      over([this](std::size_t first, std::size_t last) { p_.triad(first, last); });
    }
    p_.expect();
  }

 private:
  using Data::p_;
  template <class F>
  void over(const F& f) {
    using range = tbb::blocked_range<std::size_t>;
    homing::parallel_for(
        range(0, p_.size()), [&f](const range& r) { f(r.begin(), r.end()); }, p_.homes());
  }
};

}  // namespace
}  // namespace stream

programs::variant_list programs::homing_variants() {
  using namespace stream;
  return {{"homing", "work sent to its home", measure<solver<solver_in_pages>, tbb_threads>},
          {"homing-placed", "work sent, and data enforced", measure<solver<solver_at_home>, tbb_threads>}};
}
