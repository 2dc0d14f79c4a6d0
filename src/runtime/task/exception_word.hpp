/// The word of a context that holds its exception: one of several that throw fills it, one of several that wait takes
/// what is there. Templates, since a context's atomics are oneTBB's.
///
/// Ownership: what is in the word belongs to whoever takes it.
/// Threads:   any. Protocol: docs/protocols/contexts.md, labels [C6], [C7].
#pragma once

#include "sync/atomic.hpp"

namespace homing::scheduler::exception_word {

/// A hint: take() says for sure.
template <typename Word>
[[nodiscard]] bool is_full(const Word& word) noexcept {
  return word.load(sync::relaxed) != nullptr;
}

/// A task that throws. False if the word was full: the caller's exception is its own still. [C6]
template <typename Word, typename Exception>
[[nodiscard]] bool keep_first(Word& word, Exception* thrown) noexcept {
  Exception* none = nullptr;
  // release: whoever takes it sees the exception.
  return word.compare_exchange_strong(none, thrown, sync::release, sync::relaxed);
}

/// Null: there is none, or another has taken it. acquire: what its thrower wrote. [C6]
template <typename Word>
[[nodiscard]] auto take(Word& word) noexcept {
  return word.exchange(nullptr, sync::acquire);
}

/// At a reset: what is to be dropped, or null. Of several waiters each resets after it has looked for an exception: one
/// that is here now came later, and belongs to others. [C7]
template <typename Word>
[[nodiscard]] auto take_at_reset(Word& word, bool has_several_waiters) noexcept -> decltype(take(word)) {
  return has_several_waiters || !is_full(word) ? nullptr : take(word);
}

}  // namespace homing::scheduler::exception_word
