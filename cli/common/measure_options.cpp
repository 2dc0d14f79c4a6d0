#include "common/measure_options.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "measure/units.hpp"
#include "topology/environment.hpp"

namespace homing::cli {
namespace {

constexpr unsigned repeat_max = 1000;  // and a first one that does not count: measure::rounds_max
constexpr std::uint64_t size_min = 4096;
constexpr unsigned threads_max = 65536;

// Adds an option whose value `read` understands (a parsed<T> with its error) and `keep` stores.
template <class Read, class Keep>
CLI::Option* add_parsed(CLI::App& app, const std::string& name, Read read, Keep keep, const std::string& help) {
  return app.add_option_function<std::string>(
      name,
      [name, read, keep](const std::string& text) {
        const auto value = read(text);
        if (!value.error.empty()) throw CLI::ValidationError(name + " " + text + ": " + value.error);
        keep(value.value);
      },
      help);
}

measure::parsed<std::uint64_t> read_size(const std::string& text) {
  auto size = measure::parse_size(text);
  if (size.error.empty() && size.value < size_min) size.error = "less than 4 KiB measures nothing";
  return size;
}

measure::page_wish wish_named(const std::string& name) {
  return name == "base"   ? measure::page_wish::base
         : name == "huge" ? measure::page_wish::huge
                          : measure::page_wish::system;
}

}  // namespace

void add_measure_options(CLI::App& app, measure_options& options, const std::string& what_size) {
  app.add_option(
         "--nodes", options.nodes,
         "these nodes' CPUs and memory only, as numactl writes them:\n0-3  0,2  +0  !2  netdev:eth0  all (default)")
      ->type_name("LIST");
  add_parsed(
      app, "--size", read_size, [&](std::uint64_t bytes) { options.bytes = bytes; }, what_size)
      ->type_name("SIZE");
  add_parsed(
      app, "--threads", [](const std::string& t) { return measure::parse_count(t, 1, threads_max); },
      [&](unsigned n) { options.threads = n; }, "threads of each CPU node (default: a thread a CPU)")
      ->type_name("N");
  add_parsed(
      app, "--repeat", [](const std::string& t) { return measure::parse_count(t, 1, repeat_max); },
      [&](unsigned n) { options.repeat = n; }, "runs that count (default: " + std::to_string(options.repeat) + ")")
      ->type_name("N");
  app.add_option_function<std::string>(
         "--pages", [&](const std::string& name) { options.pages = wish_named(name); },
         std::string(
             "ask for huge pages, for base pages, or for neither: system;\nwhat was got is reported (default: ") +
             measure::name_of(options.pages) + ")")
      ->check(CLI::IsMember({"system", "base", "huge"}))
      ->type_name("KIND");
  auto* json = app.add_flag("--json", options.json, "one JSON object, with every sample");
  app.add_flag("--csv", options.csv, "a line a figure")->excludes(json);
  app.add_option("--svg", options.svg, "write a picture to FILE as well")->type_name("FILE");
}

output_file::output_file(const std::string& name) : name_(name) {
  if (name.empty()) return;
  std::error_code error;
  is_new_ = !std::filesystem::exists(name, error);
  open(platform::output_mode::append);
}

void output_file::open(platform::output_mode mode) {
  const platform::opened_output out = platform::open_output(name_.c_str(), mode);
  file_.reset(out.file >= 0 ? ::fdopen(out.file, "w") : nullptr);
  if (!file_)
    throw std::runtime_error("can't write " + name_ + ": " + (out.problem ? out.problem : std::strerror(errno)));
}

output_file::~output_file() {
  std::error_code error;
  const bool own = file_ && is_new_ && !written_ &&
                   std::filesystem::symlink_status(name_, error).type() == std::filesystem::file_type::regular;
  if (own) std::filesystem::remove(name_, error);
}

void output_file::write(const std::string& text) {
  written_ = true;
  struct stat info {};
  // What is in it goes only now. Not what stdout writes into the same: open_output() sees to that.
  if (::fstat(::fileno(file_.get()), &info) == 0 && S_ISREG(info.st_mode)) open(platform::output_mode::replace);
  const bool written = std::fputs(text.c_str(), file_.get()) >= 0 && std::fflush(file_.get()) == 0;
  if (!written) throw std::runtime_error("can't write " + name_ + ": " + std::strerror(errno));
}

progress_line::progress_line() : is_on_(::isatty(STDERR_FILENO) == 1) {}

progress_line::~progress_line() {
  if (is_on_) std::fputs("\r\033[K", stderr);
}

void progress_line::show(std::size_t done, std::size_t all, const std::string& what) {
  if (!is_on_) return;
  std::fprintf(stderr, "\r\033[K[%zu/%zu] %s", done + 1, all, what.c_str());
  std::fflush(stderr);
}

void make_domains_nodes() {
  static_cast<void>(topology::kind_of_environment());  // a bad value is said all the same
  ::setenv("HOMING_DOMAIN", "node", 1);
}

int cannot_measure(const measure::plan& plan, const std::string& command) {
  complain(plan.error + (plan.is_machines_fault ? "" : " (see homing " + command + " --help)"));
  return plan.is_machines_fault ? exit_failure : exit_usage;
}

}  // namespace homing::cli
