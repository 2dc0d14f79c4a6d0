/// The speculative mutexes without speculation: the spin mutexes that they inherit do the locking.
///
/// Intel has disabled transactional memory on most CPUs that had it, and a transaction that never starts is always
/// allowed: the lock is then simply taken. One of oneTBB's own tests wants to see transactions where the CPU has them.
/// The header's `only_speculate` asks to give up where speculation is impossible, so with it nothing is acquired.
#include <oneapi/tbb/spin_mutex.h>
#include <oneapi/tbb/spin_rw_mutex.h>

namespace tbb::detail::r1 {

struct rtm_mutex_impl {
  using mutex = d1::rtm_mutex;
  using scoped_lock = mutex::scoped_lock;

  static void hold(mutex& m, scoped_lock& s) noexcept {
    s.m_mutex = &m;
    s.m_transaction_state = mutex::rtm_state::rtm_real;
  }

  static void acquire(mutex& m, scoped_lock& s) {
    m.lock();
    hold(m, s);
  }

  static bool try_acquire(mutex& m, scoped_lock& s) {
    const bool locked = m.try_lock();
    if (locked) {
      hold(m, s);
    }
    return locked;
  }

  static void release(scoped_lock& s) {
    mutex& m = *s.m_mutex;
    s.m_mutex = nullptr;
    s.m_transaction_state = mutex::rtm_state::rtm_none;
    m.unlock();
  }
};

struct rtm_rw_mutex_impl {
  using mutex = d1::rtm_rw_mutex;
  using scoped_lock = mutex::scoped_lock;
  using state = mutex::rtm_type;

  static void hold(mutex& m, scoped_lock& s, state how) noexcept {
    s.m_mutex = &m;
    s.m_transaction_state = how;
  }

  static void acquire_writer(mutex& m, scoped_lock& s) {
    m.lock();
    hold(m, s, state::rtm_real_writer);
  }

  static void acquire_reader(mutex& m, scoped_lock& s) {
    m.lock_shared();
    hold(m, s, state::rtm_real_reader);
  }

  static bool try_acquire_writer(mutex& m, scoped_lock& s) {
    const bool locked = m.try_lock();
    if (locked) {
      hold(m, s, state::rtm_real_writer);
    }
    return locked;
  }

  static bool try_acquire_reader(mutex& m, scoped_lock& s) {
    const bool locked = m.try_lock_shared();
    if (locked) {
      hold(m, s, state::rtm_real_reader);
    }
    return locked;
  }

  static void release(scoped_lock& s) {
    mutex& m = *s.m_mutex;
    const bool writer = s.m_transaction_state == state::rtm_real_writer;
    hold(m, s, state::rtm_not_in_mutex);
    s.m_mutex = nullptr;
    if (writer) {
      m.unlock();
    } else {
      m.unlock_shared();
    }
  }

  static bool upgrade(scoped_lock& s) {
    const bool kept = s.m_mutex->upgrade();
    s.m_transaction_state = state::rtm_real_writer;
    return kept;
  }

  static bool downgrade(scoped_lock& s) {
    s.m_transaction_state = state::rtm_real_reader;
    s.m_mutex->downgrade();
    return true;
  }
};

void acquire(d1::rtm_mutex& m, d1::rtm_mutex::scoped_lock& s, bool only_speculate) {
  if (!only_speculate) {
    rtm_mutex_impl::acquire(m, s);
  }
}

bool try_acquire(d1::rtm_mutex& m, d1::rtm_mutex::scoped_lock& s) { return rtm_mutex_impl::try_acquire(m, s); }

void release(d1::rtm_mutex::scoped_lock& s) { rtm_mutex_impl::release(s); }

void acquire_writer(d1::rtm_rw_mutex& m, d1::rtm_rw_mutex::scoped_lock& s, bool only_speculate) {
  if (!only_speculate) {
    rtm_rw_mutex_impl::acquire_writer(m, s);
  }
}

void acquire_reader(d1::rtm_rw_mutex& m, d1::rtm_rw_mutex::scoped_lock& s, bool only_speculate) {
  if (!only_speculate) {
    rtm_rw_mutex_impl::acquire_reader(m, s);
  }
}

bool try_acquire_writer(d1::rtm_rw_mutex& m, d1::rtm_rw_mutex::scoped_lock& s) {
  return rtm_rw_mutex_impl::try_acquire_writer(m, s);
}

bool try_acquire_reader(d1::rtm_rw_mutex& m, d1::rtm_rw_mutex::scoped_lock& s) {
  return rtm_rw_mutex_impl::try_acquire_reader(m, s);
}

void release(d1::rtm_rw_mutex::scoped_lock& s) { rtm_rw_mutex_impl::release(s); }

bool upgrade(d1::rtm_rw_mutex::scoped_lock& s) { return rtm_rw_mutex_impl::upgrade(s); }

bool downgrade(d1::rtm_rw_mutex::scoped_lock& s) { return rtm_rw_mutex_impl::downgrade(s); }

}  // namespace tbb::detail::r1
