/// [A21] Locks that are held over a fork, so that the child finds what they guard whole and none of them taken.
///
/// Each part of the library says what it holds, and in which layer it is. All are taken from the highest layer down, as
/// code takes them that holds several, and released from the lowest up. Within a layer, the order is any.
///
/// Ownership: a fork_part is a static object; made when the library is loaded, before there are threads in it.
/// Threads:   the three functions run in the forking thread; user code may have forked anywhere.
#pragma once

#include <cstdint>
#include <mutex>

namespace homing::platform {

/// From the highest down.
enum class fork_layer : std::uint8_t { runtime, objects, memory, observe, machine, hwloc, environment };

class fork_part {
 public:
  using function = void (*)();
  /// `child` is run where only the forking thread exists; it releases what `before` took.
  fork_part(fork_layer layer, function before, function parent, function child) noexcept;
  fork_part(const fork_part&) = delete;
  fork_part& operator=(const fork_part&) = delete;

  const fork_layer layer;
  const function before;
  const function parent;
  const function child;
  fork_part* next = nullptr;
};

/// The lock of an object that users make and end: held over a fork as long as it exists. Layer: objects. Nobody makes
/// or ends such an object while it holds a lock of this layer.
class object_mutex {
 public:
  object_mutex() noexcept;
  ~object_mutex();
  object_mutex(const object_mutex&) = delete;
  object_mutex& operator=(const object_mutex&) = delete;

  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  static const fork_part over_fork_;
  static void lock_all();
  static void unlock_all();

  std::mutex mutex_;
  object_mutex* next_ = nullptr;  // of all that exist
  object_mutex* previous_ = nullptr;
};

}  // namespace homing::platform
