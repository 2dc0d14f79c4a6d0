#include "instruction_set.hpp"

#include <string>

#include "machine.hpp"

namespace homing::lab::model {
namespace {

const instruction_set* chosen = &x86_64_instructions;

}  // namespace

const instruction_set& guest_instructions() noexcept { return *chosen; }

void use_instructions_of(std::string_view target) {
  for (const instruction_set* const known : {&x86_64_instructions, &aarch64_instructions}) {
    if (known->target == target) {
      chosen = known;
      return;
    }
  }
  throw machine_error("expected QEMU's target x86_64 or aarch64, found " + std::string(target));
}

}  // namespace homing::lab::model
