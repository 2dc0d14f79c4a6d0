/// The caches, the memory controllers and the links of a machine: who serves an access, and when it is done.
///
/// Threads: access() by each CPU's own thread, all at once.
/// Errors:  construction throws machine_error, of what does not fit; none later.
/// Source:  docs/protocols/lab_model.md, which has the rules as [LM1] to [LM13].
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "capacity.hpp"
#include "cpu.hpp"
#include "directory.hpp"
#include "machine.hpp"
#include "memory_map.hpp"
#include "pacer.hpp"
#include "private_cache.hpp"
#include "shared_cache.hpp"
#include "stable_vector.hpp"

namespace homing::lab::model {

enum class access_kind : std::uint8_t { load, store, atomic, store_around };

class memory_system {
 public:
  /// Keeps references to both, which must live as long and no longer change.
  memory_system(const machine& m, const memory_map& map);

  /// When an access was through. `issued`: when it found a miss slot. `ahead`: nobody waits for it, as it was fetched
  /// ahead or is a store. `waits`: all of the core does, for it saw what another CPU has only just written [LM6].
  struct outcome {
    ticks issued = 0, done = 0;
    bool hit = false, ahead = false, waits = false;
  };
  /// Where an access of `cpu` to `line`, which comes at once, will find it. If that is a miss, the host fetches what
  /// the model has of the line meanwhile.
  [[nodiscard]] private_cache::found look(cpu_state& cpu, std::uint64_t line) const noexcept {
    std::atomic<std::uint64_t>* const before = cpu.slots.find(line);
    const private_cache::found f = private_[cpu.core].find(line, before);
    if (!f) {
      directory_.prefetch(line);
      shared_[cpu.shared].prefetch(line);
    } else if (f.at != before) {
      cpu.slots.note(line, f.at);
    }
    return f;
  }
  /// An access of `cpu` to physical line `line`, at `at`; `virtual_line` is where the program sees it, `f` what look()
  /// said. (If another CPU has just taken the line away, it may be hit once more, as ever.)
  outcome serve(cpu_state& cpu, std::uint64_t virtual_line, std::uint64_t line, access_kind kind, who by, ticks at,
                private_cache::found f);
  /// The same now, by a core that has no scoreboard: it waits unless the access is `ahead`.
  void access(cpu_state& cpu, std::uint64_t virtual_line, std::uint64_t line, access_kind kind, who by);
  /// How long a hit in the private cache takes.
  [[nodiscard]] ticks private_latency() const { return private_latency_; }
  /// Who keeps the clocks together; without one, lines that are fought over are served as they come.
  void paced_by(pacer& clocks) { clocks_ = &clocks; }

  /// Whether the directory has the caches right that hold a line: for tests, while nobody accesses anything.
  [[nodiscard]] bool knows_holders(std::uint64_t line);

  [[nodiscard]] const count_layout& layout() const { return layout_; }
  [[nodiscard]] const time_scale& scale() const { return scale_; }

 private:
  /// Who serves, from which node, and how long it takes without any queue.
  struct service {
    source from = source::local_dram;
    unsigned node = 0;
    ticks latency = 0;
  };

  outcome miss(cpu_state& cpu, std::uint64_t virtual_line, std::uint64_t line, access_kind kind, who by, ticks at);
  outcome upgrade(cpu_state& cpu, std::uint64_t virtual_line, std::uint64_t line, access_kind kind, who by, ticks at);
  outcome around(cpu_state& cpu, std::uint64_t line, who by, ticks at);
  ticks in_order(cpu_state& cpu, const line_entry& e, who by, ticks at);
  [[nodiscard]] movement movement_of(const cpu_state& cpu, const line_entry& e, std::uint64_t line,
                                     access_kind kind) const;
  service find_server(const cpu_state& cpu, line_entry& e, std::uint64_t line, unsigned home);
  ticks take_from_others(cpu_state& cpu, line_entry& e, std::uint64_t line);
  private_cache::victim share_owner(line_entry& e, std::uint64_t line);
  ticks transfer(cpu_state& cpu, const service& s, unsigned home, ticks at, bool overlapped, who by);
  [[nodiscard]] double load_on_way(const cpu_state& cpu, const service& s, unsigned home, ticks at,
                                   bool overlapped) const;
  ticks cross(cpu_state& cpu, unsigned to, unsigned from, ticks at, who by);
  void count(cpu_state& cpu, const service& s, unsigned home, who by);
  void core_lets_go(cpu_state& cpu, const private_cache::victim& out, who by);
  void shared_lets_go(cpu_state& cpu, unsigned cache, const private_cache::victim& out, who by);
  [[nodiscard]] unsigned home_of(std::uint64_t line) const { return map_.node_of(line * line_bytes); }

  const memory_map& map_;
  time_scale scale_;
  count_layout layout_;
  std::vector<std::vector<std::vector<unsigned>>> routes_;
  std::vector<unsigned> shared_of_core_, node_of_shared_;
  std::vector<std::uint64_t> cores_of_shared_;
  std::vector<ticks> shared_latency_, written_latency_;
  std::vector<std::vector<ticks>> dram_latency_, cache_latency_;
  stable_vector<private_cache> private_;
  stable_vector<shared_cache> shared_;
  std::vector<std::unique_ptr<capacity>> controllers_;  // by node; none without memory
  std::vector<std::unique_ptr<capacity>> pairs_;        // by node of the CPU and of the memory; where published
  stable_vector<capacity> links_;
  directory directory_;
  ticks private_latency_;
  pacer* clocks_ = nullptr;
};

}  // namespace homing::lab::model
