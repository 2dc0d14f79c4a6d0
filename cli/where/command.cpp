/// `homing where`: on which nodes a process's pages are, and where its threads run.
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <ctime>
#include <exception>
#include <functional>
#include <optional>

#include "common/child.hpp"
#include "common/command.hpp"
#include "common/fullest.hpp"
#include "common/parse.hpp"
#include "common/show.hpp"
#include "common/text.hpp"
#include "where/follow.hpp"

namespace homing::cli {
namespace {

struct where_options {
  bool json = false;
  bool csv = false;
  bool all = false;
  std::optional<double> watch_seconds{};  // nothing: once
  std::string pid{};
};

constexpr double watch_seconds_usual = 2;

std::optional<double> seconds_of(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool valid = error == std::errc{} && end == text.data() + text.size() && value >= 0.1 && value <= 86400;
  return valid ? std::optional(value) : std::nullopt;
}

std::optional<pid_t> pid_of(const std::string& text) {
  pid_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value <= 0) return std::nullopt;
  return value;
}

std::string drawn(const process_look& look, const where_options& options) {
  if (options.csv) return look_csv(look);
  if (!options.json) return look_table(look, options.all ? detail::all : detail::most);
  return json_text(look_json(look), options.watch_seconds ? -1 : 2);  // watched: a line a look
}

// A new picture in place of the last one on a terminal, below it elsewhere.
void put(const std::string& text, std::FILE* out, bool in_place) {
  if (in_place && ::isatty(::fileno(out)) != 0) std::fputs("\033[H\033[2J", out);
  std::fputs(text.c_str(), out);
  std::fflush(out);
}

void pause_for(double seconds) {
  const auto whole = static_cast<time_t>(seconds);
  const timespec time{whole, static_cast<long>((seconds - static_cast<double>(whole)) * 1e9)};
  ::nanosleep(&time, nullptr);
}

int look_at_process(pid_t process, const where_options& options) {
  const node_of_cpu nodes;
  for (bool first = true;; first = false) {
    const look_result look = look_at(process, nodes);
    if (!look.seen) {
      complain(look.error);
      return look.ended && !first ? exit_ok : exit_failure;  // watched to its end
    }
    put(drawn(*look.seen, options), stdout, options.watch_seconds && !options.json);
    if (!options.watch_seconds || std::ferror(stdout) != 0) return exit_ok;
    pause_for(*options.watch_seconds);
  }
}

// The program owns stdout; what we saw goes to stderr, as time(1) does it.
int look_at_program(const arguments& program, const where_options& options) {
  const node_of_cpu nodes;
  fullest_look fullest;
  std::function<void(const process_look&)> show;
  if (options.watch_seconds) show = [&](const process_look& look) { put(drawn(look, options), stderr, !options.json); };
  const auto sometimes = [&](pid_t process) {
    if (fullest.is_time()) fullest.look(process, nodes, show);
  };
  const auto at_end = [&](pid_t process) { fullest.look(process, nodes, nullptr); };
  const int milliseconds = options.watch_seconds ? static_cast<int>(*options.watch_seconds * 1000) : 100;
  const follow_result result = follow(program, milliseconds, sometimes, at_end);
  if (!result.error.empty()) complain(result.error);
  const auto best = fullest.best();
  if (best && result.started) {
    put(drawn(*best, options), stderr, false);
  } else if (result.error.empty()) {
    complain(fullest.error());
  }
  return unless_lost(result.exit_code);
}

// Our words end at "--"; a program without it would be taken for a process.
struct split_words {
  arguments own;
  std::optional<arguments> program;
};
split_words split(const arguments& args) {
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i] != "--") continue;
    const auto at = args.begin() + static_cast<std::ptrdiff_t>(i);
    return {arguments(args.begin(), at), arguments(at + 1, args.end())};
  }
  return {args, std::nullopt};
}

}  // namespace

int where_command(const arguments& args) {
  CLI::App app(
      "Shows on which nodes the pages of a process are, by mapping, and on which its threads run.\n"
      "A program after -- is run and looked at ten times a second and in the moment of its end (by ptrace,\n"
      "so that no debugger can be attached to it); the look with most pages is shown, on stderr.",
      "homing where");
  where_options options;
  app.add_option("pid", options.pid, "the process, by its number");
  auto* json = app.add_flag("--json", options.json, "one JSON object; with --watch, one a line");
  auto* csv = app.add_flag("--csv", options.csv, "a line a mapping and node")->excludes(json);
  app.add_flag("--all", options.all, "every mapping, not only the largest");
  std::string watch;  // as CLI11 understands it
  app.add_flag("--watch", watch,
               "look again every 2 seconds until it ends, in place on a terminal;\n"
               "--watch=SECONDS: as often as that (0.1 to 86400)")
      ->excludes(csv);
  shape_help(app, "homing where [OPTIONS] PID\nhoming where [OPTIONS] -- PROGRAM [ARGS...]",
             "  homing where $(pidof app)\n"
             "  homing where --watch=5 1234\n"
             "  homing where --json 1234 | jq .bytes_by_node\n"
             "  homing where -- ./app data.txt",
             "  0    done; a watched process has ended\n"
             "  1    no such process, it may not be looked at, or it ended meanwhile\n"
             "  2    wrong usage\n"
             "  X    after --: the program's own, or 128 + the signal that killed it; 127 if it was\n"
             "       not found, 126 if it can't be executed, 125 if homing itself failed\n");
  const split_words words = split(args);
  int result = exit_ok;
  if (!parse(app, words.own, words.program ? exit_run_failed : exit_usage, result)) return result;
  const int wrong = words.program ? exit_run_failed : exit_usage;
  const auto seconds = joined_value(words.own, "--watch");
  if (!watch.empty()) options.watch_seconds = seconds ? seconds_of(*seconds) : watch_seconds_usual;
  if (seconds && !options.watch_seconds) {
    complain("--watch=" + *seconds + ": expected seconds from 0.1 to 86400 (see homing where --help)");
    return wrong;
  }
  if (words.program) {
    if (!options.pid.empty() || words.program->empty()) {
      complain(options.pid.empty() ? "no program given after -- (see homing where --help)"
                                   : "either a process or a program, not both (see homing where --help)");
      return wrong;
    }
    try {
      return look_at_program(*words.program, options);
    } catch (const std::exception& error) {
      complain(error.what());
      return exit_run_failed;
    }
  }
  if (options.pid.empty()) {
    complain("no process given: expected its number, or -- PROGRAM (see homing where --help)");
    return exit_usage;
  }
  const auto process = pid_of(options.pid);
  if (!process) {
    complain("'" + options.pid + "' is no process number (see homing where --help)");
    return exit_usage;
  }
  return look_at_process(*process, options);
}

}  // namespace homing::cli
