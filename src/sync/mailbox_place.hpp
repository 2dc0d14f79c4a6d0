/// A mailbox that is made at the first post: most slots and many domains never get any mail.
///
/// Ownership: of the mailbox, but not of a room that it was made in; what is left in it is the owner's business, before
///            the place ends. A place makes all of its mailboxes on the heap, or in one room.
/// Threads:   any; the end after all others.
/// Order:     who finds a mailbox finds it whole.
/// Protocol:  docs/protocols/mailbox.md, label [M10].
#pragma once

#include <cstddef>
#include <memory>
#include <new>

#include "sync/atomic.hpp"
#include "sync/mailbox.hpp"

namespace homing::sync {

class mailbox_place {
 public:
  mailbox_place() = default;
  ~mailbox_place() {
    mailbox* const box = box_.load(relaxed);
    if (!is_in_room_.load(relaxed)) {
      delete box;
    } else if (box != nullptr) {  // its maker may have been cut off by a fork
      std::destroy_at(box);
    }
  }
  mailbox_place(const mailbox_place&) = delete;
  mailbox_place& operator=(const mailbox_place&) = delete;

  /// Null: nobody has posted yet, or the first to do so is still at it.
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

  /// The same in a room of mailbox::bytes_for(capacity) bytes, aligned to cache lines, which outlives the place. So a
  /// first post takes no lock of a heap's. Null while another first poster makes the mailbox: nobody waits for it.
  [[nodiscard]] mailbox* get_or_make_in(void* room, std::size_t capacity) noexcept {
    mailbox* box = get();
    // relaxed: the exchange alone says who makes it.
    if (box == nullptr && !is_in_room_.exchange(true, relaxed)) {
      box = new (room) mailbox(capacity, static_cast<std::byte*>(room) + sizeof(mailbox));
      box_.store(box, release);  // [M10] publishes the new mailbox
    }
    return box;
  }

 private:
  atomic<mailbox*> box_{nullptr};
  atomic<bool> is_in_room_{false};  ///< or will be soon
};

}  // namespace homing::sync
