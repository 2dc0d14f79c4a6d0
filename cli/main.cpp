/// The command `homing`: finds the subcommand, a built-in one or, as git does, a program homing-X.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>

#include <homing/version.hpp>

#include "common/command.hpp"
#include "platform/env.hpp"
#include "platform/known_variables.hpp"

namespace homing::cli {
namespace {

constexpr subcommand table[] = {
    {"topology", "show the domains, CPUs, distances and limits of this machine", topology_command, true},
    {"bandwidth", "measure bandwidth between CPU nodes and memory nodes (STREAM)", bandwidth_command, true},
    {"latency", "measure latency between CPU nodes and memory nodes, idle and under load", latency_command, true},
    {"doctor", "say what here helps or hurts, and what to do about it", doctor_command, true},
    {"where", "show on which nodes a program's pages are, and of which nodes its threads' CPUs are", where_command},
    {"run", "run a program on Homing's libtbb.so.12", run_command},
    {"completions", "print the completions of a shell", completions_command},
    {"manual", "print a manual page", manual_command},
};

void print_help(std::FILE* out) {
  std::fputs("The NUMA-aware task runtime: what it sees, and programs on it.\n\nUsage: homing SUBCOMMAND ...\n\n", out);
  for (const subcommand& s : table) std::fprintf(out, "  %-12s%s\n", s.name, s.purpose);
  std::fprintf(out, "  %-12s%s (homing-lab)\n", "lab", lab_purpose);
  std::fprintf(out, "  %-12s%s (homing-experiment)\n", "experiment", experiment_purpose);
  std::fputs(
      "  X           anything else: the program homing-X, ours or on PATH\n\n"
      "  --version   print the version\n"
      "  --help      print this; homing SUBCOMMAND --help, or homing help SUBCOMMAND, says more\n\n"
      "Examples:\n"
      "  homing topology\n"
      "  homing doctor\n"
      "  homing run --report -- ./app data.txt\n",
      out);
}

bool is_built_in(const std::string& name) {
  return std::any_of(std::begin(table), std::end(table), [&](const subcommand& s) { return name == s.name; });
}

int call(const std::string& name, const arguments& words) {
  for (const subcommand& s : table) {
    if (name != s.name) continue;
    if (s.needs_valid_variables) platform::warn_of_unknown_variables();
    const int result = s.call(words);
    return result == exit_ok && s.needs_valid_variables && platform::has_refused_env() ? exit_failure : result;
  }
  return external_command(name, words);
}

// `homing help X` is `homing X --help`, whoever X is, and `homing help X Y` that of a command Y of another program X.
// Of our own no word more: behind `run` it would be a program to be run.
int help(const arguments& words) {
  if (words.empty() || words.front() == "help" || words.front() == "--help" || words.front() == "-h") {
    print_help(stdout);
    return exit_ok;
  }
  const std::size_t names = is_built_in(words.front()) ? 1 : 2;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i >= names || words[i].starts_with('-') || (i > 0 && words[i].empty())) {
      const std::string taken =
          names == 1 ? "the name of a subcommand" : "the names of a subcommand and of a part of it,";
      complain((words[i].empty() ? empty_word : "help takes " + taken + " and no more, and found " + words[i]) +
               " (see homing --help)");
      return exit_usage;
    }
  }
  arguments asked(words.begin() + 1, words.end());
  asked.emplace_back("--help");
  return call(words.front(), asked);
}

int dispatch(int count, char** words) {
  if (count < 2) {
    print_help(stderr);
    return exit_usage;
  }
  const std::string first = words[1];
  const arguments rest(words + 2, words + count);
  if (first == "--version") {
    if (!rest.empty()) {
      complain((rest.front().empty() ? empty_word : "--version takes no more words: " + rest.front()) +
               " (see homing --help)");
      return exit_usage;
    }
    std::printf("homing %s\n", homing::version());
    return exit_ok;
  }
  if (first == "--help" || first == "-h") {
    print_help(stdout);
    return exit_ok;
  }
  if (first == "help") return help(rest);
  if (first.starts_with('-')) {
    complain("no such option: " + first + " (see homing --help)");
    return exit_usage;
  }
  return call(first, rest);
}

// A standard file that is closed would be the next one that is opened, and what is said would be written there. In its
// place stands one that can't be written, so that the loss is noticed. Programs find it closed, as we did.
void hold_standard_files() {
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // The lowest free number is given.
    if (::fcntl(standard, F_GETFD) < 0) static_cast<void>(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  }
}

}  // namespace

std::span<const subcommand> subcommands() { return table; }

}  // namespace homing::cli

int main(int count, char** words) {
  using namespace homing::cli;
  hold_standard_files();
  ::signal(SIGCHLD, SIG_DFL);  // ignored by whoever started us, children would leave no exit code
  int result = exit_failure;
  try {
    result = dispatch(count, words);
  } catch (const std::exception& error) {
    complain(error.what());
  }
  // Output that got lost (a full disk) must not look like success.
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    complain("can't write to stdout");
    if (result == exit_ok) result = exit_failure;
  }
  return result;
}
