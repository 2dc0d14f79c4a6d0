// The QEMU plugin: hands every load and store of the virtual machine to the model, with its physical address.
//
// Arguments: machine=FILE (machine.json), out=FILE (counts.json), perhaps clock=FILE, hot=FILE (hot.json) and
//            quantum=CYCLES. Exit status 97 if the calibration failed.
// Threads:   callbacks run on a thread a virtual CPU; what is a CPU's own is in `cpu_context`, the rest says for
//            itself.
// Source:    docs/design/0006-the-lab.md.
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <memory>

#include "crash.hpp"
#include "decode.hpp"
#include "host_thread.hpp"
#include "instruction_set.hpp"
#include "qemu_api.hpp"
#include "session.hpp"

extern "C" {
[[gnu::visibility("default")]] extern const int qemu_plugin_version = 1;
[[gnu::visibility("default")]] int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t* info, int argc,
                                                       char** argv);
}

namespace homing::lab::model {
namespace {

constexpr unsigned page_bits = 12, line_bits = 6;

/// The physical pages of recent virtual ones. Valid until the CPU enters the kernel, for only that changes mappings;
/// in the kernel itself, as long as one block of code is repeated.
class recent_pages {
 public:
  [[nodiscard]] const std::uint64_t* find(std::uint64_t page) const noexcept {
    const entry& e = entries_[page % entries_max];
    return e.page == page && e.age == age_ ? &e.physical : nullptr;
  }
  void insert(std::uint64_t page, std::uint64_t physical) noexcept {
    entries_[page % entries_max] = {page, physical, age_};
  }
  void forget() noexcept { ++age_; }

 private:
  static constexpr std::size_t entries_max = 256;
  struct entry {
    std::uint64_t page = ~std::uint64_t{0}, physical = 0, age = 0;
  };
  entry entries_[entries_max];
  std::uint64_t age_ = 1;
};

struct alignas(64) cpu_context {
  recent_pages pages;
  const code_block* last_block = nullptr;
  bool in_kernel = true;
  host_thread thread;
};

// Never destroyed: QEMU calls at_exit() after the destructors of its plugins, and its CPUs run on until then.
session* the_session = nullptr;
cpu_context* contexts = nullptr;
code_store* blocks = nullptr;
qemu_plugin_id_t plugin_id = 0;
std::atomic<bool> watching{false};

void sleep_on(bell& b, std::uint32_t rings) { b.wait(rings); }
bool host_runs(unsigned vcpu) { return contexts[vcpu].thread.runs(); }

/// The physical address of an access; false if it is a device's.
bool physical_address(qemu_plugin_meminfo_t info, std::uint64_t address, std::uint64_t& physical) {
  const qemu_plugin_hwaddr* const hw = qemu_plugin_get_hwaddr(info, address);
  if (hw == nullptr || qemu_plugin_hwaddr_is_io(hw)) return false;
  physical = qemu_plugin_hwaddr_phys_addr(hw);
  return true;
}

constexpr std::uint64_t last_mapped = ~std::uint64_t{0} << 24;  // from here on a kernel maps devices

/// [LM8] The store is done: whom it has woken, the host runs.
void note_interrupts(unsigned vcpu, qemu_plugin_meminfo_t info, std::uint64_t address) {
  if (!qemu_plugin_mem_is_store(info) || !guest_instructions().sends_interrupt(address)) return;
  the_session->call_idle(vcpu);
}

/// Of the kernel's half of the address space: of its code, or of what its code uses.
bool is_kernels(std::uint64_t address) { return (address >> 63) != 0; }

/// No access of the program's, though QEMU calls it one: it reads the kernel's tables to deliver an interrupt, and
/// names the instruction that came before. It holds its lock then, which the CPU that this one would wait for may need:
/// such waits ended by their bound only, at each interrupt. [LM7]
bool delivers_interrupt(who by, std::uint64_t address) {
  return by == who::program && is_kernels(address) && guest_instructions().interrupts_read_tables;
}

template <who By, bool Locked, bool Watched>
void on_access(unsigned vcpu, qemu_plugin_meminfo_t info, std::uint64_t address, void* data) {
  if (the_session->model() == nullptr || delivers_interrupt(By, address)) return;
  if (By == who::kernel && address >= last_mapped) [[unlikely]]
    note_interrupts(vcpu, info, address);
  if (By == who::kernel && !the_session->cpu(vcpu).timed) return;  // [LM9]
  std::uint64_t physical = 0;
  const std::uint64_t page = address >> page_bits, offset = address & ((1U << page_bits) - 1);
  recent_pages& recent = contexts[vcpu].pages;
  if (const std::uint64_t* const known = recent.find(page)) {
    physical = *known | offset;
  } else {
    if (!physical_address(info, address, physical)) return;
    if (physical >= the_session->map().addresses_end()) return;
    recent.insert(page, physical & ~std::uint64_t{(1U << page_bits) - 1});
  }
  const access_kind kind = Locked                           ? access_kind::atomic
                           : qemu_plugin_mem_is_store(info) ? access_kind::store
                                                            : access_kind::load;
  const code_place& at = *static_cast<const code_place*>(data);
  cpu_state& cpu = the_session->cpu(vcpu);
  if (Watched) cpu.moved = movement::none;
  const ticks waited = the_session->access(vcpu, at, address >> line_bits, physical >> line_bits, kind, By);
  if (Watched) {
    the_session->watch()->lines.note(vcpu, {.instruction = at.address(),
                                            .address = address,
                                            .physical_line = physical >> line_bits,
                                            .bytes = 1U << qemu_plugin_mem_size_shift(info),
                                            .kind = kind,
                                            .moved = cpu.moved,
                                            .waited = waited});
  }
}

template <who By>
void on_block(unsigned vcpu, void* data) {
  cpu_context& context = contexts[vcpu];
  const code_block& block = *static_cast<const code_block*>(data);
  block.prefetch();
  if (By == who::kernel) {
    if (!context.in_kernel) {
      const bool call = context.last_block != nullptr && context.last_block->ends_in_call();
      the_session->enter_kernel(vcpu, call ? session::entry::system_call : session::entry::other, block);
    }
    if (&block != context.last_block) context.pages.forget();
    context.in_kernel = true;
  } else if (context.in_kernel) {
    context.in_kernel = false;
    context.pages.forget();
    the_session->leave_kernel(vcpu);
  }
  context.last_block = &block;
  the_session->run(vcpu, block, By);
  if (By == who::kernel && the_session->cpu(vcpu).held) sched_yield();  // the host is to run who is waited for
}

struct watched_block {
  hot_code::block_cells* cells;
  std::uint64_t instructions;
};

/// Before on_block(), so that the clock says when the last block was through.
void on_watched_block(unsigned vcpu, void* data) {
  const auto* const block = static_cast<const watched_block*>(data);
  if (the_session->model() == nullptr) return;
  the_session->finish(vcpu);
  the_session->watch()->code.begin(vcpu, the_session->cpu(vcpu), block->cells, block->instructions);
}

template <who By>
qemu_plugin_vcpu_mem_cb_t access_callback(bool locked, bool watched) {
  if (watched) return locked ? on_access<By, true, true> : on_access<By, false, true>;
  return locked ? on_access<By, true, false> : on_access<By, false, false>;
}

void on_mark(unsigned vcpu, qemu_plugin_meminfo_t info, std::uint64_t address, void* data) {
  std::uint64_t physical = 0;
  if (delivers_interrupt(who::program, address)) return;
  if (!physical_address(info, address, physical)) return;
  const code_place& at = *static_cast<const code_place*>(data);
  if (the_session->model() != nullptr) the_session->reach(vcpu, at);
  the_session->mark(vcpu, at.mark, address, physical);
  if (the_session->failed()) {
    the_session->write();
    std::fprintf(stderr, "homing lab: calibration failed: %s\n", the_session->error().c_str());
    _exit(97);  // the guest would go on for nothing, and QEMU offers a plugin no other way to end it
  }
}

std::span<const std::uint8_t> code_of(const qemu_plugin_insn* insn) {
  return {static_cast<const std::uint8_t*>(qemu_plugin_insn_data(insn)), qemu_plugin_insn_size(insn)};
}

void on_translate(qemu_plugin_id_t, qemu_plugin_tb* block) {
  const std::size_t size = qemu_plugin_tb_n_insns(block);
  const std::uint64_t address = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(block, 0));
  const bool kernel = is_kernels(address);
  std::vector<std::uint8_t> bytes, sizes;
  for (std::size_t i = 0; i != size; ++i) {
    const auto code = code_of(qemu_plugin_tb_get_insn(block, i));
    bytes.insert(bytes.end(), code.begin(), code.end());
    sizes.push_back(static_cast<std::uint8_t>(code.size()));
  }
  const code_block* const known = blocks->find(address, bytes, sizes);
  hot_watch* const watch = the_session->watch();
  if (watch != nullptr) {
    // Never freed: QEMU keeps translated code, and does not say when it drops it.
    auto* const cells = watch->code.block(address, kernel ? who::kernel : who::program);
    qemu_plugin_register_vcpu_tb_exec_cb(block, on_watched_block, QEMU_PLUGIN_CB_NO_REGS,
                                         new watched_block{cells, size});
  }
  qemu_plugin_register_vcpu_tb_exec_cb(block, kernel ? on_block<who::kernel> : on_block<who::program>,
                                       QEMU_PLUGIN_CB_NO_REGS, const_cast<code_block*>(known));
  for (std::size_t i = 0; i != size; ++i) {
    qemu_plugin_insn* const insn = qemu_plugin_tb_get_insn(block, i);
    const auto code = code_of(insn);
    const bool locked = guest_instructions().is_locked(code);
    qemu_plugin_vcpu_mem_cb_t callback = kernel ? access_callback<who::kernel>(locked, watch != nullptr)
                                                : access_callback<who::program>(locked, watch != nullptr);
    const code_place& place = known->places()[i];
    if (place.mark != 0 && !kernel) callback = on_mark;
    qemu_plugin_register_vcpu_mem_cb(insn, callback, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
                                     const_cast<code_place*>(&place));
  }
}

void on_idle(qemu_plugin_id_t, unsigned vcpu) {
  contexts[vcpu].thread.is_this();
  the_session->idle(vcpu);
}

void at_exit(qemu_plugin_id_t, void*) { the_session->finish(); }

void watch_all(qemu_plugin_id_t id) {
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
  qemu_plugin_register_vcpu_idle_cb(id, on_idle);
  qemu_plugin_register_atexit_cb(id, at_exit, nullptr);
}

/// The first mark: from now on everything is watched.
void on_first_mark(unsigned, qemu_plugin_meminfo_t, std::uint64_t, void*) {
  // Relaxed: who is first resets; nothing else hangs on it.
  if (!watching.exchange(true, std::memory_order_relaxed)) qemu_plugin_reset(plugin_id, watch_all);
}

/// The kernel waits for another CPU: the host is to run that one first.
void on_pause(unsigned, void*) { sched_yield(); }

/// While the guest boots only marks are watched, for callbacks at each block and access take two thirds of its time;
/// and the kernel's waiting. (64 CPUs that spin until each has changed its clock source took 14 s of 2 processors.)
void on_translate_at_boot(qemu_plugin_id_t, qemu_plugin_tb* block) {
  for (std::size_t i = 0; i != qemu_plugin_tb_n_insns(block); ++i) {
    qemu_plugin_insn* const insn = qemu_plugin_tb_get_insn(block, i);
    if ((qemu_plugin_insn_vaddr(insn) >> 63) != 0) {  // the kernel has no marks
      if (!guest_instructions().is_pause(code_of(insn))) continue;
      return qemu_plugin_register_vcpu_tb_exec_cb(block, on_pause, QEMU_PLUGIN_CB_NO_REGS, nullptr);
    }
    if (!guest_instructions().mark_of(code_of(insn))) continue;
    qemu_plugin_register_vcpu_mem_cb(insn, on_first_mark, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, nullptr);
  }
}

}  // namespace
}  // namespace homing::lab::model

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t* info, int argc, char** argv) {
  using namespace homing::lab::model;
  try {
    if (!info->system_emulation)
      throw machine_error("expected QEMU's system emulation (qemu-system-x86_64 or -aarch64)");
    use_instructions_of(info->target_name);
    the_session = session::from_arguments({argv, argv + argc}, sleep_on, host_runs).release();
    if (static_cast<int>(the_session->of().cpus()) != info->system.smp_vcpus) {
      throw machine_error("cpu_node: expected as many CPUs as QEMU's -smp has, " +
                          std::to_string(info->system.smp_vcpus) + ", found " +
                          std::to_string(the_session->of().cpus()));
    }
    contexts = new cpu_context[the_session->of().cpus()];
    blocks = new code_store;
    tell_crashes();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "homing lab: %s\n", error.what());
    return 1;
  }
  plugin_id = id;
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate_at_boot);
  qemu_plugin_register_atexit_cb(id, at_exit, nullptr);
  return 0;
}
