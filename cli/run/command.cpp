/// `homing run`: starts any program on our libtbb.so.12, without rebuilding it.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "common/child.hpp"
#include "common/command.hpp"
#include "common/fullest.hpp"
#include "common/measure_options.hpp"
#include "common/parse.hpp"
#include "common/program.hpp"
#include "common/text.hpp"
#include "platform/env.hpp"
#include "run/files.hpp"
#include "run/load_witness.hpp"
#include "run/policy.hpp"
#include "run/report.hpp"
#include "topology/environment.hpp"

namespace homing::cli {
namespace {

namespace fs = std::filesystem;

struct run_options {
  bool table = false;         // after the program: as --json, --csv or --svg say, or for people
  std::string report_file{};  // in place of the table
  bool json = false;
  bool csv = false;
  std::string svg{};
  std::string trace{};
  std::string steal{};
  std::string threads{};
  std::string topology{};
  std::string domain{};
  std::string tbb = "homing";
  std::string stock_library{};
  policy_request policy{};
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

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// LD_LIBRARY_PATH with another folder in front, and without ours at any other place.
std::string search_path(const std::string& ours, const std::string& in_front) {
  std::string result = in_front;
  const std::string before = variable("LD_LIBRARY_PATH");
  for (std::size_t start = 0; start < before.size();) {
    const std::size_t end = std::min(before.find(':', start), before.size());
    const std::string entry = before.substr(start, end - start);
    if (entry != ours) result += (result.empty() ? "" : ":") + entry;
    start = end + 1;
  }
  return result;
}

// Sets a variable if the option was given.
void set(const char* name, const std::string& value) {
  if (!value.empty()) ::setenv(name, value.c_str(), 1);
}

// What will keep the program off our library, said before it runs; nothing of it stops us. True if something was said.
bool warn_about(const std::string& name, const program_facts& facts, const fs::path& library) {
  const bool gains = facts.gains_rights;
  if (gains) {
    complain("warning: " + name +
             " gains rights as it starts (set-user-ID, set-group-ID or capabilities), so that the linker ignores "
             "LD_LIBRARY_PATH");
  }
  if (facts.links == linkage::fixed) {
    complain("warning: " + name + " is statically linked, so that no libtbb.so.12 can be chosen for it");
  } else if (facts.links == linkage::without_tbb) {
    complain("warning: " + name + " does not use libtbb.so.12");
  } else if (facts.links == linkage::with_tbb) {
    std::error_code error;
    if (!fs::equivalent(facts.tbb_path, library, error)) {
      complain("warning: " + name + " gets libtbb.so.12 from " + facts.tbb_path +
               " (its own RPATH comes first); LD_PRELOAD=" + library.string() + " chooses ours");
      return true;
    }
  }
  return gains || facts.links == linkage::fixed || facts.links == linkage::without_tbb;
}

// The libtbb.so.12 that the program is to have; empty: whichever it has without us.
fs::path library_for(const run_options& options) {
  return options.tbb == "homing" ? fs::path(own_library()) : fs::path(options.stock_library);
}

// Puts the environment in order. Returns an error, or nothing.
std::optional<std::string> prepare_environment(const run_options& options) {
  if (!options.topology.empty()) {
    std::string text = options.topology;
    const auto origin = topology::guess_origin(text);
    // The program may change its folder before it reads the file.
    if (origin == topology::source::origin::xml) text = fs::absolute(text).string();
    if (text.size() > platform::env_length_max) {
      return fmt::format("--topology: {} characters, and HOMING_TOPOLOGY takes {}: give an XML file", text.size(),
                         platform::env_length_max);
    }
    const auto machine = topology::read({.from = origin, .text = text});
    if (!machine.value) return "--topology " + options.topology + ": " + machine.error + machine_expected;
    set("HOMING_TOPOLOGY", text);
  }
  set("HOMING_STEAL", options.steal);
  set("HOMING_DOMAIN", options.domain);
  set("HOMING_THREADS", options.threads);
  const fs::path library = library_for(options);
  std::error_code error;
  if (options.tbb == "homing" && library.empty()) {
    return "can't find our libtbb.so.12: /proc can't be read; give the command's whole path";
  }
  if (!library.empty() && !fs::exists(library, error)) return "there is no " + library.string();
  const std::string in_front = library.empty() ? "" : fs::absolute(library).parent_path().string();
  const std::string path = search_path(fs::path(own_library()).parent_path().string(), in_front);
  if (path.empty()) {
    ::unsetenv("LD_LIBRARY_PATH");
  } else {
    ::setenv("LD_LIBRARY_PATH", path.c_str(), 1);
  }
  return std::nullopt;
}

// What does not go together, and what is no number.
std::optional<std::string> contradiction(const run_options& options) {
  const bool to_file = !options.report_file.empty();
  if (options.tbb == "stock") {
    const char* const needs_ours = !options.svg.empty()        ? "--svg"
                                   : options.json              ? "--json"
                                   : options.csv               ? "--csv"
                                   : options.table || to_file  ? "--report"
                                   : !options.trace.empty()    ? "--trace"
                                   : !options.threads.empty()  ? "--threads"
                                   : !options.steal.empty()    ? "--steal"
                                   : !options.domain.empty()   ? "--domain"
                                   : !options.topology.empty() ? "--topology"
                                                               : nullptr;
    if (needs_ours != nullptr) return std::string(needs_ours) + " needs our library: stock oneTBB has no such setting";
    if (!options.stock_library.empty() && fs::path(options.stock_library).filename() != "libtbb.so.12") {
      return "--stock-library " + options.stock_library + ": expected a file named libtbb.so.12";
    }
  } else if (!options.stock_library.empty()) {
    return "--stock-library needs --tbb=stock";
  }
  if (!options.svg.empty() && to_file) {
    return "--svg needs the figures of --report, which go to " + options.report_file +
           " instead: leave out one of the two";
  }
  if ((options.json || options.csv) && to_file) {
    const std::string form = options.json ? "--json" : "--csv";
    return form + " is a form of the table of --report, and --report=" + options.report_file +
           " has none: leave out one of the two";
  }
  if (!options.threads.empty()) {
    const bool digits =
        options.threads.find_first_not_of("0123456789") == std::string::npos && options.threads.size() <= 5;
    const int value = digits ? std::stoi(options.threads) : 0;
    if (value < 1 || value > 65536) return "--threads " + options.threads + ": expected a number from 1 to 65536";
  }
  return std::nullopt;
}

std::string shown(const run_report& report, const run_options& options) {
  if (!report.value && options.json) return json_text({{"error", report.error}});
  if (!report.value) return "homing: " + printable(report.error) + '\n';
  if (options.json) return json_text(*report.value);
  return options.csv ? report_csv(*report.value) : report_table(*report.value);
}

// Of a program that can't be started. Where a report was to come as JSON, the reason is that, too.
int not_started(const std::string& program, int error_number, const run_options& options) {
  const std::string problem = start_problem(program, error_number);
  complain(problem);
  if (options.table && options.json) std::fputs(json_text({{"error", problem}}).c_str(), stderr);
  return start_problem_code(error_number);
}

// Of a program of which no process loaded our library.
std::string why_missed(const std::string& program) {
  return "no process of " + program +
         " loaded our libtbb.so.12: it uses no TBB, or a copy of its own; LD_PRELOAD=" + own_library() +
         " chooses ours";
}

// Runs the program, and says so if none of its processes loaded our library: what it was linked to says little of what
// it loads by itself, and a copy of its own (a Python wheel's) runs in silence. A report in its file is
// proof, too.
int run_and_verify(const arguments& program, const run_options& options, bool warned) {
  const load_witness witness;
  if (!witness.problem().empty()) {
    complain("warning: can't see whether " + program.front() + " loads our libtbb.so.12: " + witness.problem());
    return become(program);
  }
  const run_result result = run_and_wait(program);
  if (result.exec_error != 0) return not_started(program.front(), result.exec_error, options);
  std::error_code error;
  const std::string& report = options.report_file;
  const bool reported = !report.empty() && fs::is_regular_file(report, error) && fs::file_size(report, error) > 0;
  if (!warned && !reported && !witness.has_seen()) {
    complain("warning: " + why_missed(program.front()));
  }
  return result.exit_code;
}

// Runs the program with its report in a file of ours, and shows it afterwards. Where there is none, it says why.
int run_with_report(const arguments& program, const run_options& options, bool warned) {
  output_file picture(options.svg);
  std::string content;
  traffic_counter traffic;
  background_look looks;
  const load_witness witness;
  run_result result{};
  {
    const temporary_report file;
    result = run_and_wait(program, [&](pid_t child) {
      traffic.attach(child);
      looks.start(child);
    });
    content = file.content();
  }
  if (result.exec_error != 0) return not_started(program.front(), result.exec_error, options);
  run_report report = sum_report(content, {.fullest = looks.stop(), .traffic = traffic.read()});
  if (content.empty() && !warned && witness.problem().empty() && !witness.has_seen()) {
    report.error = "no report: " + why_missed(program.front());
  }
  std::fputs(shown(report, options).c_str(), stderr);
  if (picture.is_wanted() && report.value) {
    picture.write(report_svg(*report.value, fs::path(program.front()).filename().string()));
  }
  return unless_lost(result.exit_code);
}

// What may fail comes first: files of an earlier run stay until the program is about to start, and a warning is for one
// that will be.
int start(const run_options& options, const arguments& program) {
  auto error = contradiction(options);
  if (!error) error = apply(options.policy);
  if (!error) error = prepare_environment(options);
  const found_program found = find_program(program.front());
  if (!error && found.path.empty()) return not_started(program.front(), found.error_number, options);
  if (!error) error = prepare({.trace = options.trace, .report = options.report_file, .svg = options.svg});
  if (error) {
    complain(*error);
    return exit_run_failed;
  }
  const fs::path library = library_for(options);
  const program_facts facts = library.empty() ? program_facts{} : inspect(found.path);
  const bool warned = !library.empty() && warn_about(program.front(), facts, library);
  if (options.table) return run_with_report(program, options, warned);
  if (options.tbb != "homing") return become(program);
  return run_and_verify(program, options, warned);
}

int run(const arguments& args) {
  CLI::App app(
      "Runs PROGRAM on Homing's libtbb.so.12: its folder is put in front of LD_LIBRARY_PATH. Nodes are\n"
      "written as numactl does: 0-1,3, all, !0 (all but), +0 (counted among those allowed), same (as the\n"
      "option before), or the node of a device: netdev:eth0, block:sda, pci:3b:00.0, file:/data. Memory\n"
      "policies and CPUs are set before the program starts; if the kernel refuses one, it is not started.",
      "homing run");
  run_options options;
  std::string report;  // as CLI11 understands it
  app.add_flag("--report", report,
               "after the program: a table of where its tasks ran, on stderr;\n"
               "--report=FILE: the same figures as JSON in FILE, a line a process,\n"
               "and no table");
  auto* json = app.add_flag("--json", options.json, "the report as one JSON object, on stderr");
  app.add_flag("--csv", options.csv, "the report as lines of figure and value, on stderr")->excludes(json);
  app.add_option("--svg", options.svg,
                 "the report also as a picture in FILE: tasks by home and by domain that\nran them, pages by node")
      ->type_name("FILE");
  app.add_option("--trace", options.trace,
                 "write a trace of the tasks to this file, for ui.perfetto.dev or chrome://tracing:\n"
                 "threads by domain, steals marked near and far; each further process that\n"
                 "runs tasks writes its own, with its number behind the name");
  auto* interleave =
      app.add_option("-i,--interleave", options.policy.interleave, "deal pages over these nodes by turns")
          ->type_name("NODES");
  auto* membind =
      app.add_option("-m,--membind", options.policy.membind, "memory from these nodes only")->type_name("NODES");
  auto* preferred =
      app.add_option("-p,--preferred", options.policy.preferred, "memory from this node while it has some")
          ->type_name("NODE");
  interleave->excludes(membind)->excludes(preferred);
  membind->excludes(preferred);
  auto* cpunodebind =
      app.add_option("-N,--cpunodebind", options.policy.cpunodebind, "the CPUs of these nodes only, of those allowed")
          ->type_name("NODES");
  app.add_option("--threads", options.threads, "the default number of threads at most (HOMING_THREADS)")
      ->type_name("NUMBER");
  app.add_option("--steal", options.steal, "whom to steal from: near (default), random or domain")
      ->check(CLI::IsMember({"near", "random", "domain"}));
  app.add_option("--topology", options.topology, "a made-up machine: an hwloc synthetic line, or an XML file");
  app.add_option("--domain", options.domain, "what a domain is: node (default), l3 or socket")
      ->check(CLI::IsMember({"node", "l3", "socket"}));
  app.add_option("--tbb", options.tbb, "homing (default), or stock: the library it has without us")
      ->check(CLI::IsMember({"homing", "stock"}));
  app.add_option("--stock-library", options.stock_library, "with --tbb=stock: this libtbb.so.12")->type_name("FILE");
  shape_help(app, "homing run [OPTIONS] [--] PROGRAM [ARGS...]",
             "  homing run -- ./app data.txt\n"
             "  homing run --report -- python3 script.py\n"
             "  homing run --report=figures.json --steal=domain -- ./app\n"
             "  homing run --topology \"node:4 core:2 pu:1\" --report -- ./app\n"
             "  homing run --topology \"node:2 core:4 pu:1\" --svg tasks.svg -- ./app\n"
             "  homing run --interleave=all --threads 8 -- ./app\n"
             "  homing run -N 0 -m 0 --trace trace.json -- ./app\n"
             "  homing run --tbb=stock -- ./app",
             "  X    the program's own, or 128 + the signal that killed it\n"
             "  125  homing itself failed, or wrong usage\n"
             "  126  the program can't be executed\n"
             "  127  the program was not found\n");
  const auto ours_end = args.begin() + static_cast<std::ptrdiff_t>(own_words(app, args));
  const arguments ours(args.begin(), ours_end);
  arguments program(ours_end, args.end());
  if (!program.empty() && program.front() == "--") program.erase(program.begin());

  int result = exit_ok;
  if (!parse(app, ours, exit_run_failed, result)) return result;
  const auto& order = app.parse_order();
  const auto place = [&](const CLI::Option* o) { return std::find(order.begin(), order.end(), o); };
  options.policy.cpus_first = place(cpunodebind) < std::min({place(interleave), place(membind), place(preferred)});
  if (program.empty()) {
    complain("no program given (see homing run --help)");
    return exit_run_failed;
  }
  options.report_file = joined_value(ours, "--report").value_or("");
  options.table =
      options.report_file.empty() && (!report.empty() || options.json || options.csv || !options.svg.empty());
  return start(options, program);
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
