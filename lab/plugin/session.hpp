/// A run of the lab: calibration first, then the model, with the program's marks.
///
/// Threads: run(), mark() and idle() by each CPU's own thread, write() by any; model() is null until the calibration is
///          through.
/// Errors:  construction throws machine_error; later ones are kept in error().
/// Source:  docs/design/0006-the-lab.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "clock_file.hpp"
#include "cpu.hpp"
#include "hot_watch.hpp"
#include "machine.hpp"
#include "memory_map.hpp"
#include "memory_system.hpp"
#include "output.hpp"
#include "pacer.hpp"
#include "precision.hpp"
#include "regions.hpp"
#include "stable_vector.hpp"

namespace homing::lab::model {

/// Where the kernel was entered from the program without a system call, while the calibration touches new pages: mostly
/// by page faults, which is how their entry's address becomes known.
/// Threads: note() by any, most_frequent() by one.
class kernel_entries {
 public:
  void note(std::uint64_t address) {
    const std::lock_guard guard(lock_);
    ++times_[address];
  }
  [[nodiscard]] std::uint64_t most_frequent() const;

 private:
  mutable std::mutex lock_;
  std::map<std::uint64_t, std::uint64_t> times_;
};

class session {
 public:
  enum class entry : std::uint8_t { system_call, other };

  session(machine m, std::filesystem::path out, pacer::sleeper sleep, std::unique_ptr<clock_file> clock = nullptr,
          precision exactness = {}, pacer::seen_running runs = pacer::not_seen);
  /// "machine=FILE", "out=FILE", and perhaps "clock=FILE", "hot=FILE" and "quantum=CYCLES".
  static std::unique_ptr<session> from_arguments(const std::vector<std::string>& arguments, pacer::sleeper sleep,
                                                 pacer::seen_running runs = pacer::not_seen);

  [[nodiscard]] const machine& of() const { return machine_; }
  [[nodiscard]] const memory_map& map() const { return map_; }
  [[nodiscard]] cpu_state& cpu(unsigned i) { return cpus_[i]; }
  /// Acquire, with mark(): who sees the model sees what it was made of.
  [[nodiscard]] memory_system* model() const noexcept { return running_.load(std::memory_order_acquire); }

  /// `instructions` are about to be run.
  void run(unsigned cpu, std::uint64_t instructions, who by) noexcept;
  /// A block of code is about to be run: its instructions enter the scoreboard as its accesses come.
  void run(unsigned cpu, const code_block& block, who by) noexcept;
  /// An instruction of that block touches memory; of another, where QEMU runs an access to a device by itself. Returns
  /// how long its line took: 0 for a hit, and where no time passes.
  ticks access(unsigned cpu, const code_place& at, std::uint64_t virtual_line, std::uint64_t line, access_kind kind,
               who by);
  /// The instructions before this one have run.
  void reach(unsigned cpu, const code_place& at) noexcept;
  /// All that the CPU was said to run has entered its scoreboard.
  void finish(unsigned cpu) noexcept { finish(cpus_[cpu]); }
  /// A CPU goes from the program into the kernel, whose first block is `block`.
  void enter_kernel(unsigned cpu, entry how, const code_block& block) noexcept {
    if (how == entry::other) block.enter();
    enter_kernel(cpu, how, block.address());
  }
  /// The same by its first instruction.
  void enter_kernel(unsigned cpu, entry how, std::uint64_t address) noexcept;
  /// A CPU goes back to a program, perhaps another one.
  void leave_kernel(unsigned cpu) noexcept {
    finish(cpus_[cpu]);
    cpus_[cpu].set_timed(true);
  }
  /// Nothing to do. Until it runs a program again its kernel takes no time: what comes are interrupts. [LM9]
  void idle(unsigned cpu) noexcept {
    finish(cpus_[cpu]);
    cpus_[cpu].set_timed(false);
    clocks_.rest(cpus_[cpu]);
  }
  /// A CPU has sent interrupts, to idle ones perhaps.
  void call_idle(unsigned cpu) noexcept {
    if (model() == nullptr) return;
    for (unsigned other = 0; other != machine_.cpus(); ++other) {
      if (other != cpu) clocks_.call(other, cpus_[cpu]);
    }
  }
  /// A mark of <homing/lab.h>: the operation, and the address that it loaded.
  void mark(unsigned cpu, unsigned operation, std::uint64_t address, std::uint64_t physical);

  /// From now on, hot lines and code are watched for.
  void watch_for(std::filesystem::path file);
  /// None unless somebody asked.
  [[nodiscard]] hot_watch* watch() const { return watch_.get(); }

  [[nodiscard]] bool failed() const { return failed_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::string error() const;
  /// Writes counts.json. Returns what went wrong as a line; empty if all is well.
  std::string write() const;  // NOLINT(modernize-use-nodiscard): the next one, or finish(), meets it again
  /// The same at the end, with what was watched; what is lost is told on stderr.
  void finish() const;

 private:
  void begin(cpu_state& cpu, std::uint64_t instructions, who by) noexcept;
  static void finish(cpu_state& cpu) noexcept;
  void time_kernel(cpu_state& cpu, const code_block& block) noexcept;
  void settle(cpu_state& cpu, who by, ticks before) noexcept;
  void tell_time(cpu_state& cpu, std::uint64_t address) noexcept;
  void learn(unsigned operation, std::uint64_t physical, unsigned linux_node);
  void calibrated();
  void write_if_due();  // at most once a second of the host's
  void fail(std::string why);

  machine machine_;
  precision precision_;
  std::filesystem::path out_;
  std::unique_ptr<clock_file> clock_;  // none: the program reads the guest's clock, which is the host's
  ticks ticks_per_instruction_;
  memory_map map_;
  std::unique_ptr<memory_system> model_;
  stable_vector<cpu_state> cpus_;
  pacer clocks_;
  regions regions_;
  letters letters_;
  std::unique_ptr<hot_watch> watch_;
  mutable std::mutex lock_;  // of calibration_, map_ until it is settled, and the file
  calibration calibration_;
  std::atomic<std::int64_t> written_at_{0};  // in seconds
  std::atomic<memory_system*> running_{nullptr};
  std::atomic<bool> failed_{false};
  kernel_entries entries_;
  std::atomic<std::uint64_t> page_fault_{0};
};

}  // namespace homing::lab::model
