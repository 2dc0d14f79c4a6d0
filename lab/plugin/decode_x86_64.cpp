// x86-64 for the scoreboard: capstone's registers, operands and mnemonics as micro_op has them.
#include <capstone/capstone.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

#include "code_x86_64.hpp"
#include "decode_parts.hpp"
#include "instruction_set.hpp"

namespace homing::lab::model {
namespace {

/// capstone's registers as ours.
class register_names {
 public:
  explicit register_names(csh handle) {
    of_.fill(registers::none);
    for (unsigned id = 1; id != X86_REG_ENDING; ++id) {
      if (const char* const name = cs_reg_name(handle, id)) of_[id] = number(name);
    }
  }
  [[nodiscard]] std::uint8_t operator[](unsigned id) const { return id < X86_REG_ENDING ? of_[id] : registers::none; }

 private:
  static std::uint8_t number(std::string_view name) {
    static constexpr const char* old[8][5] = {
        {"rax", "eax", "ax", "al", "ah"},   {"rcx", "ecx", "cx", "cl", "ch"},   {"rdx", "edx", "dx", "dl", "dh"},
        {"rbx", "ebx", "bx", "bl", "bh"},   {"rsp", "esp", "sp", "spl", "spl"}, {"rbp", "ebp", "bp", "bpl", "bpl"},
        {"rsi", "esi", "si", "sil", "sil"}, {"rdi", "edi", "di", "dil", "dil"},
    };
    for (std::uint8_t i = 0; i != 8; ++i) {
      if (std::find(std::begin(old[i]), std::end(old[i]), name) != std::end(old[i])) return registers::general + i;
    }
    if (name == "rflags" || name == "eflags" || name == "flags") return registers::flags;
    const auto digits = name.find_first_of("0123456789");
    if (digits == std::string_view::npos) return registers::none;
    unsigned value = 0;
    for (std::size_t i = digits; i != name.size() && name[i] >= '0' && name[i] <= '9'; ++i) {
      value = value * 10 + static_cast<unsigned>(name[i] - '0');
    }
    const std::string_view kind = name.substr(0, digits);
    if (kind == "r" && value >= 8 && value < 16) return static_cast<std::uint8_t>(registers::general + value);
    if ((kind == "xmm" || kind == "ymm" || kind == "zmm") && value < 16) {
      return static_cast<std::uint8_t>(registers::vector + value);
    }
    return kind == "st" || kind == "st(" || kind == "mm" || kind == "fp" ? registers::x87 : registers::none;
  }

  std::array<std::uint8_t, X86_REG_ENDING> of_;
};

/// True for what computes with floating point numbers in vector registers: "addsd" is, "add" and "paddd" are not.
bool is_float(std::string_view name) {
  return name.ends_with("ps") || name.ends_with("pd") || name.ends_with("ss") || name.ends_with("sd");
}

/// By the mnemonic, without the v of its newer encoding.
latency_class class_of(std::string_view name) {
  if (begins(name, {"fmadd", "fmsub", "fnmadd", "fnmsub"})) return latency_class::fused;
  if (is_float(name)) {
    if (begins(name, {"mul"})) return latency_class::float_multiply;
    if (begins(name, {"div", "sqrt"})) return latency_class::float_divide;
    if (begins(name, {"add", "sub", "hadd", "hsub", "min", "max", "round", "cvt"})) return latency_class::float_add;
  }
  if (begins(name, {"imul", "mul"})) return latency_class::multiply;
  if (begins(name, {"idiv", "div"})) return latency_class::divide;
  if (begins(name, {"pmul", "pmadd", "fmul"})) return latency_class::float_multiply;
  if (begins(name, {"fdiv", "fsqrt"})) return latency_class::float_divide;
  if (begins(name, {"fadd", "fsub", "fiadd", "cvt"})) return latency_class::float_add;
  return begins(name, {"mov", "lddqu"}) ? latency_class::move : latency_class::integer;
}

op_kind kind_of(std::string_view name, std::span<const std::uint8_t> code) {
  if (x86_64::is_locked(code)) return op_kind::locked;
  if (name == "pause") return op_kind::pause;
  if (name == "mfence") return op_kind::fence;
  if (name == "lfence") return op_kind::load_fence;
  if (x86_64::is_system_call(code)) return op_kind::system_call;
  return name.starts_with("movnt") && name != "movntdqa" ? op_kind::non_temporal : op_kind::plain;
}

/// xor of a register with itself and the like: the result is known without it.
bool makes_zero(std::string_view name, const cs_x86& x) {
  const bool may = name == "xor" || name == "sub" || name == "pxor" || name == "xorps" || name == "xorpd" ||
                   name.starts_with("psub") || name.starts_with("pcmpeq");
  if (!may || x.op_count < 2) return false;
  const cs_x86_op &a = x.operands[x.op_count - 2], &b = x.operands[x.op_count - 1];
  return a.type == X86_OP_REG && b.type == X86_OP_REG && a.reg == b.reg;
}

class decoder {
 public:
  decoder() {
    usable_ = cs_open(CS_ARCH_X86, CS_MODE_64, &handle_) == CS_ERR_OK &&
              cs_option(handle_, CS_OPT_DETAIL, CS_OPT_ON) == CS_ERR_OK;
    if (!usable_) return;
    names_ = std::make_unique<register_names>(handle_);
    instruction_ = cs_malloc(handle_);
  }

  micro_op operator()(std::span<const std::uint8_t> code) {
    micro_op op;
    const std::uint8_t* at = code.data();
    std::size_t left = code.size();
    std::uint64_t address = 0;
    if (!usable_ || !cs_disasm_iter(handle_, &at, &left, &address, instruction_)) {
      op.kind = x86_64::is_locked(code) ? op_kind::locked : op_kind::plain;
      return op;
    }
    std::string_view name = instruction_->mnemonic;
    if (const auto space = name.rfind(' '); space != std::string_view::npos)
      name.remove_prefix(space + 1);  // "lock add"
    if (name.size() > 2 && name[0] == 'v' && name != "verr" && name != "verw") name.remove_prefix(1);
    op.kind = kind_of(name, code);
    op.latency = class_of(name);
    const bool stack = begins(name, {"push", "pop", "call", "ret"});
    const cs_detail& detail = *instruction_->detail;
    if (is_string(name, detail.x86)) return op;  // its registers count up without waiting for the data
    operands(op, name, detail.x86);
    if (!makes_zero(name, detail.x86)) {
      for (unsigned i = 0; i != detail.regs_read_count; ++i) {
        add(op.sources, (*names_)[detail.regs_read[i]], registers::none);
      }
    }
    for (unsigned i = 0; i != detail.regs_write_count; ++i) {
      add(op.results, (*names_)[detail.regs_write[i]], registers::sink);
    }
    if (stack) without_stack_pointer(op);
    return op;
  }

 private:
  static bool is_string(std::string_view name, const cs_x86& x) {
    const bool vector = std::any_of(x.operands, x.operands + x.op_count,
                                    [](const cs_x86_op& o) { return o.type == X86_OP_REG && o.size >= 16; });
    return !vector && begins(name, {"movsb", "movsw", "movsd", "movsq", "stos", "lods", "cmpsb", "scas"});
  }

  void operands(micro_op& op, std::string_view name, const cs_x86& x) {
    const bool zero = makes_zero(name, x);
    const bool unknown =
        std::all_of(x.operands, x.operands + x.op_count, [](const cs_x86_op& o) { return o.access == 0; });
    const bool fused = op.latency == latency_class::fused;
    for (unsigned i = 0; i != x.op_count; ++i) {
      const cs_x86_op& o = x.operands[i];
      if (o.type == X86_OP_MEM) {
        auto& list = op.address;
        add(list, (*names_)[o.mem.base], registers::none);
        add(list, (*names_)[o.mem.index], registers::none);
      } else if (o.type == X86_OP_REG) {
        const bool reads = fused || (unknown ? i != 0 : (o.access & CS_AC_READ) != 0);
        const bool writes = unknown || fused ? i == 0 : (o.access & CS_AC_WRITE) != 0;
        if (reads && !zero) add(op.sources, (*names_)[o.reg], registers::none);
        if (writes) add(op.results, (*names_)[o.reg], registers::sink);
      }
    }
  }

  /// Cores keep track of the stack pointer aside: it waits for no load.
  static void without_stack_pointer(micro_op& op) {
    constexpr std::uint8_t stack_pointer = registers::general + 4;
    std::replace(op.results.begin(), op.results.end(), stack_pointer, registers::sink);
    std::replace(op.sources.begin(), op.sources.end(), stack_pointer, registers::none);
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

}  // namespace

const instruction_set x86_64_instructions{"x86_64",
                                          {},
                                          x86_64::mark_of,
                                          x86_64::is_locked,
                                          x86_64::is_system_call,
                                          x86_64::is_pause,
                                          x86_64::is_interrupt_return,
                                          x86_64::sends_interrupt,
                                          true,
                                          decode_one};

}  // namespace homing::lab::model
