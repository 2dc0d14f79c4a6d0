/// Object pool and proxies: an object serves one user at a time, whoever frees it, and a task behind a proxy reaches
/// one taker. Method: every execution; docs/protocols/object_pool.md, mailbox.md [M7] and [M8].
#include "tbb_atomics.hpp"

#include "pool_in_small.hpp"
#include "runtime/task/task_proxy.hpp"
#undef atomic

#include "engine/model.hpp"

namespace {

using namespace homing;
using namespace homing::model;
using memory::first_pool;
using memory::object_pool;
using sync::acquire;
using sync::relaxed;
using sync::release;

/// Whoever holds the object writes to it: two holders at once would race.
struct content {
  sync::plain<int> word = 0;
};

content* use(object_pool& pool) { return new (pool.allocate(sizeof(content))) content; }
void* end(content* c) {
  c->word = 2;
  c->~content();
  return c;
}

const scenario remote("object pool: an object comes back from another thread", {}, [] {
  object_pool& pool = first_pool();
  sync::atomic<content*> sent = nullptr;
  threads({[&] {
             sent.store(use(pool), release);
             content* const again = use(pool);
             again->word = 1;
             pool.deallocate_local(end(again), sizeof(content));
             content* const third = use(pool);
             content* const fourth = use(pool);
             require(third != fourth, "an object serves one user at a time");
             fourth->word = 1;
             third->word = 1;
           },
           [&] {
             if (content* const c = sent.load(acquire); c != nullptr) {
               pool.deallocate_remote(end(c), sizeof(content));
             }
           }});
});

const scenario two_remote("object pool: two threads give back, the owner takes", {.sample_preemptions = 3}, [] {
  object_pool& pool = first_pool();
  content* const a = use(pool);
  content* const b = use(pool);
  content* c = nullptr;
  content* d = nullptr;
  threads({[&] {
             c = use(pool);
             d = use(pool);
             require(c != d, "an object serves one user at a time");
             c->word = 1;
             d->word = 1;
           },
           [&] { pool.deallocate_remote(end(a), sizeof(content)); },
           [&] { pool.deallocate_remote(end(b), sizeof(content)); }});
  // [OP2] What the owner could not have yet, since its giver had a store left to do, comes later.
  int again = (c == a || c == b ? 1 : 0) + (d == a || d == b ? 1 : 0);
  for (content* last = nullptr; again < 2; ++again) {
    content* const e = use(pool);
    require((e == a || e == b) && e != c && e != d && e != last, "nothing is lost");
    last = e;
  }
});

/// [OP3] One thread leaves its pool, another takes it over, and what the first had freed.
const scenario orphan("object pool: an orphan's next owner", {.sample_preemptions = 3}, [] {
  object_pool& pool = first_pool();
  content* const a = use(pool);
  content* const b = use(pool);
  threads({[&] {
             pool.deallocate_local(end(a), sizeof(content));
             object_pool::release(pool);
           },
           [&] {
             object_pool& mine = object_pool::acquire(0);
             content* const c = use(mine);
             content* const d = use(mine);
             require(c != d, "an object serves one user at a time");
             c->word = 1;
             d->word = 1;
           },
           [&] { pool.deallocate_remote(end(b), sizeof(content)); }});
});

// --- proxies
// ----------------------------------------------------------------------------------------------------------

struct errand final : scheduler::task {
  task* execute(tbb::detail::d1::execution_data& /*ed*/) override { return nullptr; }
  task* cancel(tbb::detail::d1::execution_data& /*ed*/) override { return nullptr; }
  sync::plain<int> times_run = 0;
};

/// [M7] [M8] The two places' takers: one gets the task, the other frees the proxy, and the first is done with it.
template <bool OwnerTakes>
void two_places() {
  object_pool& makers = first_pool();
  object_pool& others = object_pool::acquire(1);
  object_pool& thirds = object_pool::acquire(2);
  errand job;
  sync::atomic<scheduler::task_proxy*> deque = nullptr;
  sync::atomic<scheduler::task_proxy*> mail = nullptr;
  int runs = 0;
  int frees = 0;
  const auto fetch = [&](sync::atomic<scheduler::task_proxy*>& place, object_pool& mine) {
    if (scheduler::task_proxy* const p = place.exchange(nullptr, acquire); p != nullptr) {
      if (scheduler::task* const t = p->take(mine); t != nullptr) {
        ++static_cast<errand*>(t)->times_run;
        ++runs;
      } else {
        ++frees;
      }
    }
  };
  threads({[&] {
             job.times_run = 0;
             auto* const p = new (makers.allocate(sizeof(scheduler::task_proxy))) scheduler::task_proxy(job, makers);
             mail.store(p, release);
             deque.store(p, release);
             if (OwnerTakes) {
               fetch(deque, makers);
             }
             static_cast<void>(use(makers));  // perhaps the proxy's memory
           },
           [&] { fetch(mail, others); }, [&] { fetch(deque, thirds); }});
  fetch(deque, makers);
  fetch(mail, makers);
  require(runs == 1 && frees == 1 && job.times_run == 1, "one gets the task, and the other frees the proxy");
}
const scenario proxy_of_others("proxy: two other threads", {.sample_preemptions = 3}, two_places<false>);
const scenario proxy_of_owner("proxy: its maker and others", {.sample_preemptions = 2}, two_places<true>);

}  // namespace
