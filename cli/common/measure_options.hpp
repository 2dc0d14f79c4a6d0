/// What `homing bandwidth` and `homing latency` are both told, and how they end.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "common/parse.hpp"
#include "measure/placed_buffer.hpp"
#include "measure/plan.hpp"
#include "platform/output_file.hpp"

namespace homing::cli {

struct measure_options {
  std::string nodes = "all";
  std::optional<std::uint64_t> bytes{};
  std::optional<unsigned> threads{};
  unsigned repeat = 0;
  measure::page_wish pages = measure::page_wish::system;
  bool json = false;
  bool csv = false;
  std::string svg{};
};

/// Adds them to a subcommand. `options` must outlive the parsing; `what_size` says whose size --size is. The defaults
/// are those that `options` holds.
void add_measure_options(CLI::App& app, measure_options& options, const std::string& what_size);

/// A file that is written when the figures are there, but opened before, so that a name that can't be written costs
/// nobody a measurement. What is in it stays until then. A file that was not there is removed again if no figures come.
class output_file {
 public:
  /// No name: no file. Errors: std::runtime_error with the file's name.
  explicit output_file(const std::string& name);
  ~output_file();
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;
  [[nodiscard]] bool is_wanted() const noexcept { return file_ != nullptr; }
  /// Errors: std::runtime_error with the file's name.
  void write(const std::string& text);

 private:
  struct closer {
    void operator()(std::FILE* f) const noexcept { std::fclose(f); }
  };
  void open(platform::output_mode mode);

  std::string name_;
  std::unique_ptr<std::FILE, closer> file_;
  bool is_new_ = false;
  bool written_ = false;
};

/// One line on stderr that shows what is going on, if that is a terminal; nothing otherwise. Wipes the line at its end.
class progress_line {
 public:
  progress_line();
  progress_line(const progress_line&) = delete;
  progress_line& operator=(const progress_line&) = delete;
  ~progress_line();
  void show(std::size_t done, std::size_t all, const std::string& what);

 private:
  bool is_on_;
};

/// Nodes are what is measured, whatever HOMING_DOMAIN says. Before the first look at the machine.
void make_domains_nodes();

/// Says why nothing can be measured. Returns the exit code: an option that is wrong, or the machine.
int cannot_measure(const measure::plan& plan, const std::string& command);

}  // namespace homing::cli
