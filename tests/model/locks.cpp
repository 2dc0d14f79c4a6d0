/// The other locks: sections exclude each other, a sleeper is woken, and a failed try leaves its wish to the holder.
/// Method: every execution of two or three threads; docs/protocols/arena.md [A6].
#include <mutex>

#include "engine/model.hpp"
#include "sync/mutex.hpp"
#include "sync/spin_lock.hpp"

namespace {

using namespace homing;
using namespace homing::model;
using sync::seq_cst;

template <class Lock, int Threads>
void count() {
  Lock lock;
  sync::plain<int> counted = 0;
  const auto add = [&] {
    lock.lock();
    ++counted;
    lock.unlock();
  };
  Threads == 2 ? threads({add, add}) : threads({add, add, add});
  require(counted == Threads, "each section counted");
}
const scenario spin_two("spin lock: two threads", {}, count<sync::spin_lock, 2>);
const scenario spin_three("spin lock: three threads", {}, count<sync::spin_lock, 3>);
const scenario mutex_two("mutex: two threads", {}, count<sync::mutex, 2>);
const scenario mutex_three("mutex: three threads", {.sample_preemptions = 2}, count<sync::mutex, 3>);

const scenario again("mutex: two threads, twice each", {.sample_preemptions = 2}, [] {
  sync::mutex lock;
  sync::plain<int> counted = 0;
  const auto add = [&] {
    for (int i = 0; i < 2; ++i) {
      lock.lock();
      ++counted;
      lock.unlock();
    }
  };
  threads({add, add});
  require(counted == 4, "each section counted");
});

const scenario is_free("spin lock: a look whether it is held", {}, [] {
  sync::spin_lock lock;
  sync::plain<int> word = 0;
  lock.lock();
  threads({[&] {
             word = 1;
             lock.unlock();
           },
           [&] { require(lock.is_held() || word == 1, "what its last holder wrote"); }});
});

/// [A6] As the resource manager uses it: a wish, then a try; an unlock, then a look at the wish.
template <typename Lock>
void leave_wish() {
  Lock lock;
  sync::atomic<bool> wish = false;
  sync::plain<int> served = 0;
  const auto serve = [&] {
    while (wish.load(seq_cst) && lock.try_lock()) {
      wish.store(false, seq_cst);
      ++served;
      lock.unlock();
    }
  };
  threads({[&] {
             lock.lock();
             lock.unlock();
             serve();
           },
           [&] {
             wish.store(true, seq_cst);
             serve();
           }});
  require(served >= 1 && !wish.load(sync::relaxed), "somebody has served the wish");
}
const scenario wishes("mutex: a wish is left to the holder", {}, leave_wish<sync::mutex>);

/// The manager's lock was a std::mutex, of which a failed try says nothing.
const scenario lost_wish("mutex, as it was: a failed try of std::mutex", {.fault = "somebody has served the wish"},
                         leave_wish<std::mutex>);

}  // namespace
