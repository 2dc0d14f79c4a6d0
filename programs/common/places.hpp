// OpenMP's places: an OpenMP runtime reads OMP_PLACES before main() begins, and binds the main thread to one of them.
#pragma once

namespace programs {

/// The main thread may use the CPUs of all places from now on, and so may all that it starts. How many domains and CPUs
/// there are is not a question of where that thread is bound. Does nothing without places. Threads: while the process
/// has one.
void leave_place();
/// The main thread is again where the OpenMP runtime has bound it, which it takes for granted: call it before OpenMP's
/// variants. Threads: the main thread.
void return_to_place();

/// Starts the program again with places of a core each, unless the environment has OMP_PLACES; `argv` is main()'s.
/// Returns if there is nothing to do, or with a line on stderr if it can't be done.
void start_with_places(char** argv);

}  // namespace programs
