#include "memory_system.hpp"

#include <algorithm>
#include <bit>
#include <mutex>

#include "loaded_latency.hpp"

namespace homing::lab::model {
namespace {

/// Calls `each` with the index of every bit that is set.
template <class Each>
void for_bits(std::uint64_t mask, Each each) {
  for (; mask != 0; mask &= mask - 1) each(static_cast<unsigned>(std::countr_zero(mask)));
}

constexpr std::uint64_t bit(unsigned i) { return std::uint64_t{1} << i; }

/// How long a line occupies what carries `gbs`.
ticks line_takes(const time_scale& scale, double gbs) {
  if (line_bytes / gbs <= scale.to_ns(capacity::line_max)) return scale.occupancy(line_bytes, gbs);
  throw machine_error("a bandwidth of " + std::to_string(gbs) + " GB/s: expected at least " +
                      std::to_string(line_bytes / scale.to_ns(capacity::line_max)));
}

}  // namespace

memory_system::memory_system(const machine& m, const memory_map& map)
    : map_(map),
      scale_(m.clock_ghz),
      layout_(m.nodes(), static_cast<unsigned>(m.link_gbs.size())),
      routes_(m.routes),
      shared_of_core_(m.cores()),
      cores_of_shared_(m.shared.size()),
      controllers_(m.nodes()),
      directory_(map.addresses_end() / line_bytes),
      private_latency_(scale_.from_ns(m.private_cache.latency_ns)) {
  for (unsigned cpu = 0; cpu != m.cpus(); ++cpu) {
    shared_of_core_[m.cpu_core[cpu]] = m.cpu_l3[cpu];
    cores_of_shared_[m.cpu_l3[cpu]] |= bit(m.cpu_core[cpu]);
  }
  for (unsigned core = 0; core != m.cores(); ++core) private_.emplace_back(m.private_cache);
  for (const shared_cache_shape& s : m.shared) {
    shared_.emplace_back(s);
    node_of_shared_.push_back(s.node);
    shared_latency_.push_back(scale_.from_ns(s.latency_ns));
    written_latency_.push_back(scale_.from_ns(s.written_ns));
  }
  for (const memory_shape& memory : m.memory) {
    controllers_[memory.node] = std::make_unique<capacity>(line_takes(scale_, memory.bandwidth_gbs));
  }
  for (const double gbs : m.link_gbs) links_.emplace_back(line_takes(scale_, gbs));
  dram_latency_.resize(m.nodes());
  cache_latency_.resize(m.nodes());
  pairs_.resize(m.nodes() * m.nodes());
  for (unsigned a = 0; a != m.nodes(); ++a) {
    for (unsigned b = 0; b != m.nodes(); ++b) {
      dram_latency_[a].push_back(scale_.from_ns(m.dram_ns[a][b]));
      cache_latency_[a].push_back(scale_.from_ns(m.cache_ns[a][b]));
      if (const double gbs = m.pair_gbs[a][b]; gbs > 0) {
        pairs_[a * m.nodes() + b] = std::make_unique<capacity>(line_takes(scale_, gbs));
      }
    }
  }
}

memory_system::outcome memory_system::serve(cpu_state& cpu, std::uint64_t virtual_line, std::uint64_t line,
                                            access_kind kind, who by, ticks at, private_cache::found f) {
  cpu.counts.add(by, layout_.at(kind == access_kind::load ? figure::loads : figure::stores));
  if (kind == access_kind::store_around) return around(cpu, line, by, at);
  private_cache& cache = private_[cpu.core];
  if (!f) return miss(cpu, virtual_line, line, kind, by, at);
  if (f.fought() && kind != access_kind::load) {
    at = in_order(cpu, directory_.at(line), by, at);
    f = cache.find(line);
    if (!f) return miss(cpu, virtual_line, line, kind, by, at);
  }
  cache.touch(f);
  if (kind != access_kind::load) {
    if (!f.writable()) return upgrade(cpu, virtual_line, line, kind, by, at);
    if (!cache.mark_dirty(f)) return miss(cpu, virtual_line, line, kind, by, at);
  }
  cpu.counts.add(by, layout_.at(source::private_cache));
  return {at, at, true, false, false};
}

void memory_system::access(cpu_state& cpu, std::uint64_t virtual_line, std::uint64_t line, access_kind kind, who by) {
  const outcome o = serve(cpu, virtual_line, line, kind, by, cpu.now(), look(cpu, line));
  cpu.advance_to(o.ahead ? o.issued : o.done);
}

/// [LM11] An access of the program to a line that is fought over comes in the order of virtual time: it waits for
/// slower CPUs. Returns when it begins.
ticks memory_system::in_order(cpu_state& cpu, const line_entry& e, who by, ticks at) {
  if (clocks_ == nullptr || by == who::kernel || !e.fought.load(std::memory_order_relaxed)) return at;
  cpu.advance_to(at);
  clocks_->take_turn(cpu);
  return std::max(at, cpu.now());
}

memory_system::outcome memory_system::miss(cpu_state& cpu, std::uint64_t virtual_line, std::uint64_t line,
                                           access_kind kind, who by, ticks at) {
  const unsigned home = home_of(line);
  if (home == memory_map::unknown) {
    cpu.counts.add(by, layout_.at(figure::unplaced));
    return {at, at, true, false, false};
  }
  const bool load = kind == access_kind::load;
  const bool streamed = cpu.streams.miss(virtual_line);
  const bool ahead = kind == access_kind::store || (load && streamed);  // [LM5]
  at = in_order(cpu, directory_.at(line), by, at);
  const ticks issued = cpu.window.room(at);
  service served;
  ticks done = 0;
  bool waits = false;
  private_cache::victim from_core, from_shared, from_owner;
  unsigned owner_shared = 0;
  {
    line_entry& e = directory_.at(line);
    const std::lock_guard guard(e.lock);
    if (cpu.watched) cpu.moved = movement_of(cpu, e, line, kind);
    served = find_server(cpu, e, line, home);
    if (e.owner != 0 && e.owner != cpu.core + 1) e.changes_hands(issued);
    if (!load) {
      served.latency = std::max(served.latency, take_from_others(cpu, e, line));  // [LM3]
    } else if (e.owner != 0 && e.owner != cpu.core + 1) {
      owner_shared = shared_of_core_[e.owner - 1U];
      from_owner = share_owner(e, line);
    }
    e.cores |= bit(cpu.core);
    const bool alone = e.cores == bit(cpu.core) && (e.shared & ~bit(cpu.shared)) == 0;
    from_shared = shared_[cpu.shared].insert(line, false);
    if (from_shared.present) directory_.prefetch(from_shared.line);
    e.shared |= static_cast<std::uint32_t>(bit(cpu.shared));
    const bool may_write = !load || alone;
    from_core = private_[cpu.core].insert(
        line, may_write ? private_cache::permission::writable : private_cache::permission::shared, !load,
        e.fought.load(std::memory_order_relaxed));
    if (from_core.present) directory_.prefetch(from_core.line);
    e.owner = may_write ? static_cast<std::uint8_t>(cpu.core + 1) : e.owner;
    waits = e.ready > cpu.now();
    // Meanwhile the host fetches the entries of who has to leave.
    done = transfer(cpu, served, home, std::max(issued, e.ready), ahead, by);
    if (!load && cpu.timed) e.ready = done;  // [LM6]
  }
  count(cpu, served, home, by);
  if (ahead) cpu.counts.add(by, layout_.at(figure::overlapped));
  if (cpu.timed) cpu.window.issue(done);
  if (from_owner.present) shared_lets_go(cpu, owner_shared, from_owner, by);
  if (from_shared.present) shared_lets_go(cpu, cpu.shared, from_shared, by);
  if (from_core.present) core_lets_go(cpu, from_core, by);
  if (load && !ahead && cpu.timed) cpu.coming.add(line, done);
  return {issued, done, false, ahead, waits};
}

/// [LM12] A store that goes past the caches: the whole line to its home, and out of every cache.
memory_system::outcome memory_system::around(cpu_state& cpu, std::uint64_t line, who by, ticks at) {
  const unsigned home = home_of(line);
  if (home == memory_map::unknown) return {at, at, true, true, false};
  const bool is_open = !cpu.open.open(line);
  const ticks issued = cpu.window.room(at);
  {
    line_entry& e = directory_.at(line);
    const std::lock_guard guard(e.lock);
    if (is_open && e.cores == 0 && e.shared == 0) return {at, at, true, true, false};
    take_from_others(cpu, e, line);
    private_[cpu.core].invalidate(line);
    shared_[cpu.shared].invalidate(line);
    e.cores = 0;
    e.shared = 0;
    e.owner = 0;
  }
  const service served{home == cpu.node ? source::local_dram : source::remote_dram, home,
                       dram_latency_[cpu.node][home]};
  count(cpu, served, home, by);
  if (!cpu.timed) return {at, at, false, true, false};
  const ticks start = std::max(controllers_[home]->reserve(issued), cross(cpu, home, cpu.node, issued, by));
  cpu.window.issue(start + served.latency);
  return {issued, start + served.latency, false, true, false};
}

/// A store to a line that others may read.
memory_system::outcome memory_system::upgrade(cpu_state& cpu, std::uint64_t virtual_line, std::uint64_t line,
                                              access_kind kind, who by, ticks at) {
  ticks done = 0;
  const bool ahead = kind == access_kind::store;
  if (home_of(line) == memory_map::unknown) return {at, at, true, false, false};
  at = in_order(cpu, directory_.at(line), by, at);
  const ticks issued = cpu.window.room(at);
  {
    line_entry& e = directory_.at(line);
    std::unique_lock guard(e.lock);
    if (!private_[cpu.core].find(line)) {  // taken away meanwhile
      guard.unlock();
      return miss(cpu, virtual_line, line, kind, by, at);
    }
    if (cpu.watched) cpu.moved = movement_of(cpu, e, line, kind);
    const ticks latency = take_from_others(cpu, e, line);
    if (latency != 0) e.changes_hands(issued);
    done = std::max(issued, e.ready) + latency;
    e.cores = bit(cpu.core);
    e.owner = static_cast<std::uint8_t>(cpu.core + 1);
    private_[cpu.core].insert(line, private_cache::permission::writable, true,
                              e.fought.load(std::memory_order_relaxed));
    if (latency != 0 && cpu.timed) e.ready = done;
  }
  cpu.counts.add(by, layout_.at(source::private_cache));
  cpu.counts.add(by, layout_.at(figure::upgrades));
  if (ahead) cpu.counts.add(by, layout_.at(figure::overlapped));
  if (cpu.timed) cpu.window.issue(done);
  return {issued, done, false, ahead, false};
}

/// A load takes a line from whoever wrote it, a store from all that hold it. What nobody wrote is only copied.
movement memory_system::movement_of(const cpu_state& cpu, const line_entry& e, std::uint64_t line,
                                    access_kind kind) const {
  std::uint64_t cores = e.cores & ~bit(cpu.core), caches = e.shared & ~bit(cpu.shared);
  if (kind == access_kind::load) {
    const bool owned = e.owner != 0 && e.owner != cpu.core + 1;
    if (owned && private_[e.owner - 1U].find(line).dirty()) {
      cores = bit(e.owner - 1U);
      caches = 0;
    } else if (e.dirty != 0 && e.dirty - 1U != cpu.shared) {
      cores = 0;
      caches = bit(e.dirty - 1U);
    } else if (e.dirty == 0) {
      return movement::none;
    }
  }
  if (cores == 0 && caches == 0) return movement::none;
  bool far = false;
  for_bits(cores, [&](unsigned core) { far |= node_of_shared_[shared_of_core_[core]] != cpu.node; });
  for_bits(caches, [&](unsigned cache) { far |= node_of_shared_[cache] != cpu.node; });
  return far ? movement::between_nodes : movement::between_caches;
}

/// [LM1] own last level or a neighbour's private cache; [LM2] who has newer data than memory; then the nearest.
memory_system::service memory_system::find_server(const cpu_state& cpu, line_entry& e, std::uint64_t line,
                                                  unsigned home) {
  const std::uint64_t neighbours = e.cores & cores_of_shared_[cpu.shared] & ~bit(cpu.core);
  if ((e.shared & bit(cpu.shared)) != 0) shared_[cpu.shared].touch(line);
  if ((e.shared & bit(cpu.shared)) != 0 || neighbours != 0) {
    const bool written =
        e.owner != 0 && (neighbours & bit(e.owner - 1U)) != 0 && private_[e.owner - 1U].find(line).dirty();
    return {source::local_cache, cpu.node, (written ? written_latency_ : shared_latency_)[cpu.shared]};
  }
  const auto cached_in = [&](unsigned node) {
    return service{node == cpu.node ? source::local_cache : source::remote_cache, node, cache_latency_[cpu.node][node]};
  };
  if (e.dirty != 0) return cached_in(node_of_shared_[e.dirty - 1U]);
  if (e.owner != 0 && e.owner != cpu.core + 1) {
    const private_cache::found f = private_[e.owner - 1U].find(line);
    if (f && f.dirty()) return cached_in(node_of_shared_[shared_of_core_[e.owner - 1U]]);
  }
  service best{home == cpu.node ? source::local_dram : source::remote_dram, home, dram_latency_[cpu.node][home]};
  const auto consider = [&](unsigned shared) {
    const service s = cached_in(node_of_shared_[shared]);
    if (s.latency < best.latency) best = s;
  };
  for_bits(e.shared, consider);
  for_bits(e.cores & ~bit(cpu.core), [&](unsigned core) { consider(shared_of_core_[core]); });
  return best;
}

/// Takes a line out of all other caches. Returns how long the slowest takes to answer; 0 if nobody had it.
ticks memory_system::take_from_others(cpu_state& cpu, line_entry& e, std::uint64_t line) {
  ticks slowest = 0;
  const auto answer = [&](unsigned shared) {
    const ticks latency =
        shared == cpu.shared ? shared_latency_[shared] : cache_latency_[cpu.node][node_of_shared_[shared]];
    slowest = std::max(slowest, latency);
  };
  for_bits(e.cores & ~bit(cpu.core), [&](unsigned core) {
    private_[core].invalidate(line);
    answer(shared_of_core_[core]);
  });
  for_bits(e.shared & ~bit(cpu.shared), [&](unsigned shared) {
    shared_[shared].invalidate(line);
    answer(shared);
  });
  e.cores = 0;
  e.shared &= static_cast<std::uint32_t>(bit(cpu.shared));
  e.dirty = 0;
  return slowest;
}

/// The owner may no longer write; what it wrote stays in its last level until that lets it go. Returns what had to
/// leave there.
private_cache::victim memory_system::share_owner(line_entry& e, std::uint64_t line) {
  const unsigned core = e.owner - 1U, shared = shared_of_core_[core];
  e.owner = 0;
  if (!private_[core].share(line)) return {};
  e.shared |= static_cast<std::uint32_t>(bit(shared));
  e.dirty = static_cast<std::uint8_t>(shared + 1);
  return shared_[shared].insert(line, true);
}

/// Takes the room that a line needs on its way: the controller's, the pair's, the links'. Returns when it is there.
/// [LM4]
ticks memory_system::transfer(cpu_state& cpu, const service& s, unsigned home, ticks at, bool overlapped, who by) {
  if (!cpu.timed) return at + s.latency;
  const ticks later = added_by_load(s.latency, load_on_way(cpu, s, home, at, overlapped));
  ticks start = at;
  if (s.from == source::local_dram || s.from == source::remote_dram) {
    start = controllers_[home]->reserve(at);
    if (const auto& pair = pairs_[cpu.node * layout_.nodes() + home]) start = std::max(start, pair->reserve(at));
  }
  return std::max(start, cross(cpu, cpu.node, s.node, at, by)) + s.latency + later;
}

/// The load of what is busiest on a line's way. [LM13]
double memory_system::load_on_way(const cpu_state& cpu, const service& s, unsigned home, ticks at,
                                  bool overlapped) const {
  double most = 0;
  const auto meets = [&](const capacity& part) {
    // A chain has one line under way and never queues behind itself: what it can ask for at most is not others' load.
    const double own =
        overlapped || s.latency == 0 ? 0 : static_cast<double>(part.a_line()) / static_cast<double>(s.latency);
    most = std::max(most, part.load(at) - own);
  };
  if (s.from == source::local_dram || s.from == source::remote_dram) {
    meets(*controllers_[home]);
    if (const auto& pair = pairs_[cpu.node * layout_.nodes() + home]) meets(*pair);
  }
  for (const unsigned link : routes_[cpu.node][s.node]) meets(links_[link]);
  return most;
}

/// Data comes from `from` to `to` over the links by which `to` asked for it.
ticks memory_system::cross(cpu_state& cpu, unsigned to, unsigned from, ticks at, who by) {
  ticks start = at;
  for (const unsigned link : routes_[to][from]) {
    start = std::max(start, links_[link].reserve(at));
    cpu.counts.add(by, layout_.link_lines(link));
  }
  return start;
}

void memory_system::count(cpu_state& cpu, const service& s, unsigned home, who by) {
  cpu.counts.add(by, layout_.at(s.from));
  switch (s.from) {
    case source::local_cache:
      return cpu.counts.add(by, layout_.local_cache(home));
    case source::remote_cache:
      return cpu.counts.add(by, layout_.cache(s.node));
    default:
      return cpu.counts.add(by, layout_.dram(home));
  }
}

/// A line had to leave a private cache: if it was written, the last level takes it.
void memory_system::core_lets_go(cpu_state& cpu, const private_cache::victim& out, who by) {
  private_cache::victim next;
  {
    line_entry& e = directory_.at(out.line);
    const std::lock_guard guard(e.lock);
    if (private_[cpu.core].find(out.line)) return;  // the core's other CPU has fetched it again
    e.cores &= ~bit(cpu.core);
    if (e.owner != cpu.core + 1) return;  // others have it or have taken it
    e.owner = 0;
    if (!out.dirty) return;
    next = shared_[cpu.shared].insert(out.line, true);
    e.shared |= static_cast<std::uint32_t>(bit(cpu.shared));
    e.dirty = static_cast<std::uint8_t>(cpu.shared + 1);
  }
  if (next.present) shared_lets_go(cpu, cpu.shared, next, by);
}

/// A line had to leave a last-level cache: if it is newer than memory's, it goes home.
void memory_system::shared_lets_go(cpu_state& cpu, unsigned cache, const private_cache::victim& out, who by) {
  {
    line_entry& e = directory_.at(out.line);
    const std::lock_guard guard(e.lock);
    const bool newer = out.dirty && e.dirty == cache + 1;
    if (shared_[cache].has(out.line, newer)) return;  // another core has put it there again
    e.shared &= ~static_cast<std::uint32_t>(bit(cache));
    if (!newer) return;
    e.dirty = 0;
  }
  const unsigned home = home_of(out.line);
  cpu.counts.add(by, layout_.at(figure::write_backs));
  if (!cpu.timed) return;
  controllers_[home]->reserve(cpu.now());
  cross(cpu, home, node_of_shared_[cache], cpu.now(), by);
}

bool memory_system::knows_holders(std::uint64_t line) {
  line_entry& e = directory_.at(line);
  const std::lock_guard guard(e.lock);
  for (unsigned cache = 0; cache != node_of_shared_.size(); ++cache) {
    if (shared_[cache].has(line, false) != ((e.shared & bit(cache)) != 0)) return false;
  }
  for (unsigned core = 0; core != shared_of_core_.size(); ++core) {
    if (private_[core].find(line) && (e.cores & bit(core)) == 0) return false;
  }
  return true;
}

}  // namespace homing::lab::model
