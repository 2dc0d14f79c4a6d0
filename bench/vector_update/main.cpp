// A vector update, repeated, in the scenarios of the TBB-NUMA paper's section 5.2: a schedule, and a place for the
// pages. The lab counts who served the repeated update (its figure 15, in small); the filling before and the check
// after do not count.
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <homing/lab.hpp>
#include <homing/parallel_for.hpp>
#include <homing/placement.hpp>
#include <homing/schedule.hpp>
#include <homing/topology.hpp>

#include <sys/mman.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "options.hpp"

namespace {

using namespace vector_update;
using part = tbb::blocked_range<std::size_t>;

constexpr double factor = 0.5;

/// Memory that nobody has touched.
class untouched {
 public:
  explicit untouched(std::size_t size) : size_(size) {
    void* const at = mmap(nullptr, size * sizeof(double), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) {
      std::fprintf(stderr, "vector_update: no memory for %zu elements; try fewer\n", size);
      std::exit(4);
    }
    data_ = static_cast<double*>(at);
  }
  untouched(const untouched&) = delete;
  untouched& operator=(const untouched&) = delete;
  ~untouched() { munmap(data_, size_ * sizeof(double)); }
  [[nodiscard]] double* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  double& operator[](std::size_t i) const noexcept { return data_[i]; }

 private:
  std::size_t size_;
  double* data_ = nullptr;
};

homing::placed_range place(const untouched& vector, const homing::regular_distribution<>& blocks, placing how) {
  const homing::memory_range range(vector.data(), vector.size() * sizeof(double));
  homing::placed_range placed;
  if (how == placing::interleaved) placed = homing::interleave(range);
  if (how == placing::enforced) placed = homing::enforce(blocks, std::span(vector.data(), vector.size()));
  if (!placed.report().complete()) {
    std::fprintf(stderr, "vector_update: pages that can't be placed: %s\n", placed.report().describe().c_str());
    std::exit(4);
  }
  return placed;
}

/// All loops of a run go through one of these, so that the affinity_partitioner learns from the first.
class updater {
 public:
  updater(schedule how, const homing::regular_distribution<>& blocks) : how_(how), blocks_(blocks) {}

  template <class Body>
  void loop(const Body& body) {
    const part all(0, blocks_.size());
    switch (how_) {
      case schedule::none:
        tbb::parallel_for(all, body);
        break;
      case schedule::affinity:
        tbb::parallel_for(all, body, partitioner_);
        break;
      case schedule::distribution:
        homing::parallel_for(all, body, blocks_);
        break;
    }
  }

 private:
  schedule how_;
  const homing::regular_distribution<>& blocks_;
  tbb::affinity_partitioner partitioner_;
};

/// Elements of a part that belong to the domain of the thread that has it.
std::size_t at_home(const part& r, const homing::regular_distribution<>& blocks) {
  const homing::domain_index here = homing::topology::current_domain();
  std::size_t result = 0;
  for (std::size_t at = r.begin(); at < r.end();) {
    const homing::piece p = blocks.run_at(at, r.end());
    if (p.home == here) result += p.last - at;
    at = p.last;
  }
  return result;
}

/// After L loops: y = i + L * factor * (i + 1), in halves of small whole numbers, so exact.
double expected(std::size_t i, int loops) {
  const double x = static_cast<double>(i % 1024);
  return x + static_cast<double>(loops) * factor * (x + 1);
}

void report(const options& o, std::size_t home, const homing::verification& seen) {
  const double all = static_cast<double>(o.elements) * o.loops;
  const double share = static_cast<double>(home) / all;
  if (o.json) {
    std::printf(R"({"schedule":"%s","pages":"%s","homing":%s,"threads":%d,"domains":%u,"elements":%zu,"loops":%d,)"
                R"("updates_at_home":%.4f,"pages_at_home":%.4f})"
                "\n",
                std::string(name_of(o.work)).c_str(), std::string(name_of(o.pages)).c_str(),
                homing::runtime().is_homing ? "true" : "false", o.threads, homing::domain_count(), o.elements, o.loops,
                share, seen.share_at_home());
  } else {
    std::printf("%s, %s on %s: %d threads, %.1f%% of the updates and %.1f%% of the pages at home; result as expected\n",
                std::string(name_of(o.work)).c_str(), std::string(name_of(o.pages)).c_str(),
                homing::runtime().is_homing ? "ours" : "stock oneTBB", o.threads, 100 * share,
                100 * seen.share_at_home());
  }
}

}  // namespace

int main(int argc, char** argv) {
  const options o = parse(argc, argv);
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(o.threads));
  tbb::task_arena arena(o.threads);
  return arena.execute([&] {
    // By libhoming's domains, not the library's, so that the share at home is known on stock, too.
    const auto machine = homing::topology::current();
    const auto blocks =
        homing::block(o.elements, homing::domain_set::first(static_cast<std::uint32_t>(machine.domains().size())),
                      homing::elements_per_page<double>());
    const untouched x(o.elements), y(o.elements);
    const homing::placed_range placed_x = place(x, blocks, o.pages), placed_y = place(y, blocks, o.pages);
    updater all(o.work, blocks);
    all.loop([&](const part& r) {
      for (std::size_t i = r.begin(); i != r.end(); ++i) {
        y[i] = static_cast<double>(i % 1024);
        x[i] = y[i] + 1;
      }
    });
    std::atomic<std::size_t> home{0};
    {
      const homing::lab::region counted(std::string(name_of(o.work)) + ", " + std::string(name_of(o.pages)));
      for (int i = 0; i != o.loops; ++i) {
        all.loop([&](const part& r) {
          for (std::size_t at = r.begin(); at != r.end(); ++at) y[at] += factor * x[at];
          home.fetch_add(at_home(r, blocks), std::memory_order_relaxed);  // a count; the loop's end publishes it
        });
      }
    }
    for (std::size_t i = 0; i != o.elements; ++i) {
      if (y[i] != expected(i, o.loops)) {
        std::fprintf(stderr, "vector_update: element %zu is %g, expected %g\n", i, y[i], expected(i, o.loops));
        return 3;
      }
    }
    report(o, home.load(), homing::verify(blocks, std::span(y.data(), y.size())));
    return 0;
  });
}
