/// The library's users and the ender: when nobody is left, somebody ends the workers. Method: every execution of an
/// ender that gives up and of one or two users that leave; docs/protocols/arena.md [A28].
#include "runtime/arena/library_users.hpp"
#include "engine/model.hpp"

namespace {

using namespace homing;
using namespace homing::model;

struct library {
  scheduler::library_users users;
  sync::atomic<int> enders = 1;  ///< that there are, or that somebody is about to make

  explicit library(int count) {
    require(users.claim_end(), "there is no ender yet");
    for (int i = 0; i < count; ++i) {
      users.add();
    }
  }
  void leave() {
    if (users.drop() && users.claim_end()) {
      enders.fetch_add(1, sync::relaxed);
    }
  }
  void give_up() {
    const bool goes_on = users.drop_end() && users.claim_end();
    if (!goes_on) {
      enders.fetch_sub(1, sync::relaxed);
    }
  }
  void require_one() const { require(enders.load(sync::relaxed) == 1, "A28: nobody is left, and one ender is there"); }
};

const scenario one_leaves("library_users: the last one leaves as the ender gives up", {}, [] {
  library l(1);
  threads({[&] { l.leave(); }, [&] { l.give_up(); }});
  l.require_one();
});

const scenario two_leave("library_users: two leave as the ender gives up", {}, [] {
  library l(2);
  threads({[&] { l.leave(); }, [&] { l.leave(); }, [&] { l.give_up(); }});
  l.require_one();
});

const scenario one_comes("library_users: one comes and leaves as the ender gives up", {}, [] {
  library l(0);
  threads({[&] {
             l.users.add();
             l.leave();
           },
           [&] { l.give_up(); }});
  l.require_one();
});

}  // namespace
