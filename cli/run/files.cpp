#include "run/files.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "platform/files.hpp"
#include "platform/output_file.hpp"

namespace homing::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t report_bytes_max = std::size_t{16} << 20;

enum class kind { any, regular };

// The file itself, behind all links.
std::string resolved(const std::string& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  return error ? fs::absolute(path, error).string() : real.string();
}

const char* open_and_close(const std::string& path, platform::output_mode mode) {
  const platform::opened_output out = platform::open_output(path.c_str(), mode);
  if (out.file >= 0) ::close(out.file);
  return out.problem;
}

// Why the file that an option names can't be written; nothing if it can. What is in it stays. A pipe is not opened: its
// reader would see it end.
std::optional<std::string> problem_of(const std::string& option, const std::string& path, kind wanted) {
  if (path.empty()) return std::nullopt;
  std::error_code error;
  const bool is_new = !fs::exists(path, error);
  const bool is_regular = fs::is_regular_file(path, error);
  if (fs::is_directory(path, error) || (wanted == kind::regular && !is_new && !is_regular)) {
    return option + path + ": is not a file";
  }
  if (!is_new && !is_regular) return std::nullopt;
  if (const char* const problem = open_and_close(path, platform::output_mode::append)) {
    return option + path + ": " + problem;
  }
  if (is_new) fs::remove(resolved(path), error);
  return std::nullopt;
}

// A trace is written by whoever finds no file yet.
void prepare_trace(const std::string& path) {
  std::error_code error;
  open_and_close(path, platform::output_mode::append);  // where a link leads is known of a file that is there
  const std::string file = resolved(path);
  fs::remove(file, error);
  ::setenv("HOMING_TRACE", file.c_str(), 1);
}

// A report's file holds a line a process: those of an earlier run would be counted too.
void prepare_report(const std::string& path) {
  std::error_code error;
  const bool is_new = !fs::exists(path, error);
  if (is_new || fs::is_regular_file(path, error)) open_and_close(path, platform::output_mode::replace);
  const std::string file = resolved(path);
  if (is_new) fs::remove(file, error);
  ::setenv("HOMING_REPORT", file.c_str(), 1);
}

}  // namespace

std::optional<std::string> prepare(const run_files& files) {
  auto error = problem_of("--trace ", files.trace, kind::regular);
  if (!error) error = problem_of("--report=", files.report, kind::any);
  if (!error) error = problem_of("--svg ", files.svg, kind::any);
  if (error) return error;
  if (!files.trace.empty()) prepare_trace(files.trace);
  if (!files.report.empty()) prepare_report(files.report);
  return std::nullopt;
}

temporary_report::temporary_report() {
  std::error_code error;
  fs::path folder = fs::temp_directory_path(error);
  if (!error) folder = fs::absolute(folder, error);  // the program may change its folder
  if (error) {
    throw std::runtime_error("no folder for temporary files: " + error.message() +
                             "; let TMPDIR name one, or write the report with --report=FILE");
  }
  name_ = (folder / "homing-report-XXXXXX").string();
  const int file = ::mkstemp(name_.data());
  if (file < 0) {
    throw std::runtime_error("can't make the file " + name_ + ": " + std::strerror(errno) +
                             "; let TMPDIR name another folder, or write the report with --report=FILE");
  }
  ::close(file);
  ::setenv("HOMING_REPORT", name_.c_str(), 1);
}

temporary_report::~temporary_report() { ::unlink(name_.c_str()); }

std::string temporary_report::content() const { return platform::read_file(name_, report_bytes_max).value_or(""); }

}  // namespace homing::cli
