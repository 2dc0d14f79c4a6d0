#include "engine/memory.hpp"

#include <algorithm>

namespace homing::model {

void memory::begin(unsigned stale_max) noexcept {
  stale_left_ = stale_max;
  for (std::size_t i = 0; i < count_; ++i) {
    locations_[i].stores.clear();
    locations_[i].modification.clear();
    locations_[i].used_at = {};
  }
  count_ = 0;
  exhausted_ = false;
  sc_ = heavy_ = light_ = view{};
}

location_index memory::add(const void* address, std::uint64_t value, std::uint64_t key) {
  if (count_ == locations_max) {
    exhausted_ = true;
    return 0;
  }
  location& l = locations_[count_];
  l.address = address;
  l.key = key;
  l.hashed = 0;
  store initial{};
  initial.value = value;
  initial.id = key;
  l.stores.push_back(initial);
  l.modification.push_back(0);
  return static_cast<location_index>(count_++);
}

void memory::join(view& into, const view& from) noexcept {
  for (std::size_t i = 0; i < count_; ++i) {
    raise(into, static_cast<location_index>(i), from.at[i]);
  }
}

void memory::raise(view& v, location_index where, store_index s) noexcept {
  if (rank(where, v.at[where]) < rank(where, s)) {
    v.at[where] = s;
  }
}

store_index memory::floor_of(const knowledge& me, location_index where, bool is_sc) const noexcept {
  const store_index known = rank(where, me.now.at[where]);
  const store_index ordered = is_sc ? rank(where, sc_.at[where]) : store_index{0};
  return known < ordered ? ordered : known;
}

void memory::note_read(knowledge& me, location_index where, store_index from, order o) noexcept {
  last_where_ = where;
  last_from_ = from;
  raise(me.now, where, from);
  const store& s = locations_[where].stores[from];
  if (acquires(o)) {
    join(me.now, s.seen);
    me.at.join(s.sync);
  }
  join(me.acquired, s.seen);
  me.acquired_at.join(s.sync);
  if (o == order::seq_cst) {
    raise(sc_, where, from);
  }
  me.history = mix(mix(me.history, locations_[where].key), s.id);
}

std::uint64_t memory::load(knowledge& me, location_index where, order o) {
  const unsigned count =
      candidates(where, floor_of(me, where, o == order::seq_cst), [](const store& /*s*/) { return true; });
  const store_index from = candidate(choose(count));
  note_read(me, where, from, o);
  return locations_[where].stores[from].value;
}

/// Puts the store at its rank; those behind it move.
store_index memory::place(location_index where, std::size_t at, store s) {
  location& l = locations_[where];
  if (l.stores.size() == stores_max) {
    exhausted_ = true;
    return 0;
  }
  const auto index = static_cast<store_index>(l.stores.size());
  s.step = step_;
  l.stores.push_back(s);
  l.modification.insert(l.modification.begin() + static_cast<std::ptrdiff_t>(at), index);
  for (std::size_t r = at; r < l.modification.size(); ++r) {
    l.stores[l.modification[r]].rank = static_cast<store_index>(r);
  }
  return index;
}

/// The store's readers know of the store itself.
void memory::seal(location_index where, store_index s) noexcept {
  store& sealed = locations_[where].stores[s];
  raise(sealed.seen, where, s);
  locations_[where].hashed = 0;
  sealed.seen_hash = hash(sealed.seen);
}

void memory::write(knowledge& me, thread_index self, location_index where, std::uint64_t value, order o) {
  location& l = locations_[where];
  const std::size_t floor = floor_of(me, where, o == order::seq_cst);
  // Behind each store from the floor up, unless an update stands there.
  candidates_ = 0;
  for (std::size_t r = l.modification.size(); r-- > floor;) {
    if (r + 1 == l.modification.size() || !l.stores[l.modification[r + 1]].is_update) {
      candidate_[candidates_++] = static_cast<store_index>(r);
    }
  }
  const std::size_t behind = candidate(choose(candidates_));
  me.history = mix(mix(me.history, l.key), mix(value, static_cast<std::uint64_t>(o)));
  store s{};
  s.value = value;
  s.id = mix(me.history, self);
  s.seen = releases(o) ? me.now : me.released;
  s.sync = releases(o) ? me.at : me.released_at;
  const store_index index = place(where, behind + 1, s);
  me.now.at[where] = index;
  seal(where, index);
  if (o == order::seq_cst) {
    raise(sc_, where, index);
  }
}

void memory::finish_update(knowledge& me, thread_index self, location_index where, store_index from,
                           std::uint64_t value, order o) {
  note_read(me, where, from, o);
  location& l = locations_[where];
  me.history = mix(mix(me.history, value), static_cast<std::uint64_t>(o));
  store s{};
  s.value = value;
  s.id = mix(me.history, self);
  s.is_update = true;
  // A read-modify-write goes on with the release sequences of what it has read.
  s.seen = l.stores[from].seen;
  join(s.seen, releases(o) ? me.now : me.released);
  s.sync = l.stores[from].sync;
  s.sync.join(releases(o) ? me.at : me.released_at);
  l.stores[from].is_updated = true;
  const store_index index = place(where, l.stores[from].rank + std::size_t{1}, s);
  me.now.at[where] = index;
  seal(where, index);
  if (o == order::seq_cst) {
    raise(sc_, where, index);
  }
}

void memory::fence(knowledge& me, order o) noexcept {
  if (acquires(o)) {
    join(me.now, me.acquired);
    me.at.join(me.acquired_at);
  }
  if (o == order::seq_cst) {
    join(me.now, sc_);
    sc_ = me.now;
  }
  if (releases(o)) {
    me.released = me.now;
    me.released_at = me.at;
  }
  me.history = mix(me.history, static_cast<std::uint64_t>(o));
}

void memory::light_fence(knowledge& me) noexcept {
  join(me.now, heavy_);
  join(light_, me.now);
  me.history = mix(me.history, 11);
}

void memory::heavy_fence(knowledge& me) noexcept {
  join(me.now, light_);
  fence(me, order::seq_cst);
  heavy_ = me.now;  // it has joined what heavy fences before it put into S
  me.history = mix(me.history, 12);
}

std::uint64_t memory::load_from(knowledge& me, location_index where, const view& floor) {
  const store_index lowest = std::max(rank(where, me.now.at[where]), rank(where, floor.at[where]));
  const store_index from = candidate(choose(candidates(where, lowest, [](const store& /*s*/) { return true; })));
  note_read(me, where, from, order::relaxed);
  return locations_[where].stores[from].value;
}

bool memory::has_news(const view& known, location_index where, std::uint64_t value) const noexcept {
  const location& l = locations_[where];
  for (std::size_t r = rank(where, known.at[where]); r < l.modification.size(); ++r) {
    if (l.stores[l.modification[r]].value != value) {
      return true;
    }
  }
  return false;
}

std::uint64_t memory::hash(const view& v) const noexcept {
  std::uint64_t h = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    // Locations are numbered in the order of execution: a sum does not see it, nor those that came after the view.
    if (v.at[i] != 0) {
      h += mix(locations_[i].key, locations_[i].stores[v.at[i]].id);
    }
  }
  return h;
}

std::uint64_t memory::hash() const noexcept {
  std::uint64_t h = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    const location& l = locations_[i];
    if (l.hashed == 0) {
      std::uint64_t one = l.key;
      for (const store_index s : l.modification) {
        one = mix(mix(one, l.stores[s].id), l.stores[s].seen_hash);
      }
      l.hashed = one;
    }
    h += l.hashed;
  }
  return mix(mix(h, hash(sc_)), mix(hash(heavy_), hash(light_)));
}

}  // namespace homing::model
