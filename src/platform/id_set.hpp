/// A set of OS ids (CPUs, NUMA nodes) as a bit mask that grows to any number of them.
#pragma once

#include <bit>
#include <charconv>
#include <climits>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "platform/id_words.hpp"
#include "platform/ids.hpp"

namespace homing::platform {

/// Ownership: owns its words. Threads: like a container. Errors: only std::bad_alloc, on growth beyond 256 ids.
/// Two sets with the same members are equal, whatever their capacity.
template <class Id>
class id_set {
 public:
  /// Ids from here on are refused: far above any kernel's limit (8192 CPUs on x86-64).
  static constexpr int id_count_max = 1 << 20;

  id_set() = default;
  id_set(std::initializer_list<Id> ids) {
    for (const Id id : ids) add(id);
  }

  /// Ids outside 0..id_count_max-1 are ignored: no kernel gives them.
  void add(Id id) {
    const auto bit = static_cast<int>(id);
    if (bit < 0 || bit >= id_count_max) return;
    const std::size_t word = static_cast<std::size_t>(bit) / word_bits;
    if (word >= words_.size()) words_.resize(word + 1);
    words_[word] |= mask(bit);
  }
  void remove(Id id) noexcept {
    const auto bit = static_cast<int>(id);
    if (contains(id)) words_[static_cast<std::size_t>(bit) / word_bits] &= ~mask(bit);
    words_.trim();
  }
  [[nodiscard]] bool contains(Id id) const noexcept {
    const auto bit = static_cast<int>(id);
    const std::size_t word = static_cast<std::size_t>(bit) / word_bits;
    return bit >= 0 && word < words_.size() && (words_[word] & mask(bit)) != 0;
  }
  [[nodiscard]] unsigned count() const noexcept {
    unsigned total = 0;
    for (const unsigned long word : words_.span()) total += static_cast<unsigned>(std::popcount(word));
    return total;
  }
  [[nodiscard]] bool empty() const noexcept { return words_.empty(); }

  id_set& operator&=(const id_set& other) {
    if (words_.size() > other.words_.size()) words_.resize(other.words_.size());
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= other.words_[i];
    words_.trim();
    return *this;
  }
  id_set& operator|=(const id_set& other) {
    if (words_.size() < other.words_.size()) words_.resize(other.words_.size());
    for (std::size_t i = 0; i < other.words_.size(); ++i) words_[i] |= other.words_[i];
    return *this;
  }
  /// What `other` has not.
  id_set& operator-=(const id_set& other) noexcept {
    for (std::size_t i = 0; i < words_.size() && i < other.words_.size(); ++i) words_[i] &= ~other.words_[i];
    words_.trim();
    return *this;
  }
  friend id_set operator&(id_set a, const id_set& b) { return a &= b; }
  friend id_set operator|(id_set a, const id_set& b) { return a |= b; }
  friend id_set operator-(id_set a, const id_set& b) { return a -= b; }
  friend bool operator==(const id_set&, const id_set&) = default;

  /// The members, ascending.
  [[nodiscard]] std::vector<Id> ids() const {
    std::vector<Id> result;
    for (std::size_t word = 0; word < words_.size(); ++word) {
      for (unsigned long rest = words_[word]; rest != 0; rest &= rest - 1) {
        result.push_back(static_cast<Id>(static_cast<int>(word * word_bits) + std::countr_zero(rest)));
      }
    }
    return result;
  }

  /// The mask as the kernel takes it: bit n of the array is id n. Valid until the next change.
  [[nodiscard]] std::span<const unsigned long> words() const noexcept { return words_.span(); }
  /// The reverse of words().
  [[nodiscard]] static id_set from_words(std::span<const unsigned long> words) {
    id_set result;
    result.words_.assign(words);
    result.words_.trim();
    return result;
  }

  /// The kernel's list format, for example "0-3,8". Empty text for the empty set.
  [[nodiscard]] std::string list() const {
    std::string text;
    const std::vector<Id> members = ids();
    for (std::size_t i = 0; i < members.size();) {
      std::size_t end = i + 1;
      while (end < members.size() && number(members[end]) == number(members[end - 1]) + 1) ++end;
      if (!text.empty()) text += ',';
      text += std::to_string(number(members[i]));
      if (end - i > 1) text += '-' + std::to_string(number(members[end - 1]));
      i = end;
    }
    return text;
  }
  /// Reads the kernel's list format, strictly: nothing if any part of it is not understood.
  /// White space at the end is allowed (files end in a newline); no text is the empty set.
  [[nodiscard]] static std::optional<id_set> parse_list(std::string_view text) {
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
    id_set result;
    while (!text.empty()) {
      const std::optional<int> first = take_number(text);
      std::optional<int> last = first;
      if (!text.empty() && text.front() == '-') {
        text.remove_prefix(1);
        last = take_number(text);
      }
      if (!first || !last || *last < *first) return std::nullopt;
      for (int id = *first; id <= *last; ++id) result.add(static_cast<Id>(id));
      if (text.empty()) break;
      if (text.front() != ',' || text.size() == 1) return std::nullopt;
      text.remove_prefix(1);
    }
    return result;
  }

 private:
  static constexpr std::size_t word_bits = sizeof(unsigned long) * CHAR_BIT;
  static constexpr unsigned long mask(int bit) noexcept { return 1UL << (static_cast<unsigned>(bit) % word_bits); }
  static constexpr int number(Id id) noexcept { return static_cast<int>(id); }

  static std::optional<int> take_number(std::string_view& text) {
    int value = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || value < 0 || value >= id_count_max) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return value;
  }

  id_words words_;  // trimmed: equal sets have equal words, and no word is the empty set
};

using cpu_set = id_set<cpu_id>;
using node_set = id_set<node_id>;

}  // namespace homing::platform
