/// What the doors do in an execution: loads, stores, fences, futexes, mutexes, and variables that are not atomic.
#include <algorithm>
#include <utility>

#include "engine/arena.hpp"
#include "engine/execution.hpp"

namespace homing::model {

void execution::made(identity& who) noexcept {
  who.execution = number_;
  who.made_at = ++self().knows.at.at[current_];
  who.maker = current_;
  who.where = identity::unknown;
}

void execution::destroyed(identity& who, const std::source_location& at) {
  if (who.execution == number_ && who.where != identity::unknown && who.where != identity::destroyed) {
    const location& l = memory_.at(static_cast<location_index>(who.where - 1));
    for (std::size_t i = 0; i < count_; ++i) {
      if (l.used_at[i] > self().knows.at.at[i]) {
        fail("T" + std::to_string(current_) + " ends an atomic that T" + std::to_string(i) +
             " uses, and neither is before the other (" + place(at) + ")");
      }
    }
  }
  who.where = identity::destroyed;
}

location_index execution::locate(identity& who, const void* address, std::uint64_t initial,
                                 const std::source_location& at) {
  const bool is_older = who.execution != number_;
  if ((is_older && who.execution != 0 && arena::contains(address)) ||
      (!is_older && (who.where == identity::destroyed || who.where > memory_.count()))) {
    fail("T" + std::to_string(current_) + " uses an atomic that is gone (" + place(at) + ")");
  }
  if (!is_older && who.maker != current_ && self().knows.at.at[who.maker] < who.made_at) {
    fail("T" + std::to_string(current_) + " uses an atomic whose making by T" + std::to_string(who.maker) +
         " is not before that (" + place(at) + ")");
  }
  if (is_older || who.where == identity::unknown) {
    std::uint64_t key = mix(reinterpret_cast<std::uintptr_t>(address), 1);
    if (is_older) {
      who.execution = number_;
      who.maker = 0;
      who.made_at = 0;
    } else {
      key = mix(key, mix(who.made_at, who.maker));
    }
    who.where = static_cast<std::uint16_t>(memory_.add(address, initial, key) + 1);
  }
  return static_cast<location_index>(who.where - 1);
}

location_index execution::begin_access(identity& who, const void* address, std::uint64_t initial, bool is_point,
                                       const std::source_location& at) {
  self().at = at;
  if (is_point) {
    point();
  }
  tick();
  const location_index where = locate(who, address, initial, at);
  memory_.at(where).used_at[current_] = self().knows.at.at[current_];
  return where;
}

void execution::looked_at(location_index where, std::uint64_t value) {
  auto& looked = self().looked;
  const auto known = std::find_if(looked.begin(), looked.end(), [&](const seen_value& s) { return s.where == where; });
  if (known == looked.end()) {
    looked.push_back({where, value});
  } else {
    self().saw_change |= known->value != value;
  }
}

/// It did something: whoever waits from here on waits anew.
void execution::forget_looks() noexcept {
  self().looked.clear();
  self().looked_before.clear();
  self().saw_change = false;
}

std::uint64_t execution::load(identity& who, const void* address, std::uint64_t initial, order o,
                              const std::source_location& at) {
  const location_index where = begin_access(who, address, initial, true, at);
  const std::uint64_t value = memory_.load(self().knows, where, o);
  looked_at(where, value);
  trace_.add({event::kind::load, o, current_, where, value, 0, memory_.last_read().step, at});
  return value;
}

void execution::store(identity& who, const void* address, std::uint64_t initial, std::uint64_t value, order o,
                      const std::source_location& at) {
  const location_index where = begin_access(who, address, initial, o == order::seq_cst, at);
  memory_.write(self().knows, current_, where, value, o);
  forget_looks();
  trace_.add({event::kind::store, o, current_, where, 0, value, 0, at});
}

void execution::note_update(location_index where, std::uint64_t read, std::uint64_t value, bool wrote, order o,
                            const std::source_location& at) {
  if (wrote) {
    forget_looks();
  }
  looked_at(where, value);
  trace_.add({wrote ? event::kind::update : event::kind::failed_update, o, current_, where, read, value,
              memory_.last_read().step, at});
}

bool execution::fails_spuriously() {
  if (spurious_ >= bounds_.spurious || decide_.take(2) == 0) {
    return false;
  }
  ++spurious_;
  self().fails_for_none = true;
  self().knows.history = mix(self().knows.history, 31);
  return true;
}

void execution::fence(order o, const std::source_location& at) {
  self().at = at;
  if (o == order::seq_cst) {
    point();
  }
  tick();
  memory_.fence(self().knows, o);
  trace_.add({event::kind::fence, o, current_, 0, 0, 0, 0, at});
}

void execution::light_fence(const std::source_location& at) {
  self().at = at;
  point();
  tick();
  memory_.light_fence(self().knows);
  trace_.add({event::kind::light_fence, order::seq_cst, current_, 0, 0, 0, 0, at});
}

void execution::heavy_fence(const std::source_location& at) {
  self().at = at;
  point();
  tick();
  memory_.heavy_fence(self().knows);
  trace_.add({event::kind::heavy_fence, order::seq_cst, current_, 0, 0, 0, 0, at});
}

void execution::interrupt_all(const std::source_location& at) {
  self().at = at;
  point();
  tick();
  memory_.fence(self().knows, order::seq_cst);
  for (std::size_t i = 0; i < count_; ++i) {
    if (i != current_) {
      memory_.fence(threads_[i].knows, order::seq_cst);
    }
  }
  memory_.fence(self().knows, order::seq_cst);
  trace_.add({event::kind::heavy_fence, order::seq_cst, current_, 0, 0, 0, 0, at});
}

/// A spinning thread goes on when something that it has looked at can be seen with another value.
void execution::pause() {
  thread& me = self();
  tick();
  if (std::exchange(me.saw_change, false) || std::exchange(me.fails_for_none, false)) {
    me.looked.clear();
    return;  // the next round goes another way without anybody's help
  }
  if (me.looked == me.looked_before && !me.looked.empty()) {
    end(ending::redundant);  // it saw nothing new; where it does, it has waited longer
  }
  me.looked_before = me.looked;
  me.is = me.looked.empty() ? state::yielding : state::paused;
  hand_over();
  me.looked.clear();
}

execution::kernel_word& execution::word_at(const void* address) {
  const auto known =
      std::find_if(words_.begin(), words_.end(), [&](const kernel_word& w) { return w.address == address; });
  return known != words_.end() ? *known : words_.emplace_back(kernel_word{address, {}});
}

/// The kernel's look at the word and the sleep are one step, and come after all wakes that are over.
void execution::futex_wait(identity& who, const void* address, std::uint64_t initial, std::uint32_t expected,
                           bool timed) {
  thread& me = self();
  const location_index where = begin_access(who, address, initial, true, me.at);
  view floor = me.knows.now;
  memory_.join(floor, word_at(address).woken);
  const std::uint64_t value = memory_.load_from(me.knows, where, floor);
  trace_.add({event::kind::futex_wait, order::relaxed, current_, where, value, 0, memory_.last_read().step, me.at});
  if (value == expected && !fails_spuriously()) {
    me.is = timed ? state::on_timed_futex : state::on_futex;
    me.waits_for = address;
    me.knows.history = mix(me.knows.history, 20);
    hand_over();
  }
  forget_looks();
  me.knows.history = mix(me.knows.history, mix(21, value));
  trace_.add({event::kind::futex_return, order::relaxed, current_, where, value, 0, 0, me.at});
}

void execution::futex_wake(const void* address, std::uint32_t count) {
  point();
  tick();
  memory_.join(word_at(address).woken, self().knows.now);
  std::array<std::size_t, threads_max> asleep{};
  unsigned n = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    const thread& t = threads_[i];
    if ((t.is == state::on_futex || t.is == state::on_timed_futex) && t.waits_for == address) {
      asleep[n++] = i;
    }
  }
  std::uint64_t woken = 0;
  for (; n > 0 && count > 0; --count) {
    const unsigned which = decide_.take(n);
    threads_[asleep[which]].is = state::ready;
    asleep[which] = asleep[--n];
    ++woken;
  }
  forget_looks();
  self().knows.history = mix(self().knows.history, 22);
  trace_.add({event::kind::futex_wake, order::relaxed, current_, 0, woken, 0, 0, self().at});
}

void execution::set_time(std::int64_t now_ns) {
  point();
  now_ns_ = now_ns;
}

std::int64_t execution::time() {
  point();
  self().knows.history = mix(self().knows.history, static_cast<std::uint64_t>(now_ns_));
  return now_ns_;
}

execution::held_mutex& execution::mutex_at(const void* address) {
  const auto known =
      std::find_if(mutexes_.begin(), mutexes_.end(), [&](const held_mutex& m) { return m.address == address; });
  return known != mutexes_.end() ? *known : mutexes_.emplace_back(held_mutex{address, false, {}, {}, 0});
}

void execution::lock(const void* address) {
  self().waits_for = address;
  self().is = state::on_mutex;
  hand_over();
  static_cast<void>(take(address));
}

/// A try may fail for no reason, as C++ says of std::mutex.
bool execution::try_lock(const void* address) {
  point();
  return !fails_spuriously() && take(address);
}

bool execution::take(const void* address) {
  tick();
  held_mutex& m = mutex_at(address);
  thread& me = self();
  me.knows.history = mix(mix(me.knows.history, 40), m.is_held ? 1 : m.last);
  if (m.is_held) {
    return false;
  }
  m.is_held = true;
  memory_.join(me.knows.now, m.seen);
  me.knows.at.join(m.sync);
  trace_.add({event::kind::lock, order::acquire, current_, 0, 0, 0, 0, me.at});
  return true;
}

void execution::unlock(const void* address) {
  tick();
  held_mutex& m = mutex_at(address);
  thread& me = self();
  m.is_held = false;
  m.seen = me.knows.now;
  m.sync = me.knows.at;
  m.last = mix(me.knows.history, current_);
  forget_looks();
  me.knows.history = mix(me.knows.history, 41);
  trace_.add({event::kind::unlock, order::release, current_, 0, 0, 0, 0, me.at});
}

void execution::read(accesses& of, const std::source_location& at) {
  self().at = at;
  tick();
  const clock& now = self().knows.at;
  if (of.execution != number_ || of.self != &of) {
    of = accesses{};
    of.self = &of;
    of.execution = number_;
  }
  if (of.written_at > now.at[of.writer]) {
    fail("data race: T" + std::to_string(current_) + " reads at " + place(at) + " what T" + std::to_string(of.writer) +
         " writes");
  }
  of.read_at[current_] = now.at[current_];
}

void execution::written(accesses& of, const std::source_location& at) {
  read(of, at);
  const clock& now = self().knows.at;
  for (std::size_t i = 0; i < count_; ++i) {
    if (of.read_at[i] > now.at[i]) {
      fail("data race: T" + std::to_string(current_) + " writes at " + place(at) + " what T" + std::to_string(i) +
           " reads");
    }
  }
  of.writer = current_;
  of.written_at = now.at[current_];
}

}  // namespace homing::model
