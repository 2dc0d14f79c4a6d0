/// An arena as a task_arena object knows it: who refers to it, what it was asked for, and by whom it is supplied.
#pragma once

#include <oneapi/tbb/task_group.h>

#include "sync/atomic.hpp"

namespace homing::scheduler {

class resource_manager;
class arena;

struct constraints_of_request {
  int numa_id = -1;
  int core_type = -1;
  int max_threads_per_core = -1;
};

struct arena_request {
  int max_concurrency = -1;
  unsigned reserved_slots = 1;
  unsigned priority_level = 1;
  constraints_of_request constraints;
  bool fast_leave = false;
};

/// What is touched here.
struct worker_account {
  sync::atomic<int> users{0};
  sync::atomic<bool> is_implicit{false};
  sync::atomic<arena*> successor{nullptr};
};

class arena {
 public:
  [[nodiscard]] static arena& make(resource_manager& supplier, const arena_request& request) {
    ++alive;
    return *new arena(supplier, request);
  }
  arena(const arena&) = delete;
  arena& operator=(const arena&) = delete;

  [[nodiscard]] unsigned max_concurrency() const noexcept { return static_cast<unsigned>(static_cast<int>(made_for_)); }
  [[nodiscard]] unsigned reserved_slots() const noexcept { return 1; }
  [[nodiscard]] unsigned priority_level() const noexcept { return 1; }
  [[nodiscard]] const arena_request& request() const noexcept { return request_; }
  [[nodiscard]] resource_manager& supplier() const noexcept { return supplier_; }
  [[nodiscard]] worker_account& account() noexcept { return account_; }

  void add_reference() noexcept { references_.fetch_add(1, sync::relaxed); }
  void drop_reference() noexcept {
    if (references_.fetch_sub(1, sync::acq_rel) == 1) {
      --alive;
      delete this;
    }
  }
  void add_user() noexcept { account_.users.fetch_add(1, sync::relaxed); }
  void drop_user() noexcept {
    account_.users.fetch_sub(1, sync::acq_rel);
    drop_reference();
  }

  static inline int alive = 0;

 private:
  arena(resource_manager& supplier, const arena_request& request)
      : supplier_(supplier), request_(request), made_for_(request.max_concurrency) {}
  ~arena() = default;

  resource_manager& supplier_;
  arena_request request_;
  sync::plain<int> made_for_;
  worker_account account_;
  sync::atomic<int> references_{1};
};

}  // namespace homing::scheduler
