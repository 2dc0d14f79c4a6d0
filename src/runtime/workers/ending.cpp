/// The end of workers that nobody has a use for any more. [A28]
#include <pthread.h>

#include <cerrno>
#include <ctime>

#include "runtime/workers/resource_manager.hpp"

namespace homing::scheduler {
namespace {

/// How long nobody may have used the library before its workers end: threads that come and go find them there.
constexpr timespec unused_for{0, 100'000'000};

void rest() noexcept {
  timespec left = unused_for;
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

}  // namespace

void resource_manager::last_user_left() noexcept {
  if (made_.load(sync::relaxed) == 0 || this != current_or_null()) {
    return;  // no worker; or of before a fork, and they are the parent's
  }
  if (!users_.claim_end()) {
    return;  // it looks at the users once more after it has said that it is none
  }
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t ender{};
  if (pthread_create(&ender, &attributes, &ender_entry, this) != 0) {
    static_cast<void>(users_.drop_end());  // then they sleep on, which costs nothing but their memory
  }
  pthread_attr_destroy(&attributes);
}

void* resource_manager::ender_entry(void* manager) {
  static_cast<resource_manager*>(manager)->end_unused_workers();
  return nullptr;
}

void resource_manager::end_unused_workers() noexcept {
  do {
    const std::uint64_t before = users_.seen();
    rest();
    if (users_.seen() == before && users_.none() && wait_until_unused()) {
      stop_workers();  // whoever comes meanwhile gets workers after that [A18]
    }
    // Whoever came has left it to the last of them to make another ender, unless that one found this one here.
  } while (users_.drop_end() && made_.load(sync::relaxed) != 0 && users_.claim_end());
}

}  // namespace homing::scheduler
