/// A program run as a child, with the exit code that a shell would give it.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace homing::cli {

/// Replaces this process. Returns only on failure, with the exit code (126 or 127), having said why.
int become(const std::vector<std::string>& words);

/// Runs it as a child and waits. Signals from the terminal reach the child itself; SIGTERM, SIGHUP,
/// SIGUSR1 and SIGUSR2 sent to this process are passed on. Returns the child's exit code, 128 + the
/// signal that killed it, or 126/127 if it could not be started, having said why.
/// `before_exec`, if given, is called here with the child's number while it waits to become the program.
int run_and_wait(const std::vector<std::string>& words, const std::function<void(pid_t)>& before_exec = nullptr);

}  // namespace homing::cli
