// OpenMP: worksharing with schedule(static), tasks; and the same with bound threads and affinity clauses.
#pragma once

#include <omp.h>

#include <cstddef>
#include <string_view>

#include "space.hpp"

namespace programs {

enum class binding { none, places };

/// `places` wants OMP_PLACES and OMP_PROC_BIND in the environment before the program begins; the driver sees to it.
template <binding Threads>
class openmp_model : public model_base {
 public:
  static constexpr std::string_view name = Threads == binding::none ? "openmp" : "openmp-affinity";
  static constexpr std::string_view what =
      Threads == binding::none ? "worksharing; tasks" : "the same with OMP_PLACES, proc_bind and affinity clauses";

  explicit openmp_model(int threads) {
    omp_set_dynamic(0);
    omp_set_num_threads(threads);
  }

  template <class Space, class Body>
  void loop(Space& s, const Body& body) {
    if constexpr (Threads == binding::none) {
#pragma omp parallel
      own_share(s, body);
    } else {
#pragma omp parallel proc_bind(spread)
      own_share(s, body);
    }
  }
  template <class Space, class T, class Body>
  T sum(Space& s, T zero, const Body& body) {
    T total = zero;
    const auto add = [&] {
      const T mine = own_share(s, body);
#pragma omp critical
      total = total + mine;
    };
    if constexpr (Threads == binding::none) {
#pragma omp parallel
      add();
    } else {
#pragma omp parallel proc_bind(spread)
      add();
    }
    return total;
  }
  template <class F>
  void root(F&& f) {
    if constexpr (Threads == binding::none) {
#pragma omp parallel
#pragma omp single
      f();
    } else {
#pragma omp parallel proc_bind(spread)
#pragma omp single
      f();
    }
  }
  template <class F, class G>
  void invoke(const F& f, const G& g) {
#pragma omp task shared(f)
    f();
    g();
#pragma omp taskwait
  }
  template <class F>
  void all(std::size_t count, const F& f) {
    for (std::size_t i = 1; i < count; ++i) {
#pragma omp task shared(f) firstprivate(i)
      f(i);
    }
    if (count > 0) f(0);
#pragma omp taskwait
  }
  /// `data(p)` is where the data of part p begins: what an affinity clause names.
  template <class F, class Data>
  void parts(const F& f, const Data& data) {
    for (std::uint32_t p = 0; p < part_count(); ++p) {
      if constexpr (Threads == binding::none) {
#pragma omp task shared(f) firstprivate(p)
        f(p);
      } else {
        [[maybe_unused]] auto* const where = data(p);
#pragma omp task shared(f) firstprivate(p) affinity(where[0])
        f(p);
      }
    }
#pragma omp taskwait
  }

 private:
  // What schedule(static) gives a thread, as a range: bodies have inner loops that vectorise.
  template <class Space, class Body>
  static auto own_share(Space& s, const Body& body) {
    return s.run(
        body, s.share(static_cast<std::size_t>(omp_get_num_threads()), static_cast<std::size_t>(omp_get_thread_num())));
  }
};

}  // namespace programs
