// Memory by home: pages enforced, verified and dealt; arrays, copies, and resources of all kinds. Contents never
// change.
#include <homing/distributed_array.hpp>
#include <homing/memory_resource.hpp>
#include <homing/placement.hpp>
#include <homing/replicated.hpp>

#include <sys/mman.h>

#include <tbb/parallel_for.h>

#include <array>
#include <memory_resource>
#include <span>

#include "faults.hpp"

namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t pages = 24;

/// Pages of the program's own, which exist whatever fails.
class own_pages {
 public:
  own_pages() {
    const faults::exempt from_faults;
    at_ = static_cast<unsigned char*>(
        ::mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (at_ == MAP_FAILED) _exit(2);
    for (std::size_t i = 0; i < pages / 2; ++i) at_[i * page] = static_cast<unsigned char>(i + 1);
  }
  ~own_pages() { ::munmap(at_, pages * page); }
  own_pages(const own_pages&) = delete;
  own_pages& operator=(const own_pages&) = delete;
  [[nodiscard]] std::span<unsigned char> bytes() const { return {at_, pages * page}; }
  void check() const {
    for (std::size_t i = 0; i < pages; ++i) {
      faults::require(at_[i * page] == (i < pages / 2 ? i + 1 : 0), "placing a page changed what is in it");
    }
  }

 private:
  unsigned char* at_;
};

template <class Report>
void must_add_up(const Report& r) {
  std::size_t refused = 0;
  for (const auto& one : r.refused) refused += one.pages;
  faults::require(r.asked == r.placed + r.later + r.unknown + refused, "a report of placement does not add up");
}

void place_pages(homing::means how) {
  const own_pages memory;
  homing::placement_options options;
  options.who = homing::access::exclusive;
  options.how = how;
  {
    const auto along = homing::block(pages * page, homing::domain_set::all(), page);
    const homing::placed_range placed = homing::enforce(along, memory.bytes(), options);
    must_add_up(placed.report());
    static_cast<void>(placed.report().describe());
    memory.check();
    const homing::verification v = homing::verify(along, memory.bytes());
    faults::require(v.asked == v.at_home + v.away + v.untouched + v.unknown, "a verification does not add up");
  }
  {
    const homing::placed_range dealt = homing::interleave(memory.bytes(), {}, options);
    must_add_up(dealt.report());
    const homing::page_census census = homing::where(memory.bytes());
    faults::require(census.pages == pages, "a census has lost a page");
  }
  memory.check();
}

void arrays() {
  const homing::distributed_array<int> numbers(5000,
                                               homing::from_index([](std::size_t i) { return static_cast<int>(i); }));
  must_add_up(numbers.placement());
  std::atomic<std::size_t> right{0};
  tbb::parallel_for(std::size_t{0}, numbers.size(), [&](std::size_t i) { right += numbers[i] == static_cast<int>(i); });
  faults::require(right == numbers.size(), "a distributed array: a wrong element");
  std::array<int, 1000> original{};
  original.fill(7);
  homing::replicated<int> copies{std::span<const int>(original)};
  copies.edit([](std::span<int> values) { values[0] = 8; });
  copies.refresh();
  faults::require(copies.local()[0] == 8 && copies.local()[999] == 7, "copies: a wrong value");
}

template <class Resource>
void use(Resource& memory) {
  {
    std::pmr::vector<int> small(100, 3, &memory);
    std::pmr::vector<int> run(50'000, 4, &memory);
    std::pmr::vector<int> large(1'000'000, 5, &memory);
    faults::require(small[99] == 3 && run[49'999] == 4 && large[999'999] == 5, "a resource's memory: a wrong value");
  }
  faults::require(memory.usage().live_blocks == 0, "a resource has blocks that nobody has");
}

void resources() {
  homing::domain_resource of_domain(homing::domain_index{0});
  use(of_domain);
  homing::local_resource local;
  use(local);
  homing::interleaved_resource dealt;
  use(dealt);
  homing::memory_options strict;
  strict.when_full = homing::on_full::fail;
  strict.pages = homing::page_kind::huge;
  homing::domain_resource hard(homing::domain_index{0}, strict);
  use(hard);
  homing::distributed_resource rows(homing::block(1'000'000), sizeof(int));
  use(rows);
}

}  // namespace

int main() {
  return faults::check([] {
    place_pages(homing::means::automatic);
    place_pages(homing::means::copying);
    place_pages(homing::means::moving);
    arrays();
    resources();
  });
}
