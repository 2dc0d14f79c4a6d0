/// The doors that are functions: futexes, and the clock and the C library's mutexes and yield, which this program's own
/// replace.
#include <pthread.h>
#include <sched.h>

#include <cerrno>
#include <chrono>
#include <ctime>

#include "engine/execution.hpp"
#include "sync/futex.hpp"

namespace homing::sync {

void futex_wait(const atomic<std::uint32_t>& word, std::uint32_t expected) noexcept {
  model::running->futex_wait(word.who(), &word, word.initial(), expected, false);
}

void futex_wait_for(const atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t /*ns*/) noexcept {
  model::running->futex_wait(word.who(), &word, word.initial(), expected, true);
}

void futex_wake(const atomic<std::uint32_t>& word, std::uint32_t count) noexcept {
  model::running->futex_wake(&word, count);
}

}  // namespace homing::sync

std::chrono::steady_clock::time_point std::chrono::steady_clock::now() noexcept {
  if (homing::model::running != nullptr) {
    return time_point(nanoseconds(homing::model::running->time()));
  }
  timespec real{};
  ::clock_gettime(CLOCK_MONOTONIC, &real);
  return time_point(seconds(real.tv_sec) + nanoseconds(real.tv_nsec));
}

extern "C" {

int sched_yield() noexcept {
  if (homing::model::running != nullptr) {
    homing::model::running->pause();
  }
  return 0;
}

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  if (homing::model::running != nullptr) {
    homing::model::running->lock(mutex);
  }
  return 0;
}

int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  return homing::model::running == nullptr || homing::model::running->try_lock(mutex) ? 0 : EBUSY;
}

int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  if (homing::model::running != nullptr) {
    homing::model::running->unlock(mutex);
  }
  return 0;
}
}
