/// Shared queue, whole and in shards: each item reaches one taker, in order, while the ring grows; and `empty()` is
/// exact behind a fence. Method: every execution of two threads or three on rings of two; src/sync/shared_queue.hpp,
/// src/sync/sharded_queue.hpp, sleep.md [S2].
#include "engine/arena.hpp"
#include "engine/model.hpp"
#include "sync/asymmetric_fence.hpp"
#include "sync/sharded_queue.hpp"

namespace {

using namespace homing;
using namespace homing::model;
using sync::relaxed;

struct job {
  sync::plain<int> is_made = 0;
  sync::plain<int> times_taken = 0;
  sync::plain<job*> next = nullptr;
  sync::plain<bool> linked = false;
};
struct link {
  static job* next(const job& j) noexcept { return j.next; }
  static void set_next(job& j, job* to) noexcept { j.next = to; }
  static bool is_linked(const job& j) noexcept { return j.linked; }
  static void set_linked(job& j, bool to) noexcept { j.linked = to; }
};

template <std::size_t Jobs>
struct office {
  sync::shared_queue<job, link> queue;
  job jobs[Jobs];

  void push(std::size_t i) {
    jobs[i].is_made = 1;
    queue.push(jobs[i]);
  }
  std::size_t take() {
    job* const j = queue.take();
    if (j == nullptr) {
      return 0;
    }
    require(j->is_made == 1, "a taker sees its item");
    ++j->times_taken;
    return static_cast<std::size_t>(j - jobs) + 1;
  }
  /// So that what is pushed then has a place. Growth has models of its own.
  void make_ring() {
    job any;
    queue.push(any);
    static_cast<void>(queue.take());
  }
  void check() {
    while (take() != 0) {
    }
    for (job& j : jobs) {
      require(j.times_taken == 1, "each was taken once");
    }
  }
};

const scenario two_pushers("shared queue: two pushers, one taker", {.sample_preemptions = 1}, [] {
  office<2> o;
  o.make_ring();
  threads({[&] { o.push(0); }, [&] { o.push(1); }, [&] { o.take(); }});
  o.check();
});

/// Who finds the other at the queue takes nothing; then the item is there still.
const scenario passers_by("shared queue: takers that don't wait", {.sample_preemptions = 2}, [] {
  office<2> o;
  o.push(0);
  std::size_t taken[2] = {};
  const auto take = [&](std::size_t by) {
    job* const j = o.queue.try_take_if([](const job&) { return true; });
    if (j != nullptr) {
      require(j->is_made == 1, "a taker sees its item");
      ++j->times_taken;
      taken[by] = 1;
    }
  };
  threads({[&] { take(0); },
           [&] {
             take(1);
             o.push(1);
           }});
  require(taken[0] + taken[1] != 0, "of two takers one at least finds an item");
  o.check();
});

const scenario growth("shared queue: growth under two pushers", {.sample_preemptions = 2}, [] {
  office<4> o;
  o.push(0);
  threads({[&] {
             o.push(1);
             o.push(2);
           },
           [&] { o.push(3); }});
  o.check();
});

const scenario order("shared queue: growth under a taker, in order", {.sample_preemptions = 1}, [] {
  office<3> o;
  threads({[&] {
             o.push(0);
             o.push(1);
             o.push(2);
           },
           [&] {
             const std::size_t first = o.take();
             const std::size_t second = o.take();
             require(second == 0 || first < second, "first in, first out");
           }});
  o.check();
});

/// A ring of two, and no memory for more: the third is linked, perhaps while a taker is at the ring's end.
const scenario linked("shared queue: where memory lacks, in order", {.sample_preemptions = 2}, [] {
  memory_is_out = false;
  office<4> o;
  o.push(0);
  require(o.take() == 1, "there is a ring");
  memory_is_out = true;
  threads({[&] {
             o.push(1);
             o.push(2);
             o.push(3);
           },
           [&] {
             const std::size_t first = o.take();
             const std::size_t second = o.take();
             require(first == 0 || first == 2, "the oldest first");
             require(second == 0 || first < second, "first in, first out");
           }});
  memory_is_out = false;
  o.check();
});

/// The oldest is for somebody else; what is behind it moves up.
const scenario refused("shared queue: a taker that refuses the oldest", {.sample_preemptions = 2}, [] {
  office<4> o;
  o.push(0);
  std::size_t taken = 0;
  threads({[&] {
             o.push(1);
             o.push(2);
             o.push(3);
           },
           [&] {
             job* const j = o.queue.take_if([&](const job& of) { return &of != &o.jobs[0]; });
             if (j != nullptr) {
               ++j->times_taken;
               taken = static_cast<std::size_t>(j - o.jobs);
             }
           }});
  require(taken <= 1, "the oldest of those that it accepts");
  require(o.take() == 1, "what it has refused comes first");
  o.check();
});

/// Whoever has taken the last one leaves no mark behind, also beside the end of its push.
const scenario exact("shared queue: empty when all are taken", {}, [] {
  office<2> o;
  std::size_t taken = 0;
  threads({[&] {
             o.push(0);
             o.push(1);
           },
           [&] {
             for (int i = 0; i < 3; ++i) {
               taken += o.take() != 0 ? 1 : 0;
             }
           }});
  require(o.queue.empty() == (taken == 2), "the mark says so");
  o.check();
});

/// [S2] A push, a light fence, a look for sleepers; announced, a heavy fence, a look at the queue.
const scenario sleeper("shared queue: a sleeper's last look", {}, [] {
  office<1> o;
  sync::atomic<int> asleep = 0;
  bool called = false;
  bool found = false;
  threads({[&] {
             o.push(0);
             sync::light_fence();
             called = asleep.load(relaxed) == 1;
           },
           [&] {
             asleep.store(1, relaxed);
             sync::heavy_fence();
             found = !o.queue.empty();
           }});
  require(called || found, "the sleeper sees the push, or the pusher the sleeper");
});

/// Two shards; pushers 0 and 1.
struct two_shards {
  using queue_type = sync::sharded_queue<job, link>;
  queue_type::shard shards[2];
  queue_type queue{shards};
  job jobs[3];

  two_shards() {
    job any;
    for (queue_type::shard& one : shards) {
      one.push(any);
      static_cast<void>(one.take());
    }
  }

  void push(std::size_t i, unsigned by) {
    jobs[i].is_made = 1;
    queue.push(jobs[i], by);
  }
  bool take(unsigned first) {
    job* const j = queue.try_take_if(first, [](const job&) { return true; });
    if (j == nullptr) {
      return false;
    }
    require(j->is_made == 1, "a taker sees its item");
    ++j->times_taken;
    return true;
  }
};

const scenario shards_meet("sharded queue: two pushers, one taker", {.sample_preemptions = 0}, [] {
  two_shards q;
  threads({[&] { q.push(0, 0); },
           [&] {
             q.push(1, 1);
             q.push(2, 1);
           },
           [&] {
             static_cast<void>(q.take(1));
             static_cast<void>(q.take(0));
           }});
  while (q.take(0)) {
  }
  require(q.queue.empty(), "the word says so when all are taken");
  for (job& j : q.jobs) {
    require(j.times_taken == 1, "each was taken once");
  }
});

/// [S2] One pusher finds its shard filled by the other, and writes nothing to the word.
const scenario shards_sleeper("sharded queue: a sleeper's last look", {.preemptions = 3, .sample_preemptions = 0}, [] {
  two_shards q;
  sync::atomic<int> asleep = 0;
  bool called[2] = {};
  bool found = false;
  const auto push = [&](std::size_t i) {
    q.push(i, 0);
    sync::full_fence();
    called[i] = asleep.load(relaxed) == 1;
  };
  threads({[&] { push(0); }, [&] { push(1); },
           [&] {
             static_cast<void>(q.take(0));
             asleep.store(1, relaxed);
             sync::full_fence();
             found = !q.queue.empty();
           }});
  const bool is_left = q.jobs[0].times_taken + q.jobs[1].times_taken < 2;
  require(!is_left || called[0] || called[1] || found, "of what is left the sleeper knows, or a pusher knows of it");
});

}  // namespace
