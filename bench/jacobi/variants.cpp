#include "variants.hpp"

namespace jacobi {
namespace {

constexpr variant all[] = {
    {"static-serial", touch::serial, dealing::fixed, order::ijk, partitioner::automatic,
     "worksharing, pages touched by one thread (lowest line)"},
    {"static-interleaved", touch::interleaved, dealing::fixed, order::ijk, partitioner::automatic,
     "worksharing, pages dealt over the nodes (middle line)"},
    {"static-static", touch::blocked, dealing::fixed, order::ijk, partitioner::automatic,
     "worksharing, pages touched alike (top line)"},
    {"dynamic-static", touch::blocked, dealing::dynamic, order::ijk, partitioner::automatic,
     "dynamic worksharing, static first touch"},
    {"dynamic-static1", touch::round_robin, dealing::dynamic, order::ijk, partitioner::automatic,
     "dynamic worksharing, static,1 first touch"},
    {"tasks-ijk-static", touch::blocked, dealing::tasks, order::ijk, partitioner::automatic, "OpenMP tasks"},
    {"tasks-ijk-static1", touch::round_robin, dealing::tasks, order::ijk, partitioner::automatic, "OpenMP tasks"},
    {"tasks-kji-static", touch::blocked, dealing::tasks, order::kji, partitioner::automatic, "OpenMP tasks"},
    {"tasks-kji-static1", touch::round_robin, dealing::tasks, order::kji, partitioner::automatic, "OpenMP tasks"},
    {"queues-ijk-static", touch::blocked, dealing::task_queues, order::ijk, partitioner::automatic,
     "OpenMP tasks with locality queues"},
    {"queues-ijk-static1", touch::round_robin, dealing::task_queues, order::ijk, partitioner::automatic,
     "OpenMP tasks with locality queues"},
    {"queues-kji-static", touch::blocked, dealing::task_queues, order::kji, partitioner::automatic,
     "OpenMP tasks with locality queues"},
    {"queues-kji-static1", touch::round_robin, dealing::task_queues, order::kji, partitioner::automatic,
     "OpenMP tasks with locality queues"},
    {"tbb", touch::tbb, dealing::tbb, order::ijk, partitioner::automatic, "parallel_for, no affinity"},
    {"tbb-affinity", touch::tbb, dealing::tbb, order::ijk, partitioner::affinity, "parallel_for, affinity_partitioner"},
    {"tbb-queues", touch::tbb, dealing::tbb_queues, order::ijk, partitioner::automatic,
     "parallel_for with locality queues"},
    {"tbb-queues-affinity", touch::tbb, dealing::tbb_queues, order::ijk, partitioner::affinity,
     "the same with affinity_partitioner"},
};

}  // namespace

std::span<const variant> variants() noexcept { return all; }

const variant* find_variant(std::string_view name) noexcept {
  for (const variant& v : all) {
    if (v.name == name) return &v;
  }
  return nullptr;
}

}  // namespace jacobi
