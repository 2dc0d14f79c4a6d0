/// The checker itself, on litmus tests with published outcomes: each must give exactly what C++20 allows.
///
/// Sources: Batty and others, "Mathematizing C++ Concurrency" (2011); Lahav and others, "Repairing Sequential
/// Consistency in C/C++11" (2017), which C++20 follows; Alglave and others, "Herding Cats" (2014), for the names.
/// Two kinds of outcomes are allowed and not produced: a load that reads what is stored later (LB), and an order of
/// seq_cst operations against which something was read (Z6.U). Both are written down here as they are.
#include "engine/model.hpp"
#include "sync/asymmetric_fence.hpp"

namespace {

using namespace homing;
using namespace homing::model;
using sync::acq_rel;
using sync::acquire;
using sync::relaxed;
using sync::release;
using sync::seq_cst;
using mo = std::memory_order;
using shared = sync::atomic<int>;

const std::set<outcome> any_of_two{{0, 0}, {0, 1}, {1, 0}, {1, 1}};
const std::set<outcome> not_both_zero{{0, 1}, {1, 0}, {1, 1}};

enum class between { nothing, seq_cst_fence, acq_rel_fence, light, heavy };

void pass(between what) {
  switch (what) {
    case between::nothing:
      return;
    case between::seq_cst_fence:
      return sync::full_fence();
    case between::acq_rel_fence:
      return running->fence(order::acq_rel, std::source_location::current());
    case between::light:
      return sync::light_fence();
    case between::heavy:
      return sync::heavy_fence();
  }
}

// --- SB: store buffering
// ----------------------------------------------------------------------------------------------

template <mo Store, mo Load, between First = between::nothing, between Second = First>
void sb() {
  shared x = 0;
  shared y = 0;
  int a = 0;
  int b = 0;
  threads({[&] {
             x.store(1, Store);
             pass(First);
             a = y.load(Load);
           },
           [&] {
             y.store(1, Store);
             pass(Second);
             b = x.load(Load);
           }});
  result({a, b});
}
const scenario sb_relaxed("SB relaxed", {.outcomes = any_of_two}, sb<relaxed, relaxed>);
const scenario sb_acq_rel("SB release, acquire", {.outcomes = any_of_two}, sb<release, acquire>);
const scenario sb_seq_cst("SB seq_cst", {.outcomes = not_both_zero}, sb<seq_cst, seq_cst>);
const scenario sb_half("SB seq_cst stores, acquire loads", {.outcomes = any_of_two}, sb<seq_cst, acquire>);
const scenario sb_fences("SB seq_cst fences", {.outcomes = not_both_zero},
                         sb<relaxed, relaxed, between::seq_cst_fence>);
const scenario sb_one_fence("SB one seq_cst fence", {.outcomes = any_of_two},
                            sb<relaxed, relaxed, between::seq_cst_fence, between::nothing>);
const scenario sb_weak_fences("SB acq_rel fences", {.outcomes = any_of_two},
                              sb<relaxed, relaxed, between::acq_rel_fence>);
const scenario sb_light_heavy("SB light and heavy fence", {.outcomes = not_both_zero},
                              sb<relaxed, relaxed, between::light, between::heavy>);
const scenario sb_light("SB two light fences", {.outcomes = any_of_two}, sb<relaxed, relaxed, between::light>);
const scenario sb_heavy("SB two heavy fences", {.outcomes = not_both_zero}, sb<relaxed, relaxed, between::heavy>);
const scenario sb_light_full("SB light and seq_cst fence", {.outcomes = any_of_two},
                             sb<relaxed, relaxed, between::light, between::seq_cst_fence>);
const scenario sb_heavy_full("SB heavy and seq_cst fence", {.outcomes = not_both_zero},
                             sb<relaxed, relaxed, between::heavy, between::seq_cst_fence>);

/// A read-modify-write of the one variable is no fence for the other.
template <mo Order>
void sb_updates() {
  shared x = 0;
  shared y = 0;
  int a = 0;
  int b = 0;
  threads({[&] {
             static_cast<void>(x.exchange(1, Order));
             a = y.load(Order == seq_cst ? seq_cst : acquire);
           },
           [&] {
             static_cast<void>(y.exchange(1, Order));
             b = x.load(Order == seq_cst ? seq_cst : acquire);
           }});
  result({a, b});
}
const scenario sb_exchange("SB acq_rel exchanges", {.outcomes = any_of_two}, sb_updates<acq_rel>);
const scenario sb_exchange_sc("SB seq_cst exchanges", {.outcomes = not_both_zero}, sb_updates<seq_cst>);

// --- MP: message passing
// ----------------------------------------------------------------------------------------------

template <mo Store, mo Load, between Writer = between::nothing, between Reader = Writer>
void mp() {
  shared data = 0;
  shared flag = 0;
  int f = 0;
  int d = 0;
  threads({[&] {
             data.store(1, relaxed);
             pass(Writer);
             flag.store(1, Store);
           },
           [&] {
             f = flag.load(Load);
             pass(Reader);
             d = data.load(relaxed);
           }});
  result({f, d});
}
const std::set<outcome> passed{{0, 0}, {0, 1}, {1, 1}};
const scenario mp_relaxed("MP relaxed", {.outcomes = any_of_two}, mp<relaxed, relaxed>);
const scenario mp_release("MP release, relaxed", {.outcomes = any_of_two}, mp<release, relaxed>);
const scenario mp_acquire("MP relaxed, acquire", {.outcomes = any_of_two}, mp<relaxed, acquire>);
const scenario mp_both("MP release, acquire", {.outcomes = passed}, mp<release, acquire>);
const scenario mp_seq_cst("MP seq_cst", {.outcomes = passed}, mp<seq_cst, seq_cst>);
const scenario mp_fences("MP acq_rel fences", {.outcomes = passed}, mp<relaxed, relaxed, between::acq_rel_fence>);
const scenario mp_fence_first("MP fence, acquire", {.outcomes = passed},
                              mp<relaxed, acquire, between::acq_rel_fence, between::nothing>);
const scenario mp_fence_second("MP release, fence", {.outcomes = passed},
                               mp<release, relaxed, between::nothing, between::acq_rel_fence>);
const scenario mp_light("MP two light fences", {.outcomes = any_of_two}, mp<relaxed, relaxed, between::light>);
const scenario mp_heavy("MP light and heavy fence", {.outcomes = passed},
                        mp<relaxed, relaxed, between::light, between::heavy>);

// --- LB: load buffering. {1, 1} is allowed where both are relaxed, and not produced: no load reads from the future.
// ----

template <mo Load, mo Store>
void lb() {
  shared x = 0;
  shared y = 0;
  int a = 0;
  int b = 0;
  threads({[&] {
             a = x.load(Load);
             y.store(1, Store);
           },
           [&] {
             b = y.load(Load);
             x.store(1, Store);
           }});
  result({a, b});
}
const std::set<outcome> not_both_one{{0, 0}, {0, 1}, {1, 0}};
const scenario lb_relaxed("LB relaxed (without 1,1)", {.outcomes = not_both_one}, lb<relaxed, relaxed>);
const scenario lb_acq_rel("LB acquire, release", {.outcomes = not_both_one}, lb<acquire, release>);
const scenario lb_seq_cst("LB seq_cst", {.outcomes = not_both_one}, lb<seq_cst, seq_cst>);

// --- IRIW: independent reads of independent writes
// --------------------------------------------------------------------

std::set<outcome> all_but(std::size_t size, const std::set<outcome>& without) {
  std::set<outcome> all;
  for (unsigned bits = 0; bits < 1U << size; ++bits) {
    outcome one;
    for (std::size_t i = 0; i < size; ++i) {
      one.push_back(bits >> i & 1U);
    }
    all.insert(one);
  }
  for (const outcome& o : without) {
    all.erase(o);
  }
  return all;
}

template <mo Store, mo Load, between Reader = between::nothing>
void iriw() {
  shared x = 0;
  shared y = 0;
  int a = 0;
  int b = 0;
  int c = 0;
  int d = 0;
  threads({[&] { x.store(1, Store); }, [&] { y.store(1, Store); },
           [&] {
             a = x.load(Load);
             pass(Reader);
             b = y.load(Load);
           },
           [&] {
             c = y.load(Load);
             pass(Reader);
             d = x.load(Load);
           }});
  result({a, b, c, d});
}
const scenario iriw_relaxed("IRIW relaxed", {.outcomes = all_but(4, {})}, iriw<relaxed, relaxed>);
const scenario iriw_acq_rel("IRIW release, acquire", {.outcomes = all_but(4, {})}, iriw<release, acquire>);
const scenario iriw_seq_cst("IRIW seq_cst", {.outcomes = all_but(4, {{1, 0, 1, 0}})}, iriw<seq_cst, seq_cst>);
const scenario iriw_fences("IRIW seq_cst fences", {.outcomes = all_but(4, {{1, 0, 1, 0}})},
                           iriw<relaxed, relaxed, between::seq_cst_fence>);
const scenario iriw_weak("IRIW acq_rel fences", {.outcomes = all_but(4, {})},
                         iriw<relaxed, relaxed, between::acq_rel_fence>);

// --- coherence
// --------------------------------------------------------------------------------------------------------

void corr() {
  shared x = 0;
  int a = 0;
  int b = 0;
  threads({[&] {
             x.store(1, relaxed);
             x.store(2, relaxed);
           },
           [&] {
             a = x.load(relaxed);
             b = x.load(relaxed);
           }});
  result({a, b});
}
const scenario coherence_rr("CoRR", {.outcomes = {{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 2}}}, corr);

/// Two readers agree about the order of two writers.
void corr_two_readers() {
  shared x = 0;
  int a = 0;
  int b = 0;
  int c = 0;
  int d = 0;
  threads({[&] { x.store(1, relaxed); }, [&] { x.store(2, relaxed); },
           [&] {
             a = x.load(relaxed);
             b = x.load(relaxed);
           },
           [&] {
             c = x.load(relaxed);
             d = x.load(relaxed);
           }});
  require(!(a == 1 && b == 2 && c == 2 && d == 1) && !(a == 2 && b == 1 && c == 1 && d == 2), "one order for all");
  result({(a == 1 && b == 2) || (c == 1 && d == 2) ? 1 : 0, (a == 2 && b == 1) || (c == 2 && d == 1) ? 1 : 0});
}
const scenario coherence_two("CoRR of two readers", {.outcomes = {{0, 0}, {1, 0}, {0, 1}}}, corr_two_readers);

/// A thread reads its own store or a later one, and does not store before what it has read.
void cowr_corw() {
  shared x = 0;
  int a = 0;
  int b = 0;
  threads({[&] {
             x.store(1, relaxed);
             a = x.load(relaxed);
           },
           [&] {
             b = x.load(relaxed);
             x.store(2, relaxed);
           }});
  result({a, b, x.load(relaxed)});
}
const scenario coherence_wr("CoWR and CoRW", {.outcomes = {{1, 0, 1}, {1, 0, 2}, {2, 0, 2}, {1, 1, 2}, {2, 1, 2}}},
                            cowr_corw);

// --- 2+2W, R, S: what one thread writes against another's writes
// ------------------------------------------------------

template <mo Store, between Both = between::nothing>
void two_plus_two_w() {
  shared x = 0;
  shared y = 0;
  threads({[&] {
             x.store(1, Store);
             pass(Both);
             y.store(2, Store);
           },
           [&] {
             y.store(1, Store);
             pass(Both);
             x.store(2, Store);
           }});
  result({x.load(relaxed), y.load(relaxed)});
}
const std::set<outcome> all_last{{1, 1}, {1, 2}, {2, 1}, {2, 2}};
const std::set<outcome> ordered_last{{1, 2}, {2, 1}, {2, 2}};
const scenario w_relaxed("2+2W relaxed", {.outcomes = all_last}, two_plus_two_w<relaxed>);
const scenario w_release("2+2W release", {.outcomes = all_last}, two_plus_two_w<release>);
const scenario w_seq_cst("2+2W seq_cst", {.outcomes = ordered_last}, two_plus_two_w<seq_cst>);
const scenario w_fences("2+2W seq_cst fences", {.outcomes = ordered_last},
                        two_plus_two_w<relaxed, between::seq_cst_fence>);
const scenario w_weak("2+2W acq_rel fences", {.outcomes = all_last}, two_plus_two_w<relaxed, between::acq_rel_fence>);

template <mo Store, mo Load>
void r_test() {
  shared x = 0;
  shared y = 0;
  int a = 0;
  threads({[&] {
             x.store(1, Store);
             y.store(1, Store);
           },
           [&] {
             y.store(2, Store);
             a = x.load(Load);
           }});
  result({a, y.load(relaxed)});
}
const scenario r_relaxed("R relaxed", {.outcomes = {{0, 1}, {0, 2}, {1, 1}, {1, 2}}}, r_test<relaxed, relaxed>);
const scenario r_acq_rel("R release, acquire", {.outcomes = {{0, 1}, {0, 2}, {1, 1}, {1, 2}}},
                         r_test<release, acquire>);
const scenario r_seq_cst("R seq_cst", {.outcomes = {{0, 1}, {1, 1}, {1, 2}}}, r_test<seq_cst, seq_cst>);

template <mo Store, mo Load>
void s_test() {
  shared x = 0;
  shared y = 0;
  int a = 0;
  threads({[&] {
             x.store(2, relaxed);
             y.store(1, Store);
           },
           [&] {
             a = y.load(Load);
             x.store(1, relaxed);
           }});
  result({a, x.load(relaxed)});
}
const scenario s_relaxed("S relaxed", {.outcomes = {{0, 1}, {0, 2}, {1, 1}, {1, 2}}}, s_test<relaxed, relaxed>);
const scenario s_acq_rel("S release, acquire", {.outcomes = {{0, 1}, {0, 2}, {1, 1}}}, s_test<release, acquire>);

// --- WRC: what was read is passed on
// ----------------------------------------------------------------------------------

template <mo Store, mo Load>
void wrc() {
  shared x = 0;
  shared y = 0;
  int a = 0;
  int b = 0;
  int c = 0;
  threads({[&] { x.store(1, relaxed); },
           [&] {
             a = x.load(relaxed);
             y.store(1, Store);
           },
           [&] {
             b = y.load(Load);
             c = x.load(relaxed);
           }});
  result({a, b, c});
}
const scenario wrc_relaxed("WRC relaxed", {.outcomes = all_but(3, {})}, wrc<relaxed, relaxed>);
const scenario wrc_acq_rel("WRC release, acquire", {.outcomes = all_but(3, {{1, 1, 0}})}, wrc<release, acquire>);

// --- release sequences
// ------------------------------------------------------------------------------------------------

/// An update goes on with the sequence that it has read from, whatever its order.
void sequence_by_update() {
  shared data = 0;
  shared flag = 0;
  int f = 0;
  int d = 0;
  threads({[&] {
             data.store(1, relaxed);
             flag.store(1, release);
           },
           [&] { static_cast<void>(flag.fetch_add(2, relaxed)); },
           [&] {
             f = flag.load(acquire);
             d = data.load(relaxed);
           }});
  result({f, d});
}
const scenario sequence_update("release sequence, an update",
                               {.outcomes = {{0, 0}, {0, 1}, {1, 1}, {2, 0}, {2, 1}, {3, 1}}}, sequence_by_update);

/// A later store of the same thread ends it: so it is since C++20.
void sequence_by_store() {
  shared data = 0;
  shared flag = 0;
  int f = 0;
  int d = 0;
  threads({[&] {
             data.store(1, relaxed);
             flag.store(1, release);
             flag.store(2, relaxed);
           },
           [&] {
             f = flag.load(acquire);
             d = data.load(relaxed);
           }});
  result({f, d});
}
const scenario sequence_store("release sequence, a store ends it",
                              {.outcomes = {{0, 0}, {0, 1}, {1, 1}, {2, 0}, {2, 1}}}, sequence_by_store);

/// Another thread's store does so, too.
void sequence_by_other() {
  shared data = 0;
  shared flag = 0;
  int f = 0;
  int d = 0;
  threads({[&] {
             data.store(1, relaxed);
             flag.store(1, release);
           },
           [&] { flag.store(2, relaxed); },
           [&] {
             f = flag.load(acquire);
             d = data.load(relaxed);
           }});
  result({f, d});
}
const scenario sequence_other("release sequence, another's store",
                              {.outcomes = {{0, 0}, {0, 1}, {1, 1}, {2, 0}, {2, 1}}}, sequence_by_other);

void updates_are_atomic() {
  shared x = 0;
  int a = 0;
  int b = 0;
  threads({[&] { a = x.fetch_add(1, relaxed); }, [&] { b = x.fetch_add(1, relaxed); }});
  require(x.load(relaxed) == 2, "none is lost");
  result({a, b});
}
const scenario atomic_updates("two updates", {.outcomes = {{0, 1}, {1, 0}}}, updates_are_atomic);

// --- Z6.U: {1, 3, 0} is allowed since C++20, and not produced: S is the order in which seq_cst operations run.
// ---------

void z6u() {
  shared x = 0;
  shared y = 0;
  int b = 0;
  int c = 0;
  int d = 0;
  threads({[&] {
             x.store(1, seq_cst);
             y.store(1, release);
           },
           [&] {
             b = y.fetch_add(1, seq_cst);
             c = y.load(relaxed);
           },
           [&] {
             y.store(3, seq_cst);
             d = x.load(seq_cst);
           }});
  require(!(b == 1 && c == 3 && d == 0), "S is the order of execution");
}
const scenario z6_u("Z6.U (without 1,3,0)", {}, z6u);

}  // namespace
