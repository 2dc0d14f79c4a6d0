/// The command `homing`: finds the subcommand, a built-in one or, as git does, homing-X on PATH.
#include <cstdio>
#include <exception>

#include <homing/version.hpp>

#include "command.hpp"

namespace {

using namespace homing::cli;

struct subcommand {
  const char* name;
  const char* purpose;
  int (*call)(const arguments&);
};

constexpr subcommand subcommands[] = {
    {"topology", "show the domains, CPUs, distances and limits of this machine", topology_command},
    {"bandwidth", "measure bandwidth between CPU nodes and memory nodes (STREAM)", bandwidth_command},
    {"latency", "measure latency between CPU nodes and memory nodes, idle and under load", latency_command},
    {"run", "run a program on Homing's libtbb.so.12", run_command},
};

void print_help(std::FILE* out) {
  std::fputs("The NUMA-aware task runtime: what it sees, and programs on it.\n\nUsage: homing SUBCOMMAND ...\n\n", out);
  for (const subcommand& s : subcommands) std::fprintf(out, "  %-10s %s\n", s.name, s.purpose);
  std::fputs(
      "  X          anything else: the program homing-X on PATH\n\n"
      "  --version  print the version\n"
      "  --help     print this; homing SUBCOMMAND --help says more\n\n"
      "Examples:\n"
      "  homing topology\n"
      "  homing run --report -- ./app data.txt\n",
      out);
}

int dispatch(int count, char** words) {
  if (count < 2) {
    print_help(stderr);
    return exit_usage;
  }
  const std::string first = words[1];
  const arguments rest(words + 2, words + count);
  if (first == "--version") {
    std::printf("homing %s\n", homing::version());
    return exit_ok;
  }
  if (first == "--help" || first == "-h") {
    print_help(stdout);
    return exit_ok;
  }
  if (first.starts_with('-')) {
    complain("no such option: " + first + " (see homing --help)");
    return exit_usage;
  }
  for (const subcommand& s : subcommands) {
    if (first == s.name) return s.call(rest);
  }
  return external_command(first, rest);
}

}  // namespace

int main(int count, char** words) {
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
