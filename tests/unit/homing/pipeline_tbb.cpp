// Pipelines whose stages and items have homes: each item passes every stage once, serial stages keep their order, no
// more items are under way than tokens, and nothing waits for ever, whatever the number of threads and wherever they
// are held. Made-up machines of 2, 4 and 8 domains, each test in a process of its own; on stock oneTBB, too.
#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>

#include <homing/pinned.hpp>

#include "unit/common/pipeline_fixture.hpp"

namespace {

using namespace homing::testing;
using homing::domain_index;

constexpr std::array modes{filter_mode::parallel, filter_mode::serial_in_order, filter_mode::serial_out_of_order};

/// Where the items of a run have their homes.
enum class homes_of { nobody, stages, items, some_items, input_too };
constexpr std::array all_homes{homes_of::nobody, homes_of::stages, homes_of::items, homes_of::some_items,
                               homes_of::input_too};

/// A run of four stages with books; two of any kind between the first and the last, both in order.
class run {
 public:
  run(unsigned domains, std::size_t items, std::size_t tokens, std::array<filter_mode, 2> kinds)
      : domains_(domains),
        tokens_(tokens),
        kinds_(kinds),
        in_(items, tokens),
        books_{{stage_books(kinds[0], items), stage_books(kinds[1], items),
                stage_books(filter_mode::serial_in_order, items)}} {}

  template <class Extra>
  void go(homes_of homes, Extra&& extra, tbb::task_group_context& context) {
    const auto first = [this, &extra](tbb::flow_control& control) {
      extra(0, 0);
      return in_.next(control);
    };
    const auto middle = [this, &extra](std::size_t stage) {
      return [this, &extra, stage](const item& i) {
        const stage_books::visit visit(books_[stage - 1], i.number());
        extra(stage, i.number());
        return i;
      };
    };
    const auto last = [this, &extra](const item& i) {
      const stage_books::visit visit(books_[2], i.number());
      extra(3, i.number());
      in_.retire();
    };
    const auto home_of = [this](const item& i) {
      return domain_index{static_cast<std::uint32_t>(i.number() % domains_)};
    };
    const auto home_of_some = [this](const item& i) {
      const auto d = static_cast<std::uint32_t>(i.number() % (domains_ + 1));
      return d == domains_ ? std::nullopt : std::optional(domain_index{d});
    };
    const std::uint32_t end = domains_ - 1;
    constexpr auto ordered = filter_mode::serial_in_order;
    const auto input = tbb::make_filter<void, item>(ordered, first);
    const auto pass = [&](const tbb::filter<void, void>& chain) { tbb::parallel_pipeline(tokens_, chain, context); };
    switch (homes) {
      case homes_of::nobody:
        return pass(input & tbb::make_filter<item, item>(kinds_[0], middle(1)) &
                    tbb::make_filter<item, item>(kinds_[1], middle(2)) & tbb::make_filter<item, void>(ordered, last));
      case homes_of::stages:
        return pass(input & tbb::make_filter<item, item>(kinds_[0], homing::on(0, middle(1))) &
                    tbb::make_filter<item, item>(kinds_[1], homing::on(end, middle(2))) &
                    tbb::make_filter<item, void>(ordered, homing::on(domain_index{0}, last)));
      case homes_of::items:
        return pass(input & tbb::make_filter<item, item>(kinds_[0], homing::on(home_of, middle(1))) &
                    tbb::make_filter<item, item>(kinds_[1], homing::on(home_of, middle(2))) &
                    tbb::make_filter<item, void>(ordered, homing::on(home_of, last)));
      case homes_of::some_items:
        return pass(input & tbb::make_filter<item, item>(kinds_[0], homing::on(home_of_some, middle(1))) &
                    tbb::make_filter<item, item>(kinds_[1], middle(2)) &
                    tbb::make_filter<item, void>(ordered, homing::on(home_of_some, last)));
      case homes_of::input_too:
        return pass(tbb::make_filter<void, item>(ordered, homing::on(end, first)) &
                    tbb::make_filter<item, item>(kinds_[0], homing::on(home_of, middle(1))) &
                    tbb::make_filter<item, item>(kinds_[1], homing::on(0, middle(2))) &
                    tbb::make_filter<item, void>(ordered, last));
    }
  }
  template <class Extra>
  void go(homes_of homes, Extra&& extra) {
    tbb::task_group_context context;
    go(homes, std::forward<Extra>(extra), context);
  }
  void go(homes_of homes) {
    go(homes, [](std::size_t, std::size_t) {});
  }

  void expect_complete() const {
    for (const stage_books& books : books_) books.expect_all_once();
    expect_sound();
    EXPECT_EQ(in_.alive(), 0) << "items that nobody destroyed";
  }
  void expect_sound() const {
    for (const stage_books& books : books_) books.expect_none_twice();
    EXPECT_FALSE(in_.exceeded()) << "more items under way than tokens";
    if (homes_count()) {  // stock oneTBB loses some when it is cancelled, with and without homes
      EXPECT_EQ(in_.alive(), 0) << "items that nobody destroyed";
    }
  }

 private:
  const unsigned domains_;
  const std::size_t tokens_;
  const std::array<filter_mode, 2> kinds_;
  source in_;
  std::array<stage_books, 3> books_;
};

/// A run for each place of homes and each pair of kinds.
template <class Each>
void each_kind(unsigned domains, std::size_t items, std::size_t tokens, Each&& each) {
  for (const homes_of homes : all_homes) {
    for (const filter_mode first : modes) {
      for (const filter_mode second : modes) {
        run r(domains, items, tokens, {first, second});
        each(r, homes);
      }
    }
  }
}

class pipelines : public ::testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(domains, pipelines, ::testing::Values(2U, 4U, 8U));

TEST_P(pipelines, each_item_passes_every_stage_once_and_in_order) {
  in_own_process(machine_of(GetParam()), [] {
    for (const std::size_t threads : {std::size_t{1}, std::size_t{2}, std::size_t{GetParam()} * threads_a_domain}) {
      const parallelism limit(parallelism::max_allowed_parallelism, threads);
      for (const std::size_t tokens : {1U, 2U, 7U, 64U}) {
        each_kind(GetParam(), 60, tokens, [](run& r, homes_of homes) {
          r.go(homes);
          r.expect_complete();
        });
      }
    }
  });
}

TEST_P(pipelines, inside_isolated_regions_and_inside_each_other) {
  in_own_process(machine_of(GetParam()), [] {
    const parallelism limit(parallelism::max_allowed_parallelism, GetParam() * threads_a_domain);
    each_kind(GetParam(), 30, 4, [](run& r, homes_of homes) {
      tbb::this_task_arena::isolate([&] { r.go(homes); });
      r.expect_complete();
    });
    each_kind(GetParam(), 10, 3, [](run& r, homes_of homes) {
      r.go(homes, [homes](std::size_t stage, std::size_t number) {
        if (stage == 0) return;  // its turn is the whole pipeline's
        run inner(GetParam(), 12, 1 + number % 3, {filter_mode::parallel, modes[stage % 3]});
        if (number % 2 == 0) {
          inner.go(homes);
        } else {
          tbb::this_task_arena::isolate([&] { inner.go(homes); });
        }
        inner.expect_complete();
      });
      r.expect_complete();
    });
  });
}

TEST_P(pipelines, an_exception_in_any_stage_comes_out_and_nothing_is_left) {
  in_own_process(machine_of(GetParam()), [] {
    const parallelism limit(parallelism::max_allowed_parallelism, GetParam() * threads_a_domain);
    for (std::size_t bad = 0; bad < 4; ++bad) {
      each_kind(GetParam(), 40, 6, [bad](run& r, homes_of homes) {
        std::atomic<int> calls{0};
        EXPECT_THROW(r.go(homes,
                          [&](std::size_t stage, std::size_t) {
                            if (stage == bad && calls.fetch_add(1) == 17) throw std::runtime_error("enough");
                          }),
                     std::runtime_error);
        r.expect_sound();
      });
    }
  });
}

TEST_P(pipelines, an_exception_of_the_function_of_homes_is_one_of_the_pipeline) {
  in_own_process(machine_of(GetParam()), [] {
    const parallelism limit(parallelism::max_allowed_parallelism, GetParam() * threads_a_domain);
    for (const filter_mode mode : modes) {
      for (int round = 0; round < 20; ++round) {
        source in(50, 8);
        std::size_t passed = 0;
        const auto home_of = [](const item& i) {
          if (i.number() == 30) throw std::runtime_error("no home");
          return domain_index{static_cast<std::uint32_t>(i.number() % GetParam())};
        };
        const auto go = [&] {
          tbb::parallel_pipeline(
              8, tbb::make_filter<void, item>(filter_mode::serial_in_order,
                                              [&](tbb::flow_control& c) { return in.next(c); }) &
                     tbb::make_filter<item, item>(mode, homing::on(home_of, [](const item& i) { return i; })) &
                     tbb::make_filter<item, void>(filter_mode::serial_in_order, [&](const item&) {
                       ++passed;
                       in.retire();
                     }));
        };
        if (homes_count()) {
          EXPECT_THROW(go(), std::runtime_error);
          EXPECT_LE(passed, 30U);
        } else {
          go();
          EXPECT_EQ(passed, 50U);
        }
        EXPECT_EQ(in.alive(), 0);
      }
    }
  });
}

TEST_P(pipelines, a_cancelled_one_ends_and_nothing_is_left) {
  in_own_process(machine_of(GetParam()), [] {
    const parallelism limit(parallelism::max_allowed_parallelism, GetParam() * threads_a_domain);
    for (std::size_t where = 0; where < 4; ++where) {
      each_kind(GetParam(), 40, 6, [where](run& r, homes_of homes) {
        tbb::task_group_context context;
        std::atomic<int> calls{0};
        r.go(
            homes,
            [&](std::size_t stage, std::size_t) {
              if (stage == where && calls.fetch_add(1) == 17) context.cancel_group_execution();
            },
            context);
        EXPECT_TRUE(context.is_group_execution_cancelled());
        r.expect_sound();
      });
    }
  });
}

TEST_P(pipelines, inside_pinned_sections_nothing_waits_for_the_domains_outside) {
  in_own_process(machine_of(GetParam()), [] {
    const parallelism limit(parallelism::max_allowed_parallelism, GetParam() * threads_a_domain + 1);
    each_kind(GetParam(), 20, 4, [](run& r, homes_of homes) {
      homing::pinned(homes_count() ? GetParam() - 1 : 0, [&] { r.go(homes); });
      r.expect_complete();
    });
  });
}

TEST_P(pipelines, nothing_waits_for_a_domain_whose_threads_are_held_elsewhere) {
  in_own_process(machine_of(GetParam()), [] {
    if (!homes_count()) return;  // there are no domains to hold
    const parallelism limit(parallelism::max_allowed_parallelism, GetParam() * threads_a_domain + 1);
    for (const unsigned held : {0U, GetParam() - 1}) {
      const contender away(held, threads_a_domain);
      for (const std::size_t tokens : {1U, 16U}) {
        each_kind(GetParam(), 40, tokens, [](run& r, homes_of homes) {
          r.go(homes);
          r.expect_complete();
        });
      }
    }
  });
}

long tripled(long value) { return 3 * value; }

struct last_adder final {
  long* sum;
  void operator()(const long* value) const { *sum += *value; }
};

/// What oneTBB passes by value and by pointer, and bodies that are no classes to derive from, or whose types it
/// deduces.
TEST(pipeline_bodies, of_all_kinds_and_items_of_all_kinds) {
  in_own_process(machine_of(2), [] {
    const parallelism limit(parallelism::max_allowed_parallelism, 4);
    constexpr long items = 100;
    std::vector<long> values(items);
    long sum = 0;
    int count = 0;
    const auto home_of_value = [](long value) { return static_cast<std::uint32_t>(value % 2); };
    const auto home_of_pointee = [](const long* value) {
      return std::optional(domain_index{*value % 2 == 0 ? 0U : 1U});
    };
    const auto first = homing::on(1, [&](tbb::flow_control& c) -> int {
      if (count == items) c.stop();
      return count++;
    });
    tbb::filter second(filter_mode::parallel, homing::on(0, [](int i) -> long { return i; }));
    const auto third =
        tbb::make_filter<long, long>(filter_mode::serial_out_of_order, homing::on(home_of_value, &tripled));
    const auto fourth = tbb::make_filter(filter_mode::parallel, homing::on(home_of_value, [&](long value) -> long* {
                                           long& kept = values[static_cast<std::size_t>(value / 3)];
                                           kept = value;
                                           return &kept;
                                         }));
    tbb::parallel_pipeline(8, tbb::make_filter(filter_mode::serial_in_order, first) & second & third & fourth &
                                  tbb::make_filter<long*, void>(filter_mode::serial_in_order,
                                                                homing::on(home_of_pointee, last_adder{&sum})));
    EXPECT_EQ(sum, 3 * items * (items - 1) / 2);
    // A pipeline of one filter, which has a home.
    int left = 10;
    tbb::parallel_pipeline(
        2, tbb::make_filter<void, void>(filter_mode::serial_in_order, homing::on(1, [&](tbb::flow_control& c) {
                                          if (--left == 0) c.stop();
                                        })));
    EXPECT_EQ(left, 0);
  });
}

TEST(pipeline_death, a_domain_that_is_not_there_is_a_programmers_error) {
  in_own_process(machine_of(2), [] {
    if (!homes_count()) return;  // any will do
    const auto go = [] {
      tbb::parallel_pipeline(1, tbb::make_filter<void, void>(filter_mode::parallel,
                                                             homing::on(2, [](tbb::flow_control& c) { c.stop(); })));
    };
    EXPECT_DEATH(go(), "there is no such domain");
  });
}

}  // namespace
