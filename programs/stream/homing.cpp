// Homing: loops that go to their elements' homes; homing-placed has the arrays made there, or for *far* one domain
// further.
#include <homing/distributed_array.hpp>
#include <homing/parallel_for.hpp>

#include "../common/tbb_threads.hpp"
#include "loops.hpp"

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
class dealt : public Data {
 public:
  using Data::Data;

 protected:
  using Data::p_;

  template <class F>
  void over(const F& f) {
    using range = tbb::blocked_range<std::size_t>;
    homing::parallel_for(
        range(0, p_.size()), [&f](const range& r) { f(r.begin(), r.end()); }, p_.homes());
  }
};

template <class Data>
using solver = solver_by_loops<dealt<Data>>;

}  // namespace
}  // namespace stream

programs::variant_list programs::homing_variants() {
  using namespace stream;
  return {{"homing", "work sent to its home", measure<solver<solver_in_pages>, tbb_threads>},
          {"homing-placed", "work sent, and data enforced", measure<solver<solver_at_home>, tbb_threads>}};
}
