// Wrong uses of the headers, each with what the compiler must say of it: of the lines from the use before up to this
// one. Read by messages.py; never built.
#include <homing/allocator.hpp>
#include <homing/array_loops.hpp>
#include <homing/distributed_array.hpp>
#include <homing/lease.hpp>
#include <homing/parallel_for.hpp>
#include <homing/parallel_reduce.hpp>
#include <homing/parallel_scan.hpp>
#include <homing/placement.hpp>

#include <functional>
#include <optional>
#include <string>
#include <vector>

using homing::block;
using indices = tbb::blocked_range<std::size_t>;
using tiles = tbb::blocked_range2d<int>;

struct without_default {
  explicit without_default(int) {}
};
struct throws_at_its_end {
  ~throws_at_its_end() noexcept(false) {}
};
struct home_is_a_number {
  int home(const homing::box<1>&) const { return 0; }
};

void loops(std::vector<double>& v, homing::distributed_array<double>& x) {
  const auto over = homing::domain_set::all();
  int count = 0;
  homing::parallel_for(x, [count](double& e) mutable { e = ++count; });  // says: a lambda must not be `mutable`
  homing::parallel_for(x, [](std::string& s) { s.clear(); });            // says: the body takes neither an element
  static_cast<void>(homing::parallel_reduce(
      x, 0.0, [](double e, double& s) { s += e; }, std::plus<>()));  // says: the body takes neither an element
  static_cast<void>(homing::parallel_reduce(
      x, 0.0, [](double, double) {}, std::plus<>()));  // says: a reduction's body returns the value
  homing::parallel_for(
      indices(0, 100), [](const indices&) {},
      block<2>({10, 10}, over));  // says: the distribution has another number of dimensions than the range
  homing::parallel_for(
      tiles(0, 10, 0, 10), [](const tiles&) {},
      block(100));  // says: the distribution has another number of dimensions than the range
  homing::parallel_for(
      tbb::blocked_range<double*>(v.data(), v.data() + v.size()), [](const auto&) {},
      block(100));  // says: a distribution needs a tbb::blocked_range
  homing::parallel_for(
      indices(0, 100), [](const indices&) {}, 4);  // says: `how` is no partitioner of oneTBB's
  const tbb::affinity_partitioner constant;
  homing::parallel_for(
      indices(0, 9), [](const indices&) {}, constant);  // says: an affinity_partitioner learns: it must not be const
  homing::parallel_for(
      indices(0, 9), [](const indices&) {}, std::cref(constant));  // says: it must not be const
  homing::parallel_for(
      indices(0, 9), [](const indices&) {}, home_is_a_number());  // says: std::optional<domain_index> home(
  static_cast<void>(homing::parallel_reduce(
      indices(0, 9), 0, [](const indices&, int i) { return i; }, std::plus<>(), "rows"));  // says: `how` is no
  static_cast<void>(homing::parallel_scan(
      indices(0, 9), 0, [](const indices&, int i, bool) { return i; }, std::plus<>(),
      tbb::static_partitioner()));  // says: oneTBB's scans have auto_partitioner and simple_partitioner only
  static_cast<void>(homing::parallel_deterministic_reduce(
      indices(0, 9), 0, [](const indices&, int i) { return i; }, std::plus<>(),
      tbb::auto_partitioner()));  // says: oneTBB's deterministic reductions have
  tbb::affinity_partitioner learning;
  static_cast<void>(homing::parallel_deterministic_reduce(
      indices(0, 9), 0, [](const indices&, int i) { return i; }, std::plus<>(),
      learning));  // says: oneTBB's deterministic reductions have
}

void data() {
  homing::distributed_array<without_default> no_default(3);  // says: elements without a default constructor
  homing::distributed_array<throws_at_its_end> throwing(3);  // says: an element's destructor must not throw
  homing::distributed_array<const int> constant(3);          // says: a const array gives const elements
  int table[4][5] = {};
  homing::distributed_span<int[5], 2> rows(
      &table[0], block<2>({4, 5}, homing::domain_set::all()));                 // says: a pointer to rows is none
  auto placed = homing::enforce(block(9), std::vector<int>(9));                // says: borrowed_range
  auto near = homing::localize(std::vector<int>(9), homing::domain_index{0});  // says: memory_range
  homing::distributed_span<int> gone(std::vector<int>(9),
                                     block(9));                                          // says: outlives_call
  static_cast<void>(homing::domain_allocator<int>(1));                                   // says: same_as
  homing::lease(4);                                                                      // says: nodiscard
  homing::topology::bound_thread(homing::topology::current(), homing::domain_index{0});  // says: nodiscard
}
