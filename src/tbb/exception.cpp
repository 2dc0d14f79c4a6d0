/// The exceptions that oneTBB's headers throw, with the types and messages that its users know.
#include <oneapi/tbb/detail/_exception.h>

#include <exception>
#include <new>
#include <stdexcept>

namespace homing::scheduler {
/// True while a global_control asks that an exception ends the program. Weak: without the scheduler there is no such
/// control, and exceptions are thrown.
[[gnu::weak]] bool terminate_on_exception() noexcept;
}  // namespace homing::scheduler

namespace tbb::detail::r1 {

const char* bad_last_alloc::what() const noexcept { return "bad allocation in previous or concurrent attempt"; }

const char* user_abort::what() const noexcept { return "User-initiated abort has terminated this operation"; }

const char* missing_wait::what() const noexcept { return "wait() was not called on the structured_task_group"; }

namespace {

template <typename Exception, typename... Arguments>
[[noreturn]] void throw_or_terminate(Arguments... arguments) {
  if (homing::scheduler::terminate_on_exception != nullptr && homing::scheduler::terminate_on_exception()) {
    try {
      throw Exception(arguments...);
    } catch (...) {
      std::terminate();  // from a handler: the C++ library says which exception it was
    }
  }
  throw Exception(arguments...);
}

}  // namespace

void throw_exception(exception_id id) {
  switch (id) {
    case exception_id::bad_alloc:
      throw_or_terminate<std::bad_alloc>();
    case exception_id::bad_last_alloc:
      throw_or_terminate<bad_last_alloc>();
    case exception_id::user_abort:
      throw_or_terminate<user_abort>();
    case exception_id::nonpositive_step:
      throw_or_terminate<std::invalid_argument>("Step must be positive");
    case exception_id::out_of_range:
      throw_or_terminate<std::out_of_range>("Index out of requested size range");
    case exception_id::reservation_length_error:
      throw_or_terminate<std::length_error>("Attempt to exceed implementation defined length limits");
    case exception_id::missing_wait:
      throw_or_terminate<missing_wait>();
    case exception_id::invalid_load_factor:
      throw_or_terminate<std::out_of_range>("Invalid hash load factor");
    case exception_id::invalid_key:
      throw_or_terminate<std::out_of_range>("invalid key");
    case exception_id::bad_tagged_msg_cast:
      throw_or_terminate<std::runtime_error>("Illegal tagged_msg cast");
    case exception_id::unsafe_wait:
      throw_or_terminate<unsafe_wait>("Unsafe to wait further");
    case exception_id::last_entry:
      break;
  }
  // A number that only headers newer than this library know: there is nothing right to throw, and to return would let
  // the caller go on with what it has just found to be wrong.
  throw_or_terminate<std::runtime_error>("oneTBB exception unknown to this library: built with newer headers");
}

}  // namespace tbb::detail::r1
