/// `homing bandwidth`: how fast the CPUs of each node reach the memory of each, by STREAM.
#include <homing/topology.hpp>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "bandwidth/report.hpp"
#include "common/command.hpp"
#include "common/measure_options.hpp"

namespace homing::cli {
namespace {

// In STREAM's order, each once; STREAM's four if none is named.
std::vector<measure::kernel> kernels_named(const std::vector<std::string>& names) {
  std::vector<measure::kernel> result;
  for (const measure::kernel k : measure::all_kernels) {
    const bool named = std::find(names.begin(), names.end(), measure::name_of(k)) != names.end();
    if (named || (names.empty() && k != measure::kernel::read)) result.push_back(k);
  }
  return result;
}

}  // namespace

int bandwidth_command(const arguments& args) {
  CLI::App app(
      "Measures memory bandwidth with STREAM's kernels: threads on the CPUs of each node, three arrays on the\n"
      "memory of each, for every pair of nodes; then all CPU nodes at once on their own memory (all-local), on\n"
      "one (all-to-one) and on another's (all-remote). The results are checked as STREAM checks them, and where\n"
      "the memory really was is looked up; * marks figures of memory that was elsewhere.",
      "homing bandwidth");
  measure_options options;
  options.repeat = 10;
  std::vector<std::string> kernel_names;
  app.add_option("--kernel", kernel_names,
                 "copy, scale, add, triad, or read, which is not STREAM's and\nonly reads; several with commas "
                 "(default: STREAM's four)")
      ->delimiter(',')
      ->check(CLI::IsMember({"copy", "scale", "add", "triad", "read"}))
      ->type_name("NAME");
  add_measure_options(app, options,
                      "size of each of the three arrays of a CPU node: 64M, 64MB, 1.5G\n"
                      "(default: four times its last-level caches, at most what is free)");
  shape_help(app, "homing bandwidth [OPTIONS]",
             "  homing bandwidth\n"
             "  homing bandwidth --kernel triad --nodes 0-1 --svg bandwidth.svg\n"
             "  homing bandwidth --pages huge --json | jq .median_matrix.triad");
  int result = exit_ok;
  if (!parse(app, args, exit_usage, result)) return result;

  make_domains_nodes();
  const measure::bandwidth_wishes wishes{kernels_named(kernel_names), options.repeat, options.pages, options.bytes};
  measure::plan plan = measure::make_plan(options.nodes, options.threads);
  std::vector<measure::bandwidth_figure> figures;
  if (plan.error.empty()) figures = measure::list_measurements(plan, wishes);
  if (!plan.error.empty()) return cannot_measure(plan, "bandwidth");
  output_file svg(options.svg);
  {
    progress_line line;
    measure::measure_all(plan, wishes, figures,
                         [&](auto done, auto all, const auto& what) { line.show(done, all, what); });
  }
  const measure::machine_card machine = measure::describe_machine(plan.machine);
  const measure::bandwidth_report report{std::move(plan), machine, wishes, std::move(figures)};
  const std::string out = options.json ? report.json() : options.csv ? report.csv() : report.text();
  std::fputs(out.c_str(), stdout);
  if (svg.is_wanted()) svg.write(report.svg());
  if (const std::string wrong = report.wrong(); !wrong.empty()) {
    complain("wrong results, so that the figures mean nothing: " + wrong);
    return exit_failure;
  }
  return exit_ok;
}

}  // namespace homing::cli
