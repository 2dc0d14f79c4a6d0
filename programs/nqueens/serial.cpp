// Plain calls.
#include "problem.hpp"

namespace nqueens {
namespace {

class solver : public problem {
 public:
  using problem::problem;
  void run() { result_ = alone(empty()); }
};

}  // namespace
}  // namespace nqueens

programs::variant_list programs::serial_variants() {
  return {{"serial", "one thread", measure<nqueens::solver, one_thread>}};
}
