/// Subcommands that are programs of their own, homing-X on PATH.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "command.hpp"

namespace homing::cli {

int external_command(const std::string& name, const arguments& args) {
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
  if (!plain || name.empty()) {
    complain("no such subcommand (see homing --help)");
    return exit_usage;
  }
  const std::string program = "homing-" + name;
  std::vector<char*> words{const_cast<char*>(program.c_str())};
  for (const std::string& word : args) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execvp(program.c_str(), words.data());
  if (errno == ENOENT) {
    complain("no such subcommand: " + name + ", and no program " + program + " on PATH (see homing --help)");
    return exit_not_found;
  }
  complain("can't start " + program + ": " + std::strerror(errno));
  return exit_not_executable;
}

}  // namespace homing::cli
