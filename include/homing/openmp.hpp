/// Locality queues for OpenMP tasks, of any compiler: each submitted task is a ticket for one entry.
///
///   #pragma omp parallel
///   #pragma omp single
///   for (int k = 0; k < blocks_k; ++k)                       // the order of submission is yours
///     for (int j = 0; j < blocks_j; ++j)
///       homing::openmp::submit(queues, home_of(j, k), block{j, k}, [&](const auto& taken) { sweep(taken.item); });
///
/// Compile with -fopenmp. Without it the pragma is ignored, as OpenMP has it, and submit() does the work at once.
#pragma once
// A program without OpenMP is not to be warned of pragmas that it may ignore.
#pragma GCC system_header

#include <homing/ids.hpp>
#include <homing/locality_queues.hpp>

#include <type_traits>
#include <utility>

namespace homing::openmp {

/// Enqueues an entry and submits an OpenMP task that takes one, near the thread that runs it, and calls `body(entry)`.
///
/// Ownership: the task has a copy of `body`; the queues outlive the tasks (a taskwait, or the end of the region).
/// Threads: any of a team. The tasks run on the team's threads, pinned or not; some at once, on the submitting thread,
///          when the OpenMP runtime has enough tasks waiting.
/// Errors: std::bad_alloc before anything is submitted. OpenMP ends the program if `body` lets an exception out.
///         Cancelled tasks leave their entries in the queues.
/// Source: Wittmann and Hager, section 2.2.
template <class T, class Where, class Body>
void submit(locality_queues<T, Where>& queues, domain_index home, std::type_identity_t<T> item, Body body) {
  locality_queues<T, Where>* const all = &queues;
  all->enqueue(home, std::move(item));
#pragma omp task firstprivate(all, body)
  body(all->dequeue());
}

}  // namespace homing::openmp
