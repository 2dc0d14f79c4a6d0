/// Mailbox: each posted item reaches exactly one taker, whole, in its poster's order. Method: every execution of
/// posters and takers on a ring of two cells; docs/protocols/mailbox.md.
#include "engine/model.hpp"
#include "sync/mailbox_place.hpp"

namespace {

using namespace homing;
using namespace homing::model;
using sync::mailbox;

constexpr auto all = [](std::uint64_t) { return true; };

struct letter {
  sync::plain<int> is_written = 0;
  sync::plain<int> times_taken = 0;
};

template <std::size_t Letters>
struct office {
  mailbox box{2};
  letter letters[Letters];
  bool posted[Letters] = {};
  std::size_t order[2 * Letters] = {};

  bool post(std::size_t i) {
    letters[i].is_written = 1;
    posted[i] = box.post(reinterpret_cast<std::uintptr_t>(&letters[i]), i);
    return posted[i];
  }
  /// The letter's number + 1; 0: none.
  std::size_t take() {
    const std::uintptr_t item = box.take(all);
    if (item == 0) {
      return 0;
    }
    auto& l = *reinterpret_cast<letter*>(item);
    require(l.is_written == 1, "a taker sees what its item points to");
    ++l.times_taken;
    return static_cast<std::size_t>(&l - letters) + 1;
  }
  void check() {
    while (take() != 0) {
    }
    for (std::size_t i = 0; i < Letters; ++i) {
      require(letters[i].times_taken == (posted[i] ? 1 : 0), "what was posted was taken once");
    }
  }
};

const scenario two_takers("mailbox: one poster, two takers", {.sample_preemptions = 3}, [] {
  office<2> o;
  threads({[&] {
             o.post(0);
             o.post(1);
           },
           [&] { o.take(); }, [&] { o.take(); }});
  o.check();
});

const scenario two_posters("mailbox: two posters, one taker", {.sample_preemptions = 3}, [] {
  office<2> o;
  threads({[&] { o.post(0); }, [&] { o.post(1); },
           [&] {
             o.take();
             o.take();
           }});
  o.check();
});

/// The third letter needs a cell of the lap before: M1, M5.
const scenario laps("mailbox: a second lap, in order", {}, [] {
  office<3> o;
  std::size_t last = 0;
  threads({[&] {
             o.post(0);
             o.post(1);
             o.post(2);
           },
           [&] {
             for (int i = 0; i < 3; ++i) {
               if (const std::size_t got = o.take(); got != 0) {
                 require(got > last, "first in, first out");
                 last = got;
               }
             }
           }});
  o.check();
});

const scenario full("mailbox: two posters at a full ring, and a taker", {.sample_preemptions = 2}, [] {
  office<4> o;
  o.post(0);
  o.post(1);
  threads({[&] { o.post(2); }, [&] { o.post(3); },
           [&] {
             o.take();
             o.take();
           }});
  o.check();
});

/// A look at the oldest before anything is claimed: a taker leaves what it may not take.
const scenario left("mailbox: mail that a taker leaves", {}, [] {
  office<2> o;
  threads({[&] { o.post(0); },
           [&] {
             const auto odd = [](std::uint64_t tag) { return tag % 2 == 1; };
             require(o.box.take(odd) == 0, "the even one is left");
             if (o.box.has(all)) {
               o.take();
             }
           }});
  o.check();
});

/// The tag that is looked at is the oldest item's, and not that of its cell's lap before.
const scenario looked("mailbox: a look at a cell's second lap", {}, [] {
  office<3> o;
  for (std::size_t i = 0; i < 2; ++i) {
    o.post(i);
    o.take();
  }
  threads({[&] { o.post(2); },
           [&] { require(!o.box.has([](std::uint64_t tag) { return tag == 0; }), "item 0 was taken"); }});
  o.check();
});

/// [M10] The first posts make the mailbox, by `make`: null if another post is at it.
template <typename Make>
void first_posts(Make&& make, unsigned posted_at_least) {
  sync::mailbox_place place;
  letter letters[2];
  bool posted[2] = {};
  const auto post = [&](std::size_t i) {
    letters[i].is_written = 1;
    mailbox* const box = make(place);
    posted[i] = box != nullptr && box->post(reinterpret_cast<std::uintptr_t>(&letters[i]), i);
  };
  const auto take = [&] {
    mailbox* const box = place.get();
    const std::uintptr_t item = box == nullptr ? 0 : box->take(all);
    if (item != 0) {
      auto& l = *reinterpret_cast<letter*>(item);
      require(l.is_written == 1, "a taker sees what its item points to");
      ++l.times_taken;
    }
  };
  threads({[&] { post(0); }, [&] { post(1); }, take});
  require(unsigned{posted[0]} + unsigned{posted[1]} >= posted_at_least, "so many are in the mailbox");
  take();
  take();
  for (std::size_t i = 0; i < 2; ++i) {
    require(letters[i].times_taken == (posted[i] ? 1 : 0), "what was posted was taken once, from the one mailbox");
  }
}

const scenario first_on_heap("mailbox: two first posts, and a taker", {.preemptions = 3, .sample_preemptions = 1},
                             [] { first_posts([](sync::mailbox_place& place) { return &place.get_or_make(2); }, 2); });

/// Who comes while another makes it has none, and does not wait.
const scenario first_in_room("mailbox: two first posts into a room, and a taker",
                             {.preemptions = 3, .sample_preemptions = 1}, [] {
                               alignas(sync::cache_line_bytes) std::byte room[mailbox::bytes_for(2)];
                               first_posts([&](sync::mailbox_place& place) { return place.get_or_make_in(room, 2); },
                                           1);
                             });

}  // namespace
