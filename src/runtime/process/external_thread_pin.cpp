#include "runtime/process/external_thread_pin.hpp"

#include <cstring>
#include <utility>

#include "platform/env.hpp"
#include "runtime/workers/resource_manager.hpp"

namespace homing::scheduler {
namespace {

void warn_once(int error_number) noexcept {
  static sync::atomic<bool> said{false};
  if (!said.exchange(true, sync::relaxed)) {
    platform::warn("cannot pin application threads as HOMING_PIN_MASTERS asks: %s; they run where the kernel puts them",
                   std::strerror(error_number));
  }
}

}  // namespace

bool external_thread_pin::wanted(const resource_manager& manager) noexcept {
  return manager.settings().pins_external_threads && manager.domain_count() > 1;
}

external_thread_pin::external_thread_pin(resource_manager& manager, thread_state& t) : manager_(manager), thread_(t) {
  // What may throw comes first: a pin that is not made must leave no trace.
  auto now = platform::get_affinity();
  platform::cpu_set wanted = now.mask;
  t.move_to_domain(manager.take_in_external_thread(now.mask), manager.domain_count());
  t.domain_is_fixed = true;
  if (!now.ok()) {
    warn_once(now.error_number);
    return;
  }
  wanted &= manager.machine().domains()[to_index(t.domain)].binding;
  if (wanted.empty() || wanted == now.mask) {
    return;
  }
  if (const int refused = platform::restrict_to(0, wanted)) {
    warn_once(refused);
  } else {
    before_ = std::move(now.mask);
  }
}

external_thread_pin::~external_thread_pin() {
  manager_.let_external_thread_go(thread_.domain);
  thread_.domain_is_fixed = false;
  if (!before_.empty()) {
    // The old mask may be impossible by now (a smaller cpuset): then the thread stays where it is.
    static_cast<void>(platform::restrict_to(0, before_));
  }
}

}  // namespace homing::scheduler
