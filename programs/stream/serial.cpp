// One thread.
#include "problem.hpp"

namespace stream {
namespace {

class solver : public solver_in_pages {
 public:
  explicit solver(const request& r) : solver_in_pages(r) {
    p_.fill(0, p_.size());
    move_if_far();
  }
  void run() {
    for (int l = 0; l < loops; ++l) {
      p_.copy(0, p_.size());
      p_.scale(0, p_.size());
      p_.add(0, p_.size());
      p_.triad(0, p_.size());
    }
    p_.expect();
  }
};

}  // namespace
}  // namespace stream

programs::variant_list programs::serial_variants() {
  return {{"serial", "one thread", measure<stream::solver, one_thread>}};
}
