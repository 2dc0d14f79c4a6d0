/// std::atomic's interface over the checker's memory, and a plain variable whose races are found.
///
/// Outside of an execution both are ordinary variables of one thread: static objects keep what they were made with, and
/// each execution finds them so.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <type_traits>
#include <utility>

#include "engine/execution.hpp"

namespace homing::model {

[[nodiscard]] constexpr order order_of(std::memory_order o) noexcept {
  switch (o) {
    case std::memory_order_relaxed:
      return order::relaxed;
    case std::memory_order_consume:
    case std::memory_order_acquire:
      return order::acquire;
    case std::memory_order_release:
      return order::release;
    case std::memory_order_acq_rel:
      return order::acq_rel;
    default:
      return order::seq_cst;
  }
}
/// A compare-exchange with one order fails with its load's half.
[[nodiscard]] constexpr std::memory_order failure_of(std::memory_order o) noexcept {
  if (o == std::memory_order_acq_rel) {
    return std::memory_order_acquire;
  }
  return o == std::memory_order_release ? std::memory_order_relaxed : o;
}

template <typename T>
class atomic {
  static_assert(sizeof(T) <= sizeof(std::uint64_t) && std::is_trivially_copyable_v<T>);
  using here = std::source_location;
  using mo = std::memory_order;

 public:
  using value_type = T;
  static constexpr bool is_always_lock_free = true;

  constexpr atomic() noexcept : atomic(T{}) {}
  constexpr atomic(T value) noexcept : initial_(value) {
    if (!std::is_constant_evaluated() && running != nullptr) {
      running->made(who_);
    }
  }
  constexpr ~atomic() {
    if (!std::is_constant_evaluated() && running != nullptr) {
      running->destroyed(who_, here::current());
    }
  }
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;

  T load(mo o = mo::seq_cst, here at = here::current()) const noexcept {
    return running == nullptr ? initial_ : from(running->load(who_, this, bits(initial_), order_of(o), at));
  }
  void store(T value, mo o = mo::seq_cst, here at = here::current()) noexcept {
    if (running == nullptr) {
      initial_ = value;
    } else {
      running->store(who_, this, bits(initial_), bits(value), order_of(o), at);
    }
  }
  T exchange(T value, mo o = mo::seq_cst, here at = here::current()) noexcept {
    return change(o, at, [&](T) { return value; });
  }
  bool compare_exchange_strong(T& expected, T value, mo o, mo failure, here at = here::current()) noexcept {
    const auto how = [&](std::uint64_t& word) {
      if (word != bits(expected)) {
        return false;
      }
      word = bits(value);
      return true;
    };
    std::uint64_t read = bits(initial_);
    if (running == nullptr) {
      if (how(read)) {
        initial_ = value;
        return true;
      }
    } else {
      read = running->update(who_, this, bits(initial_), order_of(o), order_of(failure), at, how);
      if (read == bits(expected)) {
        return true;
      }
    }
    expected = from(read);
    return false;
  }
  bool compare_exchange_strong(T& expected, T value, mo o = mo::seq_cst, here at = here::current()) noexcept {
    return compare_exchange_strong(expected, value, o, failure_of(o), at);
  }
  bool compare_exchange_weak(T& expected, T value, mo o, mo failure, here at = here::current()) noexcept {
    if (running != nullptr && running->fails_spuriously()) {
      expected = load(failure, at);
      return false;
    }
    return compare_exchange_strong(expected, value, o, failure, at);
  }
  bool compare_exchange_weak(T& expected, T value, mo o = mo::seq_cst, here at = here::current()) noexcept {
    return compare_exchange_weak(expected, value, o, failure_of(o), at);
  }
  template <typename U>
  T fetch_add(U by, mo o = mo::seq_cst, here at = here::current()) noexcept {
    return change(o, at, [&](T old) { return static_cast<T>(old + by); });
  }
  template <typename U>
  T fetch_sub(U by, mo o = mo::seq_cst, here at = here::current()) noexcept {
    return change(o, at, [&](T old) { return static_cast<T>(old - by); });
  }
  T fetch_or(T by, mo o = mo::seq_cst, here at = here::current()) noexcept {
    return change(o, at, [&](T old) { return static_cast<T>(old | by); });
  }
  T fetch_and(T by, mo o = mo::seq_cst, here at = here::current()) noexcept {
    return change(o, at, [&](T old) { return static_cast<T>(old & by); });
  }
  T operator=(T value) noexcept {
    store(value);
    return value;
  }
  operator T() const noexcept { return load(); }

  /// For the futex, which is given the word's object.
  [[nodiscard]] identity& who() const noexcept { return who_; }
  [[nodiscard]] std::uint64_t initial() const noexcept { return bits(initial_); }

 private:
  static std::uint64_t bits(T value) noexcept {
    std::uint64_t word = 0;
    std::memcpy(&word, &value, sizeof value);
    return word;
  }
  static T from(std::uint64_t word) noexcept {
    T value{};
    std::memcpy(&value, &word, sizeof value);
    return value;
  }
  template <typename Next>
  T change(mo o, here at, Next&& next) noexcept {
    if (running == nullptr) {
      return std::exchange(initial_, next(initial_));
    }
    return from(running->update(who_, this, bits(initial_), order_of(o), order_of(o), at, [&](std::uint64_t& word) {
      word = bits(next(from(word)));
      return true;
    }));
  }

  T initial_;  ///< the memory of the execution has what comes later
  mutable identity who_;
};

/// A variable that the program keeps from races without atomics. Each use is checked against all others.
template <typename T>
class plain {
  using here = std::source_location;

 public:
  constexpr plain(T value = T{}, here at = here::current()) : value_(std::move(value)) { note_write(at); }
  plain(const plain& other) : plain(other.get()) {}
  plain& operator=(const plain& other) { return *this = other.get(); }
  constexpr ~plain() { note_write(here::current()); }

  operator const T&() const { return get(); }
  [[nodiscard]] const T& get(here at = here::current()) const {
    if (running != nullptr) {
      running->read(uses_, at);
    }
    return value_;
  }
  plain& operator=(T value) {
    note_write(here::current());
    value_ = std::move(value);
    return *this;
  }
  const T& operator->() const { return get(); }
  T operator++() { return *this = static_cast<T>(get() + 1); }
  T operator--() { return *this = static_cast<T>(get() - 1); }
  T operator++(int) {
    const T old = get();
    *this = static_cast<T>(old + 1);
    return old;
  }
  plain& operator+=(T by) { return *this = static_cast<T>(get() + by); }
  plain& operator-=(T by) { return *this = static_cast<T>(get() - by); }

 private:
  constexpr void note_write(here at) {
    if (!std::is_constant_evaluated() && running != nullptr) {
      running->written(uses_, at);
    }
  }

  T value_;
  mutable accesses uses_{};
};

}  // namespace homing::model
