// The four kernels as loops over elements, one after the other: a variant says how one of them runs.
#pragma once

#include "problem.hpp"

namespace stream {

/// `How` has the problem `p_`, runs f(first, last) over all elements by over(f), and moves far pages by move_if_far().
template <class How>
class solver_by_loops : public How {
 public:
  explicit solver_by_loops(const request& r) : How(r) {
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
  using How::over;
  using How::p_;
};

}  // namespace stream
