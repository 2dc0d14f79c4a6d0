// Pipelines whose stages and items have homes, several at once, nested, cancelled, isolated, with few and many tokens.
#include <tbb/global_control.h>

#include <homing/parallel_pipeline.hpp>

#include <memory>
#include <optional>

#include "common/scenario.hpp"

namespace stress {
namespace {

tbb::filter_mode random_mode(rng& random) {
  constexpr tbb::filter_mode modes[] = {tbb::filter_mode::parallel, tbb::filter_mode::serial_in_order,
                                        tbb::filter_mode::serial_out_of_order};
  return modes[random.below(3)];
}

constexpr int depth_max = 2;

/// The end of a run that somebody throws into.
struct thrown {};

/// A chain of three to six stages with random kinds and homes; some stages hold pipelines of their own.
class placed_run {
 public:
  placed_run(std::uint64_t seed, int depth)
      : random_(seed),
        seed_(seed),
        depth_(depth),
        items_(static_cast<std::size_t>(random_.between(1, depth > 0 ? 60 : 12))) {
    const int stages = random_.between(1, 4);
    for (int s = 0; s < stages; ++s) books_.push_back(std::make_unique<ledger>(items_));
    if (random_.one_in(6)) bad_item_ = static_cast<std::size_t>(random_.below(static_cast<int>(items_)));
    if (random_.one_in(6)) last_item_ = static_cast<std::size_t>(random_.below(static_cast<int>(items_)));
  }

  void run() {
    tbb::filter<void, item> chain = input();
    for (std::size_t s = 0; s < books_.size(); ++s) chain = chain & middle(s);
    tokens_ = static_cast<std::size_t>(random_.between(1, 20));
    const auto pass = [&] { tbb::parallel_pipeline(tokens_, chain & output(), context_); };
    bool caught = false;
    try {
      if (random_.one_in(3)) {
        tbb::this_task_arena::isolate(pass);
      } else {
        pass();
      }
    } catch (const thrown&) {
      caught = true;
    }
    require(!caught || bad_item_.has_value(), "placed pipeline: an exception that nobody threw");
    for (const auto& b : books_) require(b->quiet(), "placed pipeline: returned while a stage was still running");
    const bool is_whole = !caught && !context_.is_group_execution_cancelled();
    // One inside another is cancelled with it.
    require(is_whole || bad_item_ || last_item_ || depth_ < depth_max, "placed pipeline: cancelled by nobody");
    if (is_whole) {
      for (const auto& b : books_) require(b->complete(), "placed pipeline: items were lost");
      require(consumed_ == items_, "placed pipeline: the last stage did not see every item");
    }
  }

 private:
  using item = std::shared_ptr<const std::size_t>;  // no pointer to oneTBB, so that it must be destroyed

  std::uint32_t some_domain(std::uint64_t salt) const {
    return static_cast<std::uint32_t>(derive(seed_, salt) % homing::domain_count());
  }

  template <class Out, class In, class Body>
  tbb::filter<In, Out> place(tbb::filter_mode mode, std::uint64_t salt, const Body& body) {
    switch (random_.below(4)) {
      case 0:
        return tbb::make_filter<In, Out>(mode, body);
      case 1:
        if constexpr (!std::is_void_v<In>) {
          return tbb::make_filter<In, Out>(mode, homing::on(
                                                     [this, salt](const In& i) {
                                                       const std::uint32_t d = some_domain(salt * 1000 + *i);
                                                       return *i % 5 == 0 ? std::nullopt
                                                                          : std::optional(homing::domain_index{d});
                                                     },
                                                     body));
        }
        [[fallthrough]];
      default:
        return tbb::make_filter<In, Out>(mode, homing::on(some_domain(salt), body));
    }
  }

  tbb::filter<void, item> input() {
    return place<item, void>(tbb::filter_mode::serial_in_order, 1, [this](tbb::flow_control& control) -> item {
      if (produced_ == items_) {
        control.stop();
        return nullptr;
      }
      require(live_.fetch_add(1, std::memory_order_relaxed) < tokens_, "placed pipeline: more items than tokens");
      note_progress();
      return std::make_shared<const std::size_t>(produced_++);
    });
  }
  tbb::filter<item, item> middle(std::size_t s) {
    const tbb::filter_mode mode = random_mode(random_);
    auto inside = std::make_shared<std::atomic<int>>(0);
    return place<item, item>(mode, 2 + s, [this, s, mode, inside](const item& i) {
      const ledger::entry entry(*books_[s], *i);
      const int before = inside->fetch_add(1, std::memory_order_relaxed);
      require(mode == tbb::filter_mode::parallel || before == 0, "placed pipeline: a serial stage ran twice at once");
      burn(static_cast<int>(derive(seed_, *i * 8 + s) % 2000));
      if (depth_ > 0 && derive(seed_, *i * 16 + s) % 23 == 0) placed_run(derive(seed_, *i * 32 + s), depth_ - 1).run();
      inside->fetch_sub(1, std::memory_order_relaxed);
      if (s == 0 && bad_item_ == *i) throw thrown();
      if (s == 0 && last_item_ == *i) context_.cancel_group_execution();
      return i;
    });
  }
  tbb::filter<item, void> output() {
    return place<void, item>(tbb::filter_mode::serial_in_order, 99, [this](const item& i) {
      require(*i == consumed_++, "placed pipeline: an in-order stage saw an item out of order");
      live_.fetch_sub(1, std::memory_order_relaxed);
    });
  }

  rng random_;
  const std::uint64_t seed_;
  const int depth_;
  const std::size_t items_;
  std::size_t tokens_ = 0;
  std::size_t produced_ = 0;
  std::size_t consumed_ = 0;
  std::atomic<std::size_t> live_{0};
  std::optional<std::size_t> bad_item_;
  std::optional<std::size_t> last_item_;
  std::vector<std::unique_ptr<ledger>> books_;
  tbb::task_group_context context_;
};

}  // namespace

/// Application threads that each run pipelines in arenas of all sizes.
void placed_pipelines(const round& r) {
  rng random(r.seed);
  const int threads = random.between(1, 4);
  run_threads(threads, [&](int t) {
    rng own(derive(r.seed, static_cast<std::uint64_t>(t)));
    tbb::task_arena arena(own.between(1, r.threads));
    for (int k = 0; k < 3; ++k) {
      arena.execute([&] { placed_run(own.next(), depth_max).run(); });
    }
  });
}

}  // namespace stress
