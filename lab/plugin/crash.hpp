/// Says where this process crashed, on its stderr, before it does.
///
/// The emulator is another's, has no symbols where it is installed, and runs on machines where nobody waits with a
/// debugger: without this all that is known of a crash is its signal.
/// Threads: any may crash; the first one speaks.
/// Source:  sigaction(2), backtrace(3).
#pragma once

namespace homing::lab::model {

/// From now on a fatal signal (SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT) is told with its address, the thread's name,
/// and its callers as `file+offset`. Then the process ends by it, as it would have. Code that belongs to no file is
/// what the emulator has translated.
void tell_crashes() noexcept;

}  // namespace homing::lab::model
