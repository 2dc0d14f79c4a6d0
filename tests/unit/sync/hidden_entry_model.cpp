// No push is lost while a thief that nobody counts on moves a deque's head over it: all interleavings of an owner that
// pops and pushes at one index, an isolated thief, and a thread that goes to sleep, in a model of deque.md's [D2] to
// [D10] and sleep.md's [S1], [S2]. Each weakening must show a lost push, or the model would prove nothing.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace {

/// What is left out of the protocol.
enum class weakening { none, owners_look, thiefs_look, thiefs_word };

/// One entry, at index 0. Steps are taken in one order by all: the fences that make it so are not the matter here.
struct machine {
  // The deque, with an old task in it, which is not the one that counts.
  std::uint8_t tail = 1;
  std::uint8_t head = 0;
  enum entry_state : std::uint8_t { null, old_task, new_task };
  entry_state entry = old_task;
  // Who searches or sleeps; whether the new task was taken, or somebody called for it.
  bool searching = true;
  bool listed = false;
  bool served = false;

  enum owner_step : std::uint8_t { lower_tail, claim, look_at_head, fill, raise_tail, look_for_searchers, owner_over };
  owner_step owner = lower_tail;
  enum thief_step : std::uint8_t {
    look_at_ends,
    look_at_entry,
    move_head,
    look_at_tail,
    look_again,
    go_back,
    tell,
    thief_over
  };
  thief_step thief = look_at_ends;
  std::uint8_t thief_saw_tail = 0;
  bool go_back_is_due = false;
  enum sleeper_step : std::uint8_t { announce, stop_searching, last_look, sleeper_over };
  sleeper_step sleeper = announce;

  [[nodiscard]] auto key() const {
    return std::tuple(tail, head, entry, searching, listed, served, owner, thief, thief_saw_tail, go_back_is_due,
                      sleeper);
  }
  [[nodiscard]] bool shows_an_entry() const { return head < tail && entry != null; }
  /// [S2]
  void push_is_told() {
    if (!searching && listed) {
      served = true;
    }
  }
};

class protocol {
 public:
  explicit protocol(weakening w) : without_(w) {}

  [[nodiscard]] std::vector<machine> after(const machine& m) const {
    std::vector<machine> next;
    machine n = m;
    if (owner(n)) next.push_back(n);
    n = m;
    if (thief(n)) next.push_back(n);
    n = m;
    if (sleeper(n)) next.push_back(n);
    return next;
  }

 private:
  bool owner(machine& m) const {
    switch (m.owner) {
      case machine::lower_tail:  // [D2]
        m.tail = 0;
        break;
      case machine::claim:  // [D3]
        m.entry = machine::null;
        break;
      case machine::look_at_head:
        m.head = without_ == weakening::owners_look ? m.head : std::uint8_t{0};
        break;
      case machine::fill:  // [D1]
        m.entry = machine::new_task;
        break;
      case machine::raise_tail:
        m.tail = 1;
        break;
      case machine::look_for_searchers:
        m.push_is_told();
        break;
      default:
        return false;
    }
    m.owner = static_cast<machine::owner_step>(m.owner + 1);
    return true;
  }

  bool thief(machine& m) const {
    const auto give_up = [&m] { m.thief = machine::thief_over; };
    switch (m.thief) {
      case machine::look_at_ends:  // [D4]
        m.thief_saw_tail = m.tail;
        m.thief = machine::look_at_entry;
        if (m.head >= m.tail) give_up();
        break;
      case machine::look_at_entry:  // not empty: not for it
        m.thief = machine::move_head;
        if (m.entry != machine::null) give_up();
        break;
      case machine::move_head:  // [D6]
        m.thief = machine::look_at_tail;
        if (m.head != 0) give_up();
        m.head = 1;
        break;
      case machine::look_at_tail:  // [D9]
        m.thief = machine::look_again;
        m.go_back_is_due = m.tail < 1;
        if (without_ == weakening::thiefs_look) give_up();
        break;
      case machine::look_again:
        m.go_back_is_due = m.go_back_is_due || m.entry != machine::null;
        m.thief = machine::go_back;
        if (!m.go_back_is_due) give_up();
        break;
      case machine::go_back:
        m.head = 0;
        m.thief = machine::tell;
        break;
      case machine::tell:  // [D10]
        if (without_ != weakening::thiefs_word) m.push_is_told();
        give_up();
        break;
      default:
        return false;
    }
    return true;
  }

  static bool sleeper(machine& m) {
    switch (m.sleeper) {
      case machine::announce:  // [S1]
        m.listed = true;
        break;
      case machine::stop_searching:
        m.searching = false;
        break;
      case machine::last_look:
        if (m.shows_an_entry()) {
          m.served = m.served || m.entry == machine::new_task;
          m.listed = false;
          m.searching = m.entry != machine::new_task;  // it missed the old one after all, and begins anew
          m.sleeper = m.searching ? machine::announce : machine::sleeper_over;
          return true;
        }
        break;
      default:
        return false;
    }
    m.sleeper = static_cast<machine::sleeper_step>(m.sleeper + 1);
    return true;
  }

  weakening without_;
};

/// Ends in which nobody has taken the new task or was called for it.
std::size_t lost(weakening w) {
  const protocol steps(w);
  std::size_t result = 0;
  std::set<decltype(machine{}.key())> seen;
  machine hole;  // another thief has the old task: the owner finds nothing, and puts both ends back ([D7])
  hole.entry = machine::null;
  std::vector<machine> open{machine{}, hole};
  while (!open.empty()) {
    const machine m = open.back();
    open.pop_back();
    if (!seen.insert(m.key()).second) {
      continue;
    }
    const std::vector<machine> next = steps.after(m);
    result += next.empty() && !m.served ? 1U : 0U;
    open.insert(open.end(), next.begin(), next.end());
  }
  EXPECT_GT(seen.size(), 200U);
  return result;
}

TEST(hidden_entry_model, no_push_is_lost) { EXPECT_EQ(lost(weakening::none), 0U); }

TEST(hidden_entry_model, every_weakening_loses_one) {
  EXPECT_GT(lost(weakening::owners_look), 0U) << "[D3], [D7] the owner does not look at head";
  EXPECT_GT(lost(weakening::thiefs_look), 0U) << "[D9] the thief does not look again";
  EXPECT_GT(lost(weakening::thiefs_word), 0U) << "[D10] the thief tells nobody";
}

}  // namespace
