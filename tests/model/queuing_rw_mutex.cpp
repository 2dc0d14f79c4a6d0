/// Queuing reader-writer mutex: writers exclude all, readers only writers, and everybody is served. Method: every
/// execution of two requests or three; docs/protocols/queuing_rw_mutex.md.
#include "tbb_atomics.hpp"

#define __TBB_BUILD 1
#include "tbb/queuing_rw_mutex.cpp"
#undef atomic

#include "engine/model.hpp"

namespace {

using namespace homing;
using namespace homing::model;
using tbb::detail::d1::queuing_rw_mutex;
using request = queuing_rw_mutex::scoped_lock;

struct book {
  queuing_rw_mutex mutex;
  sync::plain<int> pages = 0;

  void write() {
    request r(mutex, true);
    ++pages;
  }
  void read(int least) {
    request r(mutex, false);
    require(pages >= least, "a reader sees what was written before it");
  }
  void upgrade() {
    request r(mutex, false);
    const int before = pages;
    if (r.upgrade_to_writer()) {
      require(pages == before, "nobody wrote before an upgrade that did not let go");
    }
    ++pages;
  }
  void downgrade() {
    request r(mutex, true);
    ++pages;
    const int mine = pages;
    r.downgrade_to_reader();
    require(pages == mine, "nobody writes while a reader is there");
  }
};

const scenario writers("queuing: two writers", {}, [] {
  book b;
  threads({[&] { b.write(); }, [&] { b.write(); }});
  require(b.pages == 2, "each wrote");
});

const scenario readers("queuing: a writer and a reader", {}, [] {
  book b;
  threads({[&] { b.write(); }, [&] { b.read(0); }});
  require(b.pages == 1, "it wrote");
});

const scenario three("queuing: a writer and two readers", {.preemptions = 1, .sample_preemptions = 0}, [] {
  book b;
  threads({[&] { b.write(); }, [&] { b.read(0); }, [&] { b.read(0); }});
  require(b.pages == 1, "it wrote");
});

const scenario three_writers("queuing: three writers", {.preemptions = 1, .sample_preemptions = 0}, [] {
  book b;
  threads({[&] { b.write(); }, [&] { b.write(); }, [&] { b.write(); }});
  require(b.pages == 3, "each wrote");
});

const scenario upgrades("queuing: two upgrades", {.preemptions = 2, .sample_preemptions = 0}, [] {
  book b;
  threads({[&] { b.upgrade(); }, [&] { b.upgrade(); }});
  require(b.pages == 2, "each wrote");
});

const scenario upgrade_write("queuing: an upgrade and a writer", {.preemptions = 3, .sample_preemptions = 1}, [] {
  book b;
  threads({[&] { b.upgrade(); }, [&] { b.write(); }});
  require(b.pages == 2, "each wrote");
});

const scenario upgrade_read("queuing: an upgrade and a reader", {.preemptions = 3, .sample_preemptions = 1}, [] {
  book b;
  threads({[&] { b.upgrade(); }, [&] { b.read(0); }});
  require(b.pages == 1, "it wrote");
});

const scenario downgrades("queuing: a downgrade and a writer", {.preemptions = 3, .sample_preemptions = 1}, [] {
  book b;
  threads({[&] { b.downgrade(); }, [&] { b.write(); }});
  require(b.pages == 2, "each wrote");
});

const scenario downgrade_read("queuing: a downgrade and a reader", {.preemptions = 3, .sample_preemptions = 1}, [] {
  book b;
  threads({[&] { b.downgrade(); }, [&] { b.read(0); }});
  require(b.pages == 1, "it wrote");
});

const scenario tries("queuing: tries beside a writer", {.preemptions = 1, .sample_preemptions = 0}, [] {
  book b;
  threads({[&] {
             request r;
             if (r.try_acquire(b.mutex, true)) {
               ++b.pages;
               r.release();
             }
           },
           [&] {
             request r;
             if (r.try_acquire(b.mutex, false)) {
               require(b.pages >= 0, "a reader reads");
             }
           },
           [&] { b.write(); }});
  require(b.pages >= 1, "it wrote");
});

}  // namespace
