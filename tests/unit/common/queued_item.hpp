/// An item of the tests of shared queues, and how the queue links it.
#pragma once

#include "sync/atomic.hpp"

namespace homing::testing {

struct queued_item {
  unsigned pusher = 0;
  unsigned number = 0;
  sync::atomic<unsigned> taken{0};
  queued_item* next = nullptr;
  bool is_linked = false;
};

struct queued_item_link {
  static queued_item* next(const queued_item& x) noexcept { return x.next; }
  static void set_next(queued_item& x, queued_item* next) noexcept { x.next = next; }
  static bool is_linked(const queued_item& x) noexcept { return x.is_linked; }
  static void set_linked(queued_item& x, bool linked) noexcept { x.is_linked = linked; }
};

}  // namespace homing::testing
