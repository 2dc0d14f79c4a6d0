/// A thread sleeps on a 32-bit word until another one changes the word and wakes it: Linux's private futexes.
///
/// Threads: both calls from any thread of one process; the word is not shared between processes.
/// Errors:  none is left to the caller. A wait returns after a wake, when the word no longer holds `expected`, and
///          after a signal; the caller looks at its word again in each case. Whatever else the kernel can answer means
///          a broken caller (a bad address, for example), and ends the process with a message.
/// Order:   neither call orders memory: the word's own loads and stores do.
#pragma once

#include <cstdint>

#include "sync/atomic.hpp"

namespace homing::sync {

/// Sleeps while `word` holds `expected` and nobody wakes this thread. May return early: check the word again.
void futex_wait(const atomic<std::uint32_t>& word, std::uint32_t expected) noexcept;

/// As futex_wait(), for about so long at most.
void futex_wait_for(const atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t ns) noexcept;

/// Wakes at most `count` of the threads that sleep on `word`. Uses the word's address only, so the word may already be
/// gone: a waker that has published its store may find that the sleeper has returned and freed the word.
void futex_wake(const atomic<std::uint32_t>& word, std::uint32_t count) noexcept;

}  // namespace homing::sync
