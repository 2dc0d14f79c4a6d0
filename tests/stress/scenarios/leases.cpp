// A scenario in which other threads than TBB's take part of the workers, and give them back.
#include <tbb/parallel_for.h>
#include <homing/lease.hpp>

#include "common/scenario.hpp"

namespace stress {
namespace {

/// What all leases have together, counted behind each grant and before each return.
class total {
 public:
  explicit total(int workers_max) : workers_max_(workers_max) {}
  void add(const homing::lease& l) {
    const int workers = static_cast<int>(l.threads()) - 1;
    const int now = sum_.fetch_add(workers) + workers;
    require(!l.is_managed() || now <= workers_max_, "leases: together more than there are");
  }
  void remove(const homing::lease& l) { sum_.fetch_sub(static_cast<int>(l.threads()) - 1); }

 private:
  const int workers_max_;
  std::atomic<int> sum_{0};
};

homing::lease any_lease(rng& own, int threads) {
  const auto wanted = own.one_in(3) ? homing::lease::all : static_cast<std::uint32_t>(own.between(1, threads));
  const auto from = own.one_in(2) ? homing::lease_source::any : homing::lease_source::idle;
  if (own.one_in(3)) {
    return homing::lease(wanted, homing::domain_set{homing::domain_index{0}}, from);
  }
  return homing::lease(wanted, from);
}

/// The lessee's own threads do something, and so does the library in between.
void use(const homing::lease& l, rng& own) {
  std::uint32_t counted = 0;
  for (std::uint32_t d = 0; d < l.domain_count(); ++d) counted += l.threads_in(homing::domain_index{d});
  require(counted == l.threads(), "leases: the domains' threads are not the sum");
  std::atomic<int> ran{0};
  const int helpers = std::min(static_cast<int>(l.threads()) - 1, own.between(0, 4));
  run_threads(helpers, [&](int) {
    burn(500);
    ran.fetch_add(1);
  });
  require(ran.load() == helpers, "leases: a helper did not run");
  note_progress();
}

}  // namespace

/// Threads that take leases, and threads that run loops, enqueue, and take leases inside tasks.
void changing_leases(const round& r) {
  rng random(r.seed);
  const int lessees = random.between(1, 4);
  const int workers = random.between(1, 4);
  std::atomic<int> working{workers};
  std::atomic<int> enqueued{0};
  std::atomic<int> ran{0};
  total leased(r.threads - 1);
  run_threads(lessees + workers, [&](int t) {
    rng own(derive(r.seed, static_cast<std::uint64_t>(t)));
    if (t < lessees) {
      homing::lease last(1);
      leased.add(last);
      for (int i = 0; i < 10 || working > 0; ++i) {
        homing::lease mine = any_lease(own, 2 * r.threads);
        leased.add(mine);
        use(mine, own);
        if (own.one_in(2)) {
          leased.remove(mine);
          mine.renew();
          leased.add(mine);
        }
        if (own.one_in(3)) {
          leased.remove(last);
          last = std::move(mine);  // lives until the next one
        } else {
          leased.remove(mine);
        }
        if (own.one_in(8)) {  // enqueued while this thread has all that it can get, and waits for it
          const homing::lease everything;
          leased.add(everything);
          std::atomic<bool> done{false};
          tbb::task_arena arena(own.between(1, r.threads), 0);
          arena.enqueue([&] { done = true; });
          wait_until([&] { return done.load(); });
          leased.remove(everything);
        }
      }
      leased.remove(last);
      return;
    }
    for (int i = 0; i < 10; ++i) {
      tbb::task_arena arena(own.between(1, r.threads), static_cast<unsigned>(own.below(2)));
      enqueued.fetch_add(1);
      arena.enqueue([&ran] { ran.fetch_add(1); });
      const auto items = static_cast<std::size_t>(own.between(1, 400));
      ledger books(items);
      arena.execute([&] {
        tbb::parallel_for(std::size_t{0}, items, [&](std::size_t k) {
          const ledger::entry entry(books, k);
          burn(200);
          if (k % 97 == 0) {
            const homing::lease inside(static_cast<std::uint32_t>(1 + k % 5));
            leased.add(inside);
            leased.remove(inside);
          }
        });
      });
      require(books.complete(), "leases: a loop lost items");
    }
    --working;
  });
  wait_until([&] { return ran.load() == enqueued.load(); });
}

}  // namespace stress
