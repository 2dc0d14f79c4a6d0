// AArch64 for the scoreboard: which registers an instruction reads and writes, by its mnemonic's kind and capstone's
// operands. Capstone's own notes on access are not used: aliases such as cmp carry those of what they stand for.
//
// Not here: base registers that a load or store moves on (cores do that aside, within the cycle); acquire and release,
// which order more than registers do; SVE, which the guest's CPU has not.
#include <capstone/capstone.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

#include "code_aarch64.hpp"
#include "decode_parts.hpp"
#include "instruction_set.hpp"

namespace homing::lab::model {
namespace {

std::uint8_t register_number(std::string_view name) {
  if (name == "sp" || name == "wsp") return registers::aarch64_stack_pointer;
  if (name == "fp") return registers::general + 29;
  if (name == "lr") return registers::general + 30;
  if (name == "nzcv") return registers::aarch64_flags;
  if (name.size() < 2 || name.find_first_not_of("0123456789", 1) != std::string_view::npos) return registers::none;
  unsigned value = 0;
  for (const char digit : name.substr(1)) value = value * 10 + static_cast<unsigned>(digit - '0');
  if (value > 31) return registers::none;
  const bool general = name[0] == 'x' || name[0] == 'w';
  if (general && value == 31) return registers::none;
  if (!general && std::string_view("bhsdqv").find(name[0]) == std::string_view::npos) return registers::none;
  return static_cast<std::uint8_t>((general ? registers::general : registers::aarch64_vector) + value);
}

/// capstone's registers as ours.
class register_names {
 public:
  explicit register_names(csh handle) {
    of_.fill(registers::none);
    for (unsigned id = 1; id != ARM64_REG_ENDING; ++id) {
      if (const char* const name = cs_reg_name(handle, id)) of_[id] = register_number(name);
    }
  }
  [[nodiscard]] std::uint8_t operator[](unsigned id) const { return id < ARM64_REG_ENDING ? of_[id] : registers::none; }

 private:
  std::array<std::uint8_t, ARM64_REG_ENDING> of_;
};

/// What becomes of an instruction's registers, in the order of its operands.
enum class shape : std::uint8_t {
  first_written,  // add x0, x1, x2
  first_updated,  // fmla v0, v1, v2; movk x0, 1
  all_read,       // cmp, str, branches
  all_written,    // ldr, ldp
  status_written  // stxr w0, x1, [x2]
};

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_branch(std::string_view name) {
  return name[0] == 'b' && (is_one_of(name, {"b", "bl", "br", "blr"}) || name.starts_with("b."));
}

shape shape_of(std::string_view name, const cs_arm64& x) {
  if (begins(name, {"stxr", "stlxr", "stxp", "stlxp"})) return shape::status_written;
  if (begins(name, {"st", "cmp", "cmn", "tst", "ccm", "fcmp", "fccmp", "cbz", "cbnz", "tbz", "tbnz", "ret", "prfm"}) ||
      is_branch(name)) {
    return shape::all_read;
  }
  if (name.starts_with("ld")) return shape::all_written;
  const bool lane = x.op_count != 0 && x.operands[0].type == ARM64_OP_REG && x.operands[0].vector_index >= 0;
  const bool adds_up = begins(name, {"fmla", "fmls", "mla", "mls", "smlal", "smlsl", "umlal", "umlsl", "sqdmlal",
                                     "sqdmlsl", "saba", "uaba", "sdot", "udot", "ssra", "usra", "srsra", "ursra"});
  if (lane || adds_up || is_one_of(name, {"movk", "bfi", "bfm", "bfxil", "bfc", "bsl", "bit", "bif", "ins", "tbx"})) {
    return shape::first_updated;
  }
  return shape::first_written;
}

bool is_vector(const cs_arm64& x) {
  return x.op_count != 0 && x.operands[0].type == ARM64_OP_REG &&
         (x.operands[0].vas != ARM64_VAS_INVALID ||
          (x.operands[0].reg >= ARM64_REG_Q0 && x.operands[0].reg <= ARM64_REG_Q31));
}

latency_class class_of(std::string_view name, const cs_arm64& x) {
  if (name.starts_with("ld")) return latency_class::move;
  if (begins(name, {"fmadd", "fmsub", "fnmadd", "fnmsub", "fmla", "fmls"})) return latency_class::fused;
  if (begins(name, {"fmul", "fnmul"})) return latency_class::float_multiply;
  if (begins(name, {"fdiv", "fsqrt"})) return latency_class::float_divide;
  if (begins(name, {"fadd", "fsub", "fabd", "fmax", "fmin", "fcvt", "frint", "scvtf", "ucvtf"})) {
    return latency_class::float_add;
  }
  if (begins(name, {"sdiv", "udiv"})) return latency_class::divide;
  if (begins(name, {"mul",   "madd",  "msub",  "mneg",  "mla",   "mls",   "smul",  "umul", "smadd", "umadd", "smsub",
                    "umsub", "smneg", "umneg", "smlal", "umlal", "smlsl", "umlsl", "pmul", "sdot",  "udot"})) {
    return is_vector(x) ? latency_class::float_multiply : latency_class::multiply;
  }
  return latency_class::integer;
}

op_kind kind_of(std::string_view name, const cs_arm64& x, std::span<const std::uint8_t> code) {
  if (aarch64::is_locked(code)) return op_kind::locked;
  if (aarch64::is_system_call(code)) return op_kind::system_call;
  if (is_one_of(name, {"yield", "isb", "wfe"})) return op_kind::pause;
  if (!is_one_of(name, {"dmb", "dsb"})) return op_kind::plain;
  switch (x.op_count != 0 && x.operands[0].type == ARM64_OP_BARRIER ? x.operands[0].barrier : ARM64_BARRIER_SY) {
    case ARM64_BARRIER_ISHLD:
    case ARM64_BARRIER_LD:
    case ARM64_BARRIER_NSHLD:
    case ARM64_BARRIER_OSHLD:
      return op_kind::load_fence;
    case ARM64_BARRIER_ISHST:
    case ARM64_BARRIER_ST:
    case ARM64_BARRIER_NSHST:
    case ARM64_BARRIER_OSHST:
      return op_kind::plain;  // stores leave the buffer in order anyway
    default:
      return op_kind::fence;
  }
}

/// A register by its number in an encoding; 31 is the zero register or, for addresses, the stack pointer.
std::uint8_t general(std::uint32_t number) {
  return number == 31 ? registers::none : static_cast<std::uint8_t>(registers::general + number);
}

/// Loads and read-modify-writes of ARMv8.1 and 8.3, which capstone 4 does not know; false for others.
bool decode_newer(std::span<const std::uint8_t> code, micro_op& op) {
  const std::uint32_t word = aarch64::word_of(code);
  const std::uint32_t s = word >> 16 & 31, n = word >> 5 & 31, t = word & 31;
  const bool compares = aarch64::is_compare_and_swap(word);
  if (!compares && !aarch64::is_atomic_update(word) && !aarch64::is_load_acquire(word)) return false;
  op.latency = latency_class::move;
  add(op.address, static_cast<std::uint8_t>(registers::general + n), registers::none);
  if (aarch64::is_load_acquire(word)) {
    add(op.results, general(t), registers::sink);
    return true;
  }
  op.kind = op_kind::locked;
  add(op.sources, general(s), registers::none);
  if (compares) add(op.sources, general(t), registers::none);
  add(op.results, general(compares ? s : t), registers::sink);
  return true;
}

class decoder {
 public:
  decoder() {
    usable_ = cs_open(CS_ARCH_ARM64, CS_MODE_ARM, &handle_) == CS_ERR_OK &&
              cs_option(handle_, CS_OPT_DETAIL, CS_OPT_ON) == CS_ERR_OK;
    if (!usable_) return;
    names_ = std::make_unique<register_names>(handle_);
    instruction_ = cs_malloc(handle_);
  }

  micro_op operator()(std::span<const std::uint8_t> code) {
    micro_op op;
    if (decode_newer(code, op)) return op;
    const std::uint8_t* at = code.data();
    std::size_t left = code.size();
    std::uint64_t address = 0;
    if (!usable_ || !cs_disasm_iter(handle_, &at, &left, &address, instruction_)) {
      op.kind = aarch64::is_locked(code) ? op_kind::locked : op_kind::plain;
      return op;
    }
    const std::string_view name = instruction_->mnemonic;
    const cs_detail& detail = *instruction_->detail;
    op.kind = kind_of(name, detail.arm64, code);
    op.latency = class_of(name, detail.arm64);
    operands(op, shape_of(name, detail.arm64), detail.arm64);
    implied(op, detail);
    if (name == "bl" || name == "blr") add(op.results, registers::general + 30, registers::sink);
    return op;
  }

 private:
  void operands(micro_op& op, shape as, const cs_arm64& x) const {
    unsigned number = 0;  // of the register, among the operands that are one
    for (unsigned i = 0; i != x.op_count; ++i) {
      const cs_arm64_op& o = x.operands[i];
      if (o.type == ARM64_OP_MEM) {
        add(op.address, (*names_)[o.mem.base], registers::none);
        add(op.address, (*names_)[o.mem.index], registers::none);
      } else if (o.type == ARM64_OP_REG) {
        const std::uint8_t which = (*names_)[o.reg];
        if (is_read(as, number)) add(op.sources, which, registers::none);
        if (is_written(as, number)) add(op.results, which, registers::sink);
        ++number;
      }
    }
  }

  static bool is_read(shape as, unsigned number) {
    switch (as) {
      case shape::all_written:
        return false;
      case shape::first_written:
      case shape::status_written:
        return number != 0;
      default:
        return true;
    }
  }

  static bool is_written(shape as, unsigned number) {
    switch (as) {
      case shape::all_read:
        return false;
      case shape::all_written:
        return true;
      default:
        return number == 0;
    }
  }

  /// The flags.
  void implied(micro_op& op, const cs_detail& detail) const {
    for (unsigned i = 0; i != detail.regs_read_count; ++i) {
      const std::uint8_t which = (*names_)[detail.regs_read[i]];
      if (which == registers::aarch64_flags) add(op.sources, which, registers::none);
    }
    for (unsigned i = 0; i != detail.regs_write_count; ++i) {
      const std::uint8_t which = (*names_)[detail.regs_write[i]];
      if (which == registers::aarch64_flags) add(op.results, which, registers::sink);
    }
  }

  csh handle_ = 0;
  bool usable_ = false;
  std::unique_ptr<register_names> names_;
  cs_insn* instruction_ = nullptr;
};

micro_op decode_one(std::span<const std::uint8_t> code) {
  static decoder* const instructions = new decoder;  // never destroyed: QEMU's CPUs run until the process ends
  return (*instructions)(code);
}

constexpr const char* not_seen[] = {
    "a weak memory order (the emulation keeps the host's, which is stronger: what lacks a barrier may still run right)",
    "what acquire and release cost (an atomic read-modify-write waits for all before it, which a relaxed one need not)",
    ("hints (prefetches, non-temporal pairs), and DC ZVA (the lab's kernel says that it is prohibited: zeroes are "
     "stored)"),
};

}  // namespace

const instruction_set aarch64_instructions{"aarch64",
                                           not_seen,
                                           aarch64::mark_of,
                                           aarch64::is_locked,
                                           aarch64::is_system_call,
                                           aarch64::is_pause,
                                           aarch64::is_interrupt_return,
                                           aarch64::sends_interrupt,
                                           false,
                                           decode_one};

}  // namespace homing::lab::model
