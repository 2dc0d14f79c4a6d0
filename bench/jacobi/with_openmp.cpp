// The OpenMP variants: worksharing, tasks, and tasks with locality queues (sections 1.4 and 2).
#include <homing/openmp.hpp>

#include <omp.h>

#include "pinning.hpp"
#include "sweep.hpp"

namespace jacobi {
namespace {

// Calls submit(block) in the variant's order: "ijk" goes along a layer of blocks, "kji" through the layers.
template <class Submit>
void in_order(const lattice& l, order way, Submit submit) {
  const extents& n = l.blocks();
  if (way == order::ijk) {
    for (std::size_t i = 0; i < n.i; ++i) {
      for (std::size_t j = 0; j < n.j; ++j) {
        for (std::size_t k = 0; k < n.k; ++k) submit(l.number_of(i, j, k));
      }
    }
  } else {
    for (std::size_t k = 0; k < n.k; ++k) {
      for (std::size_t j = 0; j < n.j; ++j) {
        for (std::size_t i = 0; i < n.i; ++i) submit(l.number_of(i, j, k));
      }
    }
  }
}

class openmp_executor final : public executor {
 public:
  openmp_executor(const variant& v, int threads, bool pin) : variant_(v), threads_(threads) {
    omp_set_dynamic(0);
    if (!pin) return;
#pragma omp parallel num_threads(threads_)
    pin_thread(omp_get_thread_num(), omp_get_num_threads());
  }
  // The threads of a team of the same size are the same again.
  ~openmp_executor() override {
#pragma omp parallel num_threads(threads_)
    unpin_thread();
  }

  void touch(run_state& run) override {
    const std::size_t blocks = run.shape().block_count();
    if (variant_.by == jacobi::touch::blocked) {
#pragma omp parallel for schedule(static) num_threads(threads_)
      for (std::size_t b = 0; b < blocks; ++b) run.touch(b);
    } else if (variant_.by == jacobi::touch::round_robin) {
#pragma omp parallel for schedule(static, 1) num_threads(threads_)
      for (std::size_t b = 0; b < blocks; ++b) run.touch(b);
    } else {
      for (std::size_t b = 0; b < blocks; ++b) run.touch(b);
    }
  }

  void sweep(run_state& run) override {
    const std::size_t blocks = run.shape().block_count();
    switch (variant_.how) {
      case dealing::dynamic:
#pragma omp parallel for schedule(dynamic) num_threads(threads_)
        for (std::size_t b = 0; b < blocks; ++b) run.process(b);
        break;
      case dealing::tasks:
#pragma omp parallel num_threads(threads_)
#pragma omp single
        in_order(run.shape(), variant_.submit, [&run](std::size_t block) {
          run_state* const r = &run;
#pragma omp task firstprivate(r, block)
          r->process(block);
        });
        break;
      case dealing::task_queues:
#pragma omp parallel num_threads(threads_)
#pragma omp single
        in_order(run.shape(), variant_.submit, [&run](std::size_t block) {
          homing::openmp::submit(run.queues(), run.home(block), block,
                                 [&run](const block_queues::entry& taken) { run.process(taken.item); });
        });
        break;
      default:
#pragma omp parallel for schedule(static) num_threads(threads_)
        for (std::size_t b = 0; b < blocks; ++b) run.process(b);
        break;
    }
  }

 private:
  const variant& variant_;
  const int threads_;
};

}  // namespace

std::unique_ptr<executor> make_openmp_executor(const variant& v, int threads, bool pin) {
  return std::make_unique<openmp_executor>(v, threads, pin);
}

}  // namespace jacobi
