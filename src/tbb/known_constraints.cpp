/// Messages for constraints that no machine, or not this one, can have.
#include "tbb/known_constraints.hpp"

#include <oneapi/tbb/detail/_assert.h>
#include <oneapi/tbb/detail/_utils.h>

#include <algorithm>
#include <cstdio>
#include <span>

namespace tbb::detail::r1 {
namespace {

bool is_one_of(std::span<const int> ids, int id) { return std::find(ids.begin(), ids.end(), id) != ids.end(); }

/// `advice` says how to come by a value that is right.
void fail(int line, const char* expression, const char* field, int value, const char* advice) {
  char comment[200];
  std::snprintf(comment, sizeof comment, "The constraints::%s value %d is not known to the library. %s", field, value,
                advice);
  assertion_failure("assert_known", line, expression, comment);
}

}  // namespace

void assert_known_node(const homing::topology::machine& machine, int numa_id) {
  if (numa_id != -1 && !is_one_of(machine.numa_ids(), numa_id)) {
    fail(__LINE__, "numa_id is one of info::numa_nodes()", "numa_id", numa_id,
         "Use tbb::info::numa_nodes() to get the list of possible values.");
  }
}

void assert_known(const homing::topology::machine& machine, const homing::topology::constraints_query& query) {
  if (query.max_threads_per_core != -1 && query.max_threads_per_core < 1) {
    fail(__LINE__, "max_threads_per_core is task_arena::automatic or positive", "max_threads_per_core",
         query.max_threads_per_core, "Use 1 or more, or task_arena::automatic for all that a core has.");
  }
  assert_known_node(machine, query.numa_id);
  if (query.core_type != -1 && !multi_core_type_codec::is_encoded(query.core_type) &&
      !is_one_of(machine.core_type_ids(), query.core_type)) {
    fail(__LINE__, "core_type is one of info::core_types()", "core_type", query.core_type,
         "Use tbb::info::core_types() to get the list of possible values, or a core type selector for several.");
  }
}

}  // namespace tbb::detail::r1
