/// Subcommands that are programs of their own: homing-X beside the command, in ../libexec/homing, or on PATH.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "common/command.hpp"

namespace homing::cli {
namespace {

namespace fs = std::filesystem;

// What came with the command is found without PATH, and before anything there.
std::string find_own(const std::string& program) {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) return {};
  const fs::path folder = self.parent_path();
  for (const fs::path& place : {folder, folder.parent_path() / "libexec/homing"}) {
    if (fs::is_regular_file(place / program, error)) return place / program;
  }
  return {};
}

}  // namespace

int external_command(const std::string& name, const arguments& args) {
  if (name.empty()) {
    complain(std::string(empty_word) + " (see homing --help)");
    return exit_usage;
  }
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
  if (!plain) {
    complain("no such subcommand: \"" + name + "\" (see homing --help)");
    return exit_usage;
  }
  const std::string program = "homing-" + name;
  const std::string own = find_own(program);
  std::vector<char*> words{const_cast<char*>(own.empty() ? program.c_str() : own.c_str())};
  for (const std::string& word : args) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  if (own.empty()) {
    ::execvp(program.c_str(), words.data());
  } else {
    ::execv(own.c_str(), words.data());
  }
  if (errno == ENOENT && own.empty()) {
    complain("no such subcommand: " + name + ", and no program " + program + " on PATH (see homing --help)");
    return exit_not_found;
  }
  complain("can't start " + program + ": " + std::strerror(errno));
  return exit_not_executable;
}

}  // namespace homing::cli
