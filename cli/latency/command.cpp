/// `homing latency`: how long the CPUs of each node wait for the memory of each, idle and under load.
#include <cstdio>
#include <string>
#include <utility>

#include "common/command.hpp"
#include "common/measure_options.hpp"
#include "latency/report.hpp"

namespace homing::cli {

int latency_command(const arguments& args) {
  CLI::App app(
      "Measures memory latency with dependent loads: one thread of each CPU node follows a random cycle through\n"
      "all lines of a buffer on each memory node. With --loaded also while the node's other CPUs read from the\n"
      "same memory, with shorter and shorter delays: latency against bandwidth. Where the memory really was is\n"
      "looked up; * marks figures of memory that was elsewhere.",
      "homing latency");
  measure_options options;
  options.repeat = 7;
  options.pages = measure::page_wish::huge;
  bool loaded = false;
  app.add_flag("--loaded", loaded, "also under load: a curve for each CPU node on its nearest memory");
  add_measure_options(app, options,
                      "size of the buffer, and of what the load reads: 64M, 64MB, 1.5G\n"
                      "(default: four times the last-level caches, at most what is free)");
  shape_help(app, "homing latency [OPTIONS]",
             "  homing latency\n"
             "  homing latency --loaded --svg latency.svg\n"
             "  homing latency --nodes 0,1 --json | jq .median_matrix");
  int result = exit_ok;
  if (!parse(app, args, exit_usage, result)) return result;

  make_domains_nodes();
  const measure::latency_wishes wishes{options.repeat, options.pages, options.bytes, loaded};
  measure::plan plan = measure::make_plan(options.nodes, options.threads);
  measure::latency_figures figures;
  if (plan.error.empty()) figures = measure::list_walks(plan, wishes);
  if (!plan.error.empty()) return cannot_measure(plan, "latency");
  output_file svg(options.svg);
  {
    progress_line line;
    measure::walk_all(plan, wishes, figures,
                      [&](auto done, auto all, const auto& what) { line.show(done, all, what); });
  }
  const measure::machine_card machine = measure::describe_machine(plan.machine);
  const measure::latency_report report{std::move(plan), machine, wishes, std::move(figures)};
  const std::string out = options.json ? report.json() : options.csv ? report.csv() : report.text();
  std::fputs(out.c_str(), stdout);
  if (svg.is_wanted()) svg.write(report.svg());
  if (const std::string wrong = report.wrong(); !wrong.empty()) {
    complain("the figures mean nothing: " + wrong);
    return exit_failure;
  }
  return exit_ok;
}

}  // namespace homing::cli
