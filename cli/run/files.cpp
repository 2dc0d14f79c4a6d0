#include "run/files.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "platform/files.hpp"
#include "platform/output_file.hpp"

namespace homing::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t report_bytes_max = std::size_t{1} << 30;
constexpr std::streamsize line_bytes_max = 64 << 20;  // of a process, in a report: far beyond any

// A file that an option names, and what may be in it already, which goes.
struct named_file {
  enum class kind { any, regular };

  std::string option;
  std::string path;
  kind wanted = kind::any;
  const char* what = nullptr;                  // what it is to be, for people; null: whatever is there goes
  bool (*is_like)(const fs::path&) = nullptr;  // whether a file looks like one of an earlier run
};

// As src/observe/trace_file.cpp begins a trace, in hand_on_json(); tests/cli/run.py fails where the two differ.
constexpr std::string_view trace_begin = "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"dropped_tasks\":";
// As src/observe/report.cpp begins each line of a report: this, the version, and then the next; the same test fails.
constexpr std::string_view report_begin = "{\"homing\":\"";
constexpr std::string_view behind_version = "\",\"pid\":";

// The file itself, behind all links. Not for names of descriptors.
std::string resolved(const std::string& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  return error ? fs::absolute(path, error).string() : real.string();
}

// Whether a path, or a link that it leads to, is the name of an open descriptor: /dev/stdout, /dev/fd/N. What is
// behind it has an output's place of its own, so it is never emptied, and is written by that name only.
bool names_descriptor(fs::path path) {
  constexpr int links_max = 40;  // the kernel's own bound
  std::error_code error;
  for (int links = 0; links < links_max && fs::is_symlink(path, error); ++links) {
    const fs::path folder = fs::canonical(fs::absolute(path, error).parent_path(), error);
    if (error) return false;
    if (folder.string().starts_with("/proc/")) return true;
    path = folder / fs::read_symlink(path, error);
  }
  return false;
}

const char* open_and_close(const std::string& path, platform::output_mode mode) {
  const platform::opened_output out = platform::open_output(path.c_str(), mode);
  if (out.file >= 0) ::close(out.file);
  return out.problem;
}

bool begins_with(const fs::path& path, std::string_view begin) {
  std::string text(begin.size(), ' ');
  std::ifstream file(path, std::ios::binary);
  return file.read(text.data(), static_cast<std::streamsize>(text.size())) && text == begin;
}

// By its first words alone: a trace is one JSON object, which nobody adds lines to.
bool is_trace(const fs::path& path) { return begins_with(path, trace_begin); }

bool begins_line_of_report(std::string_view head) {
  if (!head.starts_with(report_begin)) return false;
  head.remove_prefix(report_begin.size());
  return head.substr(std::min(head.find('"'), head.size())).starts_with(behind_version);
}

// Whether a line was cut off before even its beginning was whole.
bool is_cut_beginning(std::string_view line) {
  if (line.size() <= report_begin.size()) return report_begin.starts_with(line);
  if (!line.starts_with(report_begin)) return false;
  line.remove_prefix(report_begin.size());
  return behind_version.starts_with(line.substr(std::min(line.find('"'), line.size())));
}

// Whether each line begins as a process writes it. The last may be cut short, as on a full disk: anywhere if a line is
// before it, else behind the beginning, since a brace alone is anybody's. No line is held whole.
bool is_report(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  bool has_line = false;
  for (char head[256]; file.peek() != std::ifstream::traits_type::eof(); has_line = true) {
    file.getline(head, sizeof(head));
    const bool ends_here = !file.eof() && !file.fail();
    const std::string_view line(head, static_cast<std::size_t>(file.gcount()) - (ends_here ? 1 : 0));
    if (!begins_line_of_report(line)) return file.eof() && !file.bad() && has_line && is_cut_beginning(line);
    if (!file.fail()) continue;
    file.clear();  // the line is longer
    file.ignore(line_bytes_max, '\n');
    if (file.gcount() == line_bytes_max) return false;
  }
  return file.eof() && !file.bad();
}

// Whether stdout or stderr writes into the file, by whatever name.
bool is_standard_output(const std::string& path) {
  struct stat file {};
  return ::stat(path.c_str(), &file) == 0 &&
         (platform::writes_to(STDOUT_FILENO, file) || platform::writes_to(STDERR_FILENO, file));
}

// Why the content of a regular file must stay; nothing if it may go.
std::optional<std::string> reason_to_keep(const named_file& file) {
  if (file.what == nullptr || names_descriptor(file.path)) return std::nullopt;
  if (is_standard_output(file.path)) {  // a report goes behind what is there
    if (file.wanted == named_file::kind::any) return std::nullopt;
    return file.option + file.path + ": stdout or stderr goes into this file, and " + file.what +
           " would take its place; expected a file of its own: name another";
  }
  std::error_code error;
  if (fs::file_size(file.path, error) == 0 || file.is_like(file.path)) return std::nullopt;
  return file.option + file.path + ": is not " + file.what + ", and stays as it is; expected " + file.what +
         " of an earlier run, an empty file or a new name: name another file, or remove this one";
}

// Why the file that an option names can't be written; nothing if it can. What is in it stays. A pipe is not opened: its
// reader would see it end.
std::optional<std::string> problem_of(const named_file& file) {
  using kind = named_file::kind;
  const std::string& path = file.path;
  if (path.empty()) return std::nullopt;
  std::error_code error;
  const bool is_new = !fs::exists(path, error);
  const bool is_regular = fs::is_regular_file(path, error) && (file.wanted == kind::any || !names_descriptor(path));
  if (fs::is_directory(path, error) || (file.wanted == kind::regular && !is_new && !is_regular)) {
    return file.option + path + ": is not a file";
  }
  if (!is_new && !is_regular) return std::nullopt;
  if (const char* const problem = open_and_close(path, platform::output_mode::append)) {
    return file.option + path + ": " + problem;
  }
  if (!is_new) return reason_to_keep(file);
  fs::remove(resolved(path), error);
  return std::nullopt;
}

// Each would write its own in place of the other's.
std::optional<std::string> problem_of_two(const named_file& one, const named_file& other) {
  if (one.path.empty() || other.path.empty()) return std::nullopt;
  std::error_code error;
  const auto place = [&](const std::string& path) { return fs::weakly_canonical(fs::absolute(path, error), error); };
  if (!fs::equivalent(one.path, other.path, error) && place(one.path) != place(other.path)) return std::nullopt;
  return one.option + one.path + " and " + other.option + other.path +
         " are one file; expected a file for each: name another for one of the two";
}

// Whether `name` is that of a further process's trace: `trace`, a full stop and a number, perhaps another.
bool is_of_further_process(const std::string& name, const std::string& trace) {
  if (!name.starts_with(trace + '.')) return false;
  const std::string_view rest = std::string_view(name).substr(trace.size());
  return rest.find_first_not_of(".0123456789") == std::string_view::npos && rest.back() != '.' &&
         rest.find("..") == std::string_view::npos && std::count(rest.begin(), rest.end(), '.') <= 2;
}

// What further processes of an earlier run have written, and nothing else that is named so.
void remove_further_traces(const fs::path& trace) {
  std::error_code error;
  std::vector<fs::path> traces;
  for (fs::directory_iterator at(trace.parent_path(), error), end; !error && at != end; at.increment(error)) {
    if (!at->is_symlink(error) && at->is_regular_file(error) &&
        is_of_further_process(at->path().filename().string(), trace.filename().string()) && is_trace(at->path())) {
      traces.push_back(at->path());
    }
  }
  for (const fs::path& file : traces) fs::remove(file, error);
}

// A trace is written by whoever finds no file yet, and beside it by each further process.
void prepare_trace(const std::string& path) {
  std::error_code error;
  open_and_close(path, platform::output_mode::append);  // where a link leads is known of a file that is there
  const std::string file = resolved(path);
  fs::remove(file, error);
  remove_further_traces(file);
  ::setenv("HOMING_TRACE", file.c_str(), 1);
}

// A report's file holds a line a process: those of an earlier run would be counted too. The library follows links by
// itself, and a descriptor's name must reach it as one.
void prepare_report(const std::string& path) {
  std::error_code error;
  const bool is_new = !fs::exists(path, error);
  if (is_new || (fs::is_regular_file(path, error) && !names_descriptor(path))) {
    open_and_close(path, platform::output_mode::replace);
  }
  if (is_new) fs::remove(resolved(path), error);
  ::setenv("HOMING_REPORT", fs::absolute(path, error).c_str(), 1);
}

std::string folder_for_reports() {
  std::error_code error;
  const fs::path folder = fs::temp_directory_path(error);
  if (error) {
    throw std::runtime_error("no folder for temporary files: " + error.message() +
                             "; let TMPDIR name one, or write the report with --report=FILE");
  }
  return folder.string();
}

}  // namespace

std::optional<std::string> prepare(const run_files& files) {
  using kind = named_file::kind;
  const named_file trace{"--trace ", files.trace, kind::regular, "a trace", is_trace};
  const named_file report{"--report=", files.report, kind::any, "a report", is_report};
  const named_file svg{"--svg ", files.svg};
  auto error = problem_of_two(trace, report);
  if (!error) error = problem_of_two(trace, svg);
  for (const named_file* file : {&trace, &report, &svg}) {
    if (!error) error = problem_of(*file);
  }
  if (error) return error;
  if (!files.trace.empty()) prepare_trace(files.trace);
  if (!files.report.empty()) prepare_report(files.report);
  return std::nullopt;
}

temporary_report::temporary_report() : file_(folder_for_reports(), "report") {
  if (!file_.problem().empty()) {
    throw std::runtime_error("can't make the file " + file_.problem() +
                             "; let TMPDIR name another folder, or write the report with --report=FILE");
  }
  ::setenv("HOMING_REPORT", file_.path().c_str(), 1);
}

std::string temporary_report::content() const {
  std::error_code error;
  const auto bytes = fs::file_size(file_.path(), error);
  if (!error && bytes > report_bytes_max) {  // one that is gone is no report
    throw std::runtime_error("the report of all processes is longer than 1 GiB: write it with --report=FILE");
  }
  return platform::read_file(file_.path(), report_bytes_max).value_or("");
}

}  // namespace homing::cli
