/// Invariants of production code in a model: one that is broken ends the execution, which is printed.
#include <string>

#include "engine/model.hpp"
#include "platform/check.hpp"

namespace homing::platform {

void invariant_broken(const char* promise) noexcept { model::running->fail(std::string("an invariant: ") + promise); }

}  // namespace homing::platform
