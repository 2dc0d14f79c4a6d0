/// `homing run`: starts any program on our libtbb.so.12, without rebuilding it.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <stdexcept>

#include "child.hpp"
#include "command.hpp"
#include "parse.hpp"
#include "platform/files.hpp"
#include "program.hpp"
#include "report.hpp"
#include "topology/environment.hpp"

namespace homing::cli {
namespace {

namespace fs = std::filesystem;

struct run_options {
  std::string report{};  // empty: none; "true": a table; otherwise a file
  std::string steal{};
  std::string topology{};
  std::string domain{};
  std::string tbb = "homing";
};

// Our words end at "--" or at the first that is neither an option nor an option's value.
std::size_t own_words(const CLI::App& app, const arguments& args) {
  std::size_t i = 0;
  while (i < args.size() && args[i] != "--" && args[i].starts_with('-') && args[i].size() > 1) {
    const bool joined = args[i].find('=') != std::string::npos;
    const CLI::Option* const option = joined ? nullptr : app.get_option_no_throw(args[i]);
    i += option != nullptr && option->get_expected_max() > 0 && option->get_items_expected_max() > 0 ? 2 : 1;
  }
  return std::min(i, args.size());
}

// <folder of this command>/../lib/homing, the same in the build tree and where it was installed.
fs::path library_folder() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path() : (self.parent_path() / "../lib/homing").lexically_normal();
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// LD_LIBRARY_PATH with our folder in front, or without it.
std::string search_path(const std::string& folder, bool with_ours) {
  std::string result = with_ours ? folder : "";
  const std::string before = variable("LD_LIBRARY_PATH");
  for (std::size_t start = 0; start < before.size();) {
    const std::size_t end = std::min(before.find(':', start), before.size());
    const std::string entry = before.substr(start, end - start);
    if (entry != folder) result += (result.empty() ? "" : ":") + entry;
    start = end + 1;
  }
  return result;
}

// Sets a variable if the option was given.
void set(const char* name, const std::string& value) {
  if (!value.empty()) ::setenv(name, value.c_str(), 1);
}

// What will keep the program off our library, said before it runs; nothing of it stops us.
void warn_about(const std::string& name, const program_facts& facts, const fs::path& library) {
  if (facts.gains_rights) {
    complain("warning: " + name + " changes its user or group, so that the linker ignores LD_LIBRARY_PATH");
  }
  if (facts.links == linkage::fixed) {
    complain("warning: " + name + " is statically linked, so that no libtbb.so.12 can be chosen for it");
  } else if (facts.links == linkage::without_tbb) {
    complain("warning: " + name + " does not use libtbb.so.12");
  } else if (facts.links == linkage::with_tbb) {
    std::error_code error;
    if (!fs::equivalent(facts.tbb_path, library, error)) {
      complain("warning: " + name + " gets libtbb.so.12 from " + facts.tbb_path + " (its own RPATH comes first)");
    }
  }
}

// Puts the environment in order. Returns an error, or nothing.
std::optional<std::string> prepare(const run_options& options, const std::string& program) {
  if (!options.topology.empty()) {
    std::string text = options.topology;
    const auto origin = topology::guess_origin(text);
    const auto machine = topology::read({.from = origin, .text = text});
    if (!machine.value) return "--topology " + text + ": " + machine.error;
    // The program may change its folder before it reads the file.
    if (origin == topology::source::origin::xml) text = fs::absolute(text).string();
    set("HOMING_TOPOLOGY", text);
  }
  set("HOMING_STEAL", options.steal);
  set("HOMING_DOMAIN", options.domain);
  const fs::path folder = library_folder();
  const bool ours = options.tbb == "homing";
  const fs::path library = folder / "libtbb.so.12";
  std::error_code error;
  if (ours && !fs::exists(library, error)) return "there is no " + library.string();
  const std::string path = search_path(folder.string(), ours);
  if (path.empty()) {
    ::unsetenv("LD_LIBRARY_PATH");
  } else {
    ::setenv("LD_LIBRARY_PATH", path.c_str(), 1);
  }
  const found_program found = find_program(program);
  if (ours && !found.path.empty()) warn_about(program, inspect(found.path), library);
  return std::nullopt;
}

// Runs the program with its report in a file of ours, and prints the table afterwards.
int run_with_table(const arguments& program) {
  std::string name = (fs::temp_directory_path() / "homing-report-XXXXXX").string();
  const int file = ::mkstemp(name.data());
  if (file < 0) throw std::runtime_error("can't make the file " + name + ": " + std::strerror(errno));
  ::close(file);
  ::setenv("HOMING_REPORT", name.c_str(), 1);
  const int result = run_and_wait(program);
  const auto content = platform::read_file(name, std::size_t{16} << 20);
  ::unlink(name.c_str());
  if (result != exit_not_found || !content.value_or("").empty()) {
    std::fputs(report_table(content.value_or("")).c_str(), stderr);
  }
  return result;
}

int run(const arguments& args) {
  CLI::App app(
      "Runs PROGRAM on Homing's libtbb.so.12: its folder is put in front of LD_LIBRARY_PATH.\n"
      "The exit code is the program's, or 128 + the signal that killed it; 127 if the program was not\n"
      "found, 126 if it can't be executed, 125 if homing itself failed.",
      "homing run");
  run_options options;
  app.add_flag("--report", options.report,
               "after the program: a table of where its tasks ran, on stderr;\n"
               "--report=FILE: the same figures as JSON in FILE, a line a process,\n"
               "and no table");
  app.add_option("--steal", options.steal, "whom to steal from: near (default), random or domain")
      ->check(CLI::IsMember({"near", "random", "domain"}));
  app.add_option("--topology", options.topology, "a made-up machine: an hwloc synthetic line, or an XML file");
  app.add_option("--domain", options.domain, "what a domain is: node (default), l3 or socket")
      ->check(CLI::IsMember({"node", "l3", "socket"}));
  app.add_option("--tbb", options.tbb, "homing (default), or stock: the library it has without us")
      ->check(CLI::IsMember({"homing", "stock"}));
  shape_help(app, "homing run [OPTIONS] [--] PROGRAM [ARGS...]",
             "  homing run -- ./app data.txt\n"
             "  homing run --report -- python3 script.py\n"
             "  homing run --report=figures.json --steal=domain -- ./app\n"
             "  homing run --topology \"node:4 core:2 pu:1\" --report -- ./app\n"
             "  homing run --tbb=stock -- ./app");
  const std::size_t own = own_words(app, args);
  arguments program(args.begin() + static_cast<std::ptrdiff_t>(own), args.end());
  if (!program.empty() && program.front() == "--") program.erase(program.begin());

  int result = exit_ok;
  if (!parse(app, arguments(args.begin(), args.begin() + static_cast<std::ptrdiff_t>(own)), exit_run_failed, result)) {
    return result;
  }
  if (program.empty()) {
    complain("no program given (see homing run --help)");
    return exit_run_failed;
  }
  const bool report = !options.report.empty() && options.report != "false";
  if (report && options.tbb == "stock") {
    complain("--report needs our library: stock oneTBB writes none");
    return exit_run_failed;
  }
  if (const auto error = prepare(options, program.front())) {
    complain(*error);
    return exit_run_failed;
  }
  if (!report) return become(program);
  if (options.report == "true") return run_with_table(program);
  if (options.report != "stderr") {
    options.report = fs::absolute(options.report).string();
    // Each process adds its line; those of an earlier run would be counted too.
    if (fs::is_regular_file(options.report)) fs::resize_file(options.report, 0);
  }
  set("HOMING_REPORT", options.report);
  return become(program);
}

}  // namespace

int run_command(const arguments& args) {
  try {
    return run(args);
  } catch (const std::exception& error) {
    complain(error.what());
    return exit_run_failed;
  }
}

}  // namespace homing::cli
