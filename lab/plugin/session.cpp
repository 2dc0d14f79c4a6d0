#include "session.hpp"

#include <homing/lab.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <ctime>

namespace homing::lab::model {
namespace {

/// The cycles of "quantum=CYCLES".
std::uint64_t read_quantum(const std::string& argument) {
  const char* const first = argument.data() + argument.find('=') + 1;
  const char* const end = argument.data() + argument.size();
  std::uint64_t cycles = 0;
  const auto [stopped, error] = std::from_chars(first, end, cycles);
  if (error != std::errc{} || stopped != end || cycles < precision::least_cycles || cycles > precision::most_cycles) {
    throw machine_error(argument + ": expected cycles from " + std::to_string(precision::least_cycles) + " to " +
                        std::to_string(precision::most_cycles));
  }
  return cycles;
}

}  // namespace

std::uint64_t kernel_entries::most_frequent() const {
  const std::lock_guard guard(lock_);
  const auto most =
      std::max_element(times_.begin(), times_.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == times_.end() ? 0 : most->first;
}

session::session(machine m, std::filesystem::path out, pacer::sleeper sleep, std::unique_ptr<clock_file> clock,
                 precision exactness, pacer::seen_running runs)
    : machine_(std::move(m)),
      precision_(exactness),
      out_(std::move(out)),
      clock_(std::move(clock)),
      ticks_per_instruction_(static_cast<ticks>(std::llround(machine_.cpi * ticks_per_cycle))),
      map_(machine_),
      model_(std::make_unique<memory_system>(machine_, map_)),
      clocks_(cpus_, exactness, model_->scale().from_ns(machine_.core.wake_ns), sleep, runs),
      regions_(cpus_, clocks_) {
  for (unsigned cpu = 0; cpu != machine_.cpus(); ++cpu) {
    cpus_.emplace_back(machine_.cpu_core[cpu], machine_.cpu_l3[cpu], machine_.cpu_node[cpu], machine_.overlap,
                       model_->layout(), machine_.core, machine_.cpi);
  }
  model_->paced_by(clocks_);
}

std::unique_ptr<session> session::from_arguments(const std::vector<std::string>& arguments, pacer::sleeper sleep,
                                                 pacer::seen_running runs) {
  std::filesystem::path machine_file, out, clock, hot;
  precision exactness;
  for (const std::string& argument : arguments) {
    if (argument.starts_with("machine=")) {
      machine_file = argument.substr(8);
    } else if (argument.starts_with("out=")) {
      out = argument.substr(4);
    } else if (argument.starts_with("clock=")) {
      clock = argument.substr(6);
    } else if (argument.starts_with("hot=")) {
      hot = argument.substr(4);
    } else if (argument.starts_with("quantum=")) {
      exactness.quantum_cycles = read_quantum(argument);
    } else {
      throw machine_error(argument + ": expected machine=FILE, out=FILE, clock=FILE, hot=FILE or quantum=CYCLES");
    }
  }
  if (machine_file.empty()) throw machine_error("expected machine=FILE, found no such argument");
  if (out.empty()) throw machine_error("expected out=FILE, found no such argument");
  auto made = std::make_unique<session>(read_machine(machine_file), out, sleep,
                                        clock.empty() ? nullptr : std::make_unique<clock_file>(clock), exactness, runs);
  if (!hot.empty()) made->watch_for(hot);
  return made;
}

void session::watch_for(std::filesystem::path file) {
  watch_ = std::make_unique<hot_watch>(std::move(file), machine_.cpus());
  for (cpu_state& cpu : cpus_) cpu.watched = true;
}

void session::run(unsigned i, std::uint64_t instructions, who by) noexcept {
  if (model() == nullptr) return;
  cpu_state& cpu = cpus_[i];
  finish(cpu);
  begin(cpu, instructions, by);
  const ticks before = cpu.now();
  cpu.advance_to(before + instructions * ticks_per_instruction_);
  settle(cpu, by, before);
}

void session::run(unsigned i, const code_block& block, who by) noexcept {
  if (model() == nullptr) return;
  cpu_state& cpu = cpus_[i];
  finish(cpu);
  if (by == who::kernel) time_kernel(cpu, block);
  begin(cpu, block.instructions(), by);
  cpu.block = &block;
  cpu.begun = 0;
  settle(cpu, by, cpu.now());
}

/// Whether a block of the kernel's takes time: not if it is an interrupt's [LM9], nor if it waits for a slower CPU
/// [LM14].
void session::time_kernel(cpu_state& cpu, const code_block& block) noexcept {
  const bool nested = cpu.nested.on();
  if (!cpu.timed && !cpu.held && !nested) return;  // it came from the program, or while the CPU was idle
  if (cpu.nested.note(block, page_fault_.load(std::memory_order_relaxed))) return cpu.interrupt();
  if (nested) cpu.resume();
  cpu.hold(cpu.spin.note(block) && clocks_.leads(cpu));
}

void session::begin(cpu_state& cpu, std::uint64_t instructions, who by) noexcept {
  if (by == who::program && !cpu.running.load(std::memory_order_relaxed)) clocks_.wake(cpu);
  if (!cpu.timed) cpu.run_untimed(instructions);
  cpu.counts.add(by, model_->layout().at(figure::instructions), instructions);
}

/// What is left of the block enters the scoreboard; a block that was left in the middle counts as a whole.
void session::finish(cpu_state& cpu) noexcept {
  if (cpu.block == nullptr) return;
  if (cpu.timed && cpu.begun < cpu.block->instructions()) {
    const code_place* const first = cpu.block->places();
    cpu.advance_to(cpu.board.run(first + cpu.begun, first + cpu.block->instructions(), cpu.now()));
  }
  cpu.block = nullptr;
}

void session::settle(cpu_state& cpu, who by, ticks before) noexcept {
  clocks_.progress(cpu);
  if (by == who::kernel) return;  // who waits here may hold a lock that a slower CPU needs, or owe it an answer
  cpu.program.store(cpu.now(), std::memory_order_relaxed);
  if (before >= cpu.next_check) clocks_.check(cpu);
}

void session::reach(unsigned i, const code_place& at) noexcept {
  cpu_state& cpu = cpus_[i];
  const code_block* const block = &at.block();
  if (cpu.block != block) {
    finish(cpu);
    cpu.block = block;
    cpu.begun = at.index;
  }
  if (!cpu.timed || at.index <= cpu.begun) return;
  cpu.advance_to(cpu.board.run(block->places() + cpu.begun, &at, cpu.now()));
  cpu.begun = at.index;
}

/// [LM10] The access begins when its address is known; what is made of its data waits for it, and nothing else does.
ticks session::access(unsigned i, const code_place& at, std::uint64_t virtual_line, std::uint64_t line,
                      access_kind kind, who by) {
  memory_system& memory = *model();
  cpu_state& cpu = cpus_[i];
  if (!cpu.timed) {
    memory.access(cpu, virtual_line, line, kind, by);
    return 0;
  }
  const private_cache::found f = memory.look(cpu, line);
  reach(i, at);
  const bool again = cpu.begun > at.index;
  pipeline& board = cpu.board;
  if (!again) cpu.advance_to(board.enter(cpu.now()));
  cpu.begun = std::max<std::size_t>(cpu.begun, at.index + 1);
  const bool near = cpu.nearest.use(line);
  if (kind == access_kind::load) {
    const ticks from = board.address_ready(at, cpu.now());
    const auto o = memory.serve(cpu, virtual_line, line, kind, by, from, f);
    if (o.ahead) cpu.advance_to(o.issued);
    ticks data = o.done;
    if (o.hit || o.ahead) {
      data = cpu.coming.there(line, o.issued + (o.hit && near ? board.near_hit() : memory.private_latency()));
    }
    if (o.waits) cpu.advance_to(data);
    board.loaded(at, data, again);
    return o.done - from;
  }
  if (kind == access_kind::atomic && !again) {
    const ticks from = board.quiet(at, cpu.now());
    const auto o = memory.serve(cpu, virtual_line, line, kind, by, from, f);
    cpu.advance_to(board.locked(at, o.done));
    return o.done - from;
  }
  if (kind == access_kind::atomic) kind = access_kind::store;  // the second half of one
  if (at.kind == op_kind::non_temporal) kind = access_kind::store_around;
  const ticks from = board.store_ready(at, cpu.now(), again);
  const auto o = memory.serve(cpu, virtual_line, line, kind, by, from, f);
  board.stored(at, o.issued, kind == access_kind::store_around ? o.issued : o.done, again);
  return o.done - from;
}

void session::enter_kernel(unsigned i, entry how, std::uint64_t address) noexcept {
  // Relaxed: an address that is learnt late costs a few timer interrupts' time.
  if (how == entry::other && model() == nullptr) entries_.note(address);
  finish(cpus_[i]);
  cpus_[i].set_timed(how == entry::system_call || address == page_fault_.load(std::memory_order_relaxed));
}

void session::mark(unsigned cpu, unsigned operation, std::uint64_t address, std::uint64_t physical) {
  const std::uint64_t sender = address & ~std::uint64_t{0xff};
  const unsigned byte = address & 0xff;
  switch (operation) {
    case HOMING_LAB_LETTER:
      return letters_.add(sender, static_cast<char>(byte));
    case HOMING_LAB_OPEN:
    case HOMING_LAB_CLOSE: {
      const std::string label = letters_.take(sender);
      if (model() == nullptr) return;
      cpus_[cpu].advance_to(cpus_[cpu].drained());
      cpus_[cpu].program.store(cpus_[cpu].now(), std::memory_order_relaxed);  // as in settle(): the region's end
      if (operation == HOMING_LAB_OPEN) {
        regions_.open(label);
        clocks_.check(cpus_[cpu]);
      } else if (regions_.close(label)) {
        write_if_due();
      }
      return;
    }
    case HOMING_LAB_LEARN_PAGE:
    case HOMING_LAB_CHECK_PAGE:
      return learn(operation, physical, byte);
    case HOMING_LAB_CALIBRATED:
      return calibrated();
    case HOMING_LAB_NOTE: {
      std::string note = letters_.take_note(sender);
      if (watch_ != nullptr) watch_->add_note(std::move(note));
      return;
    }
    case HOMING_LAB_CLOCK:
      return tell_time(cpus_[cpu], address);
    default:
      return;
  }
}

/// [LT3] What the CPU has begun is over by then: a clock that is read after a load or a store includes it.
void session::tell_time(cpu_state& cpu, std::uint64_t address) noexcept {
  if (clock_ == nullptr || model() == nullptr) return;
  cpu.advance_to(cpu.drained());
  clock_->tell(address, static_cast<std::uint64_t>(model_->scale().to_ns(cpu.now())));
}

void session::learn(unsigned operation, std::uint64_t physical, unsigned linux_node) {
  const std::lock_guard guard(lock_);
  if (calibration_.done || failed()) return;
  if (operation == HOMING_LAB_LEARN_PAGE) {
    ++calibration_.pages_learnt;
    return map_.learn(physical, linux_node);
  }
  if (!map_.settled()) {
    if (const std::string problem = map_.settle(); !problem.empty()) return fail(problem);
  }
  ++calibration_.pages_checked;
  if (!map_.agrees(physical, linux_node)) {
    fail("a page that Linux bound to its node " + std::to_string(linux_node) +
         " is not where that node's other pages are");
  }
}

void session::calibrated() {
  {
    const std::lock_guard guard(lock_);
    if (calibration_.done || failed()) return;
    if (calibration_.pages_checked == 0)
      return fail("no page was checked; homing-lab-calibrate has not run to its end");
    calibration_.done = true;
    page_fault_.store(entries_.most_frequent(), std::memory_order_relaxed);
  }
  regions_.open_whole();
  running_.store(model_.get(), std::memory_order_release);
  if (clock_ != nullptr) clock_->start(static_cast<std::uint64_t>(std::time(nullptr)));
}

void session::fail(std::string why) {
  calibration_.error = std::move(why);
  failed_.store(true, std::memory_order_relaxed);
}

std::string session::error() const {
  const std::lock_guard guard(lock_);
  return calibration_.error;
}

void session::write_if_due() {
  const std::int64_t now = std::time(nullptr);
  std::int64_t before = written_at_.load(std::memory_order_relaxed);
  // Relaxed: who wins writes; nothing else hangs on it.
  if (now != before && written_at_.compare_exchange_strong(before, now, std::memory_order_relaxed)) (void)write();
}

void session::finish() const {
  const auto tell = [](const char* what, const std::string& problem) {
    if (!problem.empty()) std::fprintf(stderr, "homing lab: the %s of this run are lost: %s\n", what, problem.c_str());
  };
  tell("counts", write());
  if (watch_ == nullptr || model() == nullptr) return;
  tell("hot lines", write_counts(watch_->file(), watch_->document(machine_, model()->scale())));
}

std::string session::write() const {
  const std::lock_guard guard(lock_);
  return write_counts(
      out_, counts_document(machine_, precision_, calibration_, map_, model(), regions_.totals(), regions_.left_out()));
}

}  // namespace homing::lab::model
