/// A mailbox that is made at the first post: most slots and many domains never get any mail.
///
/// Ownership: of the mailbox; what is left in it is the owner's business, before the place ends.
/// Threads:   any; the end after all others.
/// Order:     who finds a mailbox finds it whole.
/// Protocol:  docs/protocols/mailbox.md, label [M10].
#pragma once

#include <cstddef>
#include <memory>

#include "sync/atomic.hpp"
#include "sync/mailbox.hpp"

namespace homing::sync {

class mailbox_place {
 public:
  mailbox_place() = default;
  ~mailbox_place() { delete box_.load(relaxed); }
  mailbox_place(const mailbox_place&) = delete;
  mailbox_place& operator=(const mailbox_place&) = delete;

  /// Null: nobody has posted.
  [[nodiscard]] mailbox* get() const noexcept { return box_.load(acquire); }
  /// The same, for who does not look inside; a hint.
  [[nodiscard]] bool is_made() const noexcept { return box_.load(relaxed) != nullptr; }

  /// For a post; of several threads that come first, one makes it. Errors: std::bad_alloc.
  [[nodiscard]] mailbox& get_or_make(std::size_t capacity) {
    mailbox* box = get();
    if (box == nullptr) {
      auto fresh = std::make_unique<mailbox>(capacity);
      // [M10] release: publishes the new mailbox; acquire: the one that another poster made.
      if (box_.compare_exchange_strong(box, fresh.get(), release, acquire)) {
        box = fresh.release();
      }
    }
    return *box;
  }

 private:
  atomic<mailbox*> box_{nullptr};
};

}  // namespace homing::sync
