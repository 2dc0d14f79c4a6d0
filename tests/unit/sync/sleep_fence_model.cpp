// No push is lost between a pusher and the last searcher that stops: all interleavings of sleep.md's [S2], [S3] and
// [S9] in a model, with a store buffer for the push (x86's order; the counts change by locked instructions, which wait
// for it). Each weakening of the protocol must show a lost push: the model would be too weak to prove anything if it
// didn't.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace {

enum class duty : std::uint8_t { searchers, changing, pushers };

/// What is left out of the protocol.
enum class weakening {
  none,
  searchers_fence,  // [S3] behind no fence
  second_look,      // [S3] looks once, before the fence
  pushers_fence,    // [S9] pushers never pass a full one
  changers_fence,   // [S9] to `pushers` without a fence in between
  no_changing,      // [S9] to `pushers` in one step, the fence after it
  takers_fence,     // [S9] the duty taken back without a heavy fence
};

constexpr unsigned searchers = 2;
constexpr unsigned cycles = 2;  // how often each of them begins to search

/// Where a thread is in its program; what it has read.
struct pusher {
  enum step : std::uint8_t { push, read_duty, fence, read_count, over };
  step at = push;
  duty seen = duty::searchers;
};
struct searcher {
  enum step : std::uint8_t {
    begin,
    look,
    leave_count,
    first_look,
    read_duty,
    act,
    change_fence,
    change,
    take_back,
    look_again,
    over
  };
  step at = begin;
  duty seen = duty::searchers;
  std::uint8_t begun = 0;
};

struct machine {
  bool pushed = false;   // in the pusher's store buffer
  bool visible = false;  // and seen by all
  bool served = false;   // somebody has taken it, or was called for it
  std::uint8_t searching = 0;
  duty pays = duty::searchers;
  pusher p;
  std::array<searcher, searchers> s;

  void drain() {
    visible = visible || pushed;
    pushed = false;
  }
  [[nodiscard]] bool work() const { return visible && !served; }
  [[nodiscard]] auto key() const {
    const auto of = [](const searcher& one) { return std::tuple(one.at, one.seen, one.begun); };
    return std::tuple(pushed, visible, served, searching, pays, p.at, p.seen, of(s[0]), of(s[1]));
  }
};

/// All states that one step leads to.
class protocol {
 public:
  explicit protocol(weakening w) : without_(w) {}

  [[nodiscard]] std::vector<machine> after(const machine& m) const {
    std::vector<machine> next;
    if (m.pushed) {
      machine n = m;
      n.drain();
      next.push_back(n);
    }
    push_step(m, next);
    for (unsigned i = 0; i < searchers; ++i) {
      search_step(m, i, next);
    }
    return next;
  }

 private:
  void push_step(const machine& m, std::vector<machine>& next) const {
    machine n = m;
    switch (m.p.at) {
      case pusher::push:
        n.pushed = true;
        n.p.at = pusher::read_duty;
        break;
      case pusher::read_duty:
        n.p.seen = m.pays;
        n.p.at = m.pays != duty::searchers && without_ != weakening::pushers_fence ? pusher::fence : pusher::read_count;
        break;
      case pusher::fence:
        n.drain();
        n.p.at = pusher::read_count;
        break;
      case pusher::read_count:
        if (m.searching == 0) {
          n.drain();  // the call is a locked instruction
          n.served = true;
        }
        n.p.at = pusher::over;
        break;
      default:
        return;
    }
    next.push_back(n);
  }

  void search_step(const machine& m, unsigned i, std::vector<machine>& next) const {
    machine n = m;
    searcher& me = n.s[i];
    switch (m.s[i].at) {
      case searcher::begin:
        ++n.searching;
        ++me.begun;
        me.at = searcher::look;
        break;
      case searcher::look:  // it stops with the task if it sees it, and if not, with another one
        n.served = m.served || m.visible;
        me.at = searcher::leave_count;
        break;
      case searcher::leave_count:
        --n.searching;
        if (n.searching == 0) {
          me.at = searcher::first_look;
        } else {
          again(me);
        }
        break;
      case searcher::first_look:
        look(n, me, without_ == weakening::second_look ? searcher::over : searcher::read_duty);
        if (me.at == searcher::over) {
          again(me);
        }
        break;
      case searcher::read_duty:
        me.seen = m.pays;
        me.at = searcher::act;
        break;
      case searcher::act:
        act(m, i, next);
        return;
      case searcher::change_fence:
        heavy_fence(n, weakening::changers_fence);
        me.at = searcher::change;
        break;
      case searcher::change:  // the fence is passed: from now on pushers pay
        n.pays = duty::pushers;
        me.at = searcher::look_again;
        break;
      case searcher::take_back:
        heavy_fence(n, weakening::takers_fence);
        me.at = searcher::look_again;
        break;
      case searcher::look_again:
        look(n, me, searcher::over);
        if (me.at == searcher::over) {
          again(me);
        }
        break;
      default:
        return;
    }
    next.push_back(n);
  }

  /// see_all_pushes(): which way it goes depends on the clock, so each way is taken.
  void act(const machine& m, unsigned i, std::vector<machine>& next) const {
    if (m.s[i].seen == duty::pushers) {
      machine rely = m;
      rely.s[i].at = searcher::look_again;
      next.push_back(rely);
      machine back = m;
      if (back.pays == duty::pushers) {
        back.pays = duty::searchers;
      }
      back.s[i].at = searcher::take_back;
      next.push_back(back);
      return;
    }
    machine pay = m;
    heavy_fence(pay, weakening::searchers_fence);
    pay.s[i].at = searcher::look_again;
    next.push_back(pay);
    if (m.s[i].seen == duty::searchers && m.pays == duty::searchers) {
      machine change = m;
      change.pays = without_ == weakening::no_changing ? duty::pushers : duty::changing;
      change.s[i].at = searcher::change_fence;
      next.push_back(change);
    }
  }

  void heavy_fence(machine& m, weakening left_out) const {
    if (without_ != left_out) {
      m.drain();
    }
  }

  static void look(machine& m, searcher& me, searcher::step otherwise) {
    if (m.work()) {
      m.served = true;  // it calls a thread for it
      again(me);
    } else {
      me.at = otherwise;
    }
  }
  static void again(searcher& me) { me.at = me.begun < cycles ? searcher::begin : searcher::over; }

  weakening without_;
};

struct outcome {
  std::size_t states = 0;
  std::size_t lost = 0;  ///< ends in which nobody has taken the task or was called for it
};

outcome explore(weakening w) {
  const protocol steps(w);
  outcome result;
  std::set<decltype(machine{}.key())> seen;
  std::vector<machine> open{machine{}};
  while (!open.empty()) {
    const machine m = open.back();
    open.pop_back();
    if (!seen.insert(m.key()).second) {
      continue;
    }
    const std::vector<machine> next = steps.after(m);
    if (next.empty() && !m.served) {
      ++result.lost;
    }
    open.insert(open.end(), next.begin(), next.end());
  }
  result.states = seen.size();
  return result;
}

TEST(sleep_fence_model, no_push_is_lost) {
  const outcome all = explore(weakening::none);
  EXPECT_EQ(all.lost, 0U);
  EXPECT_GT(all.states, 1'000U);
}

TEST(sleep_fence_model, every_weakening_loses_one) {
  const std::array<std::pair<const char*, weakening>, 5> all{
      {{"[S3] behind no fence", weakening::searchers_fence},
       {"[S3] without the second look", weakening::second_look},
       {"[S9] pushers pass none", weakening::pushers_fence},
       {"[S9] no fence in the change", weakening::changers_fence},
       {"[S9] the change in one step", weakening::no_changing}}};
  for (const auto& [name, w] : all) {
    EXPECT_GT(explore(w).lost, 0U) << name;
  }
}

/// Whoever takes the duty back passes its fence all the same: it may have been late, and others have taken it before.
TEST(sleep_fence_model, the_fence_after_the_duty_is_taken_back_is_one_more_than_needed) {
  EXPECT_EQ(explore(weakening::takers_fence).lost, 0U);
}

}  // namespace
