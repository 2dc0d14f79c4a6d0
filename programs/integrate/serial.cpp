// Plain calls.
#include "problem.hpp"

namespace integrate {
namespace {

class solver : public problem {
 public:
  using problem::problem;
  void run() { result_ = serial(all()); }
};

}  // namespace
}  // namespace integrate

programs::variant_list programs::serial_variants() {
  return {{"serial", "one thread", measure<integrate::solver, one_thread>}};
}
