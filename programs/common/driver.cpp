#include "driver.hpp"

#include <homing/tasks.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>

#include "../../bench/common/command_line.hpp"
#include "../../bench/common/median.hpp"
#include "cpu_check.hpp"
#include "options.hpp"
#include "places.hpp"
#include "variants.hpp"

namespace programs {
namespace {

// Set for a process that has one variant of several: the heading is its parent's.
constexpr const char* part_of_a_list = "PROGRAMS_PART";
// Set for a process whose pages and CPUs are as the command line wants them.
constexpr const char* surrounded = "PROGRAMS_SURROUNDED";

struct line {
  std::string program, variant, size;
  double median, least, most, rate, home;
  std::string pages;
};

line summary(const description& program, const variant& v, const options& o, const outcome& result) {
  std::vector<double> ms = result.ms;
  std::ranges::sort(ms);
  const double median = bench::median(ms);
  const double counted = static_cast<double>(result.work.at_home + result.work.away);
  std::string pages;
  for (const auto& n : result.pages.nodes) {
    if (!pages.empty()) pages += ' ';
    pages += std::to_string(homing::to_number(n.node)).append(":").append(std::to_string(n.pages));
  }
  return {std::string(program.name),
          std::string(v.name),
          std::string(program.sizes[o.what.size].name),
          median,
          ms.front(),
          ms.back(),
          result.amount / std::max(median, 1e-6) * 1e3,
          counted > 0 ? static_cast<double>(result.work.at_home) / counted : -1,
          pages};
}

const char* verdict(const request& r, const outcome& result) {
  return !r.check ? "not checked" : result.wrong.empty() ? "right" : "WRONG";
}

std::string share(double home) {
  char text[16];
  std::snprintf(text, sizeof text, "%.1f%%", 100 * home);
  return home < 0 ? "-" : text;
}

void print_heading(const options& o, const description& program) {
  if (o.form == output::csv) {
    std::puts(
        "program,variant,size,threads,homing,domains,virtual,median_ms,least_ms,most_ms,rate,unit,at_home,pages,"
        "moved_bytes,moving_ms,result");
  } else if (o.form == output::table) {
    const auto machine = homing::topology::current();
    std::printf("%s, size %s: %d threads, %zu domain%s%s, %s\n", std::string(program.name).c_str(),
                std::string(program.sizes[o.what.size].name).c_str(), o.what.threads, machine.domains().size(),
                machine.domains().size() == 1 ? "" : "s",
                machine.is_virtual() ? " (virtual: times say nothing about such a machine)" : "",
                homing::runtime().is_homing ? "our libtbb.so.12" : "another libtbb.so.12 than ours");
    std::printf("%-17s %11s %11s %11s %12s %8s %18s  %s\n", "variant", "median ms", "least", "most",
                (std::string(program.unit) + "/s").c_str(), "at home", "moved", "result; pages by node");
  }
}

void print_json(const description& program, const options& o, const line& l, const outcome& result) {
  const auto machine = homing::topology::current();
  std::printf(R"({"program":"%s","variant":"%s","size":"%s","threads":%d,"seed":%llu,"homing":%s,"domains":%zu,)"
              R"("virtual":%s,"ms":[)",
              l.program.c_str(), l.variant.c_str(), l.size.c_str(), o.what.threads,
              static_cast<unsigned long long>(o.what.seed), homing::runtime().is_homing ? "true" : "false",
              machine.domains().size(), machine.is_virtual() ? "true" : "false");
  for (std::size_t i = 0; i < result.ms.size(); ++i) std::printf("%s%.4f", i == 0 ? "" : ",", result.ms[i]);
  std::printf(R"(],"median_ms":%.4f,"least_ms":%.4f,"most_ms":%.4f,"rate":%.6g,"unit":"%s/s","at_home":%s,"pages":{)",
              l.median, l.least, l.most, l.rate, std::string(program.unit).c_str(),
              l.home < 0 ? "null" : std::to_string(l.home).c_str());
  for (std::size_t i = 0; i < result.pages.nodes.size(); ++i) {
    std::printf(R"(%s"%d":%zu)", i == 0 ? "" : ",", homing::to_number(result.pages.nodes[i].node),
                result.pages.nodes[i].pages);
  }
  std::printf(
      R"(},"moved_bytes":%zu,"moving_ms":%.3f,"contended":%llu,"contender_threads":%d,"note":"%s","result":"%s"})"
      "\n",
      result.moved.bytes, result.moved.ms, static_cast<unsigned long long>(result.contended), result.contender_threads,
      result.note.c_str(), verdict(o.what, result));
}

void print(const description& program, const options& o, const line& l, const outcome& result) {
  const auto machine = homing::topology::current();
  if (o.form == output::json) {
    print_json(program, o, l, result);
  } else if (o.form == output::csv) {
    std::printf("%s,%s,%s,%d,%d,%zu,%d,%.4f,%.4f,%.4f,%.6g,%s/s,%s,%s,%zu,%.3f,%s\n", l.program.c_str(),
                l.variant.c_str(), l.size.c_str(), o.what.threads, homing::runtime().is_homing,
                machine.domains().size(), machine.is_virtual(), l.median, l.least, l.most, l.rate,
                std::string(program.unit).c_str(), l.home < 0 ? "" : std::to_string(l.home).c_str(), l.pages.c_str(),
                result.moved.bytes, result.moved.ms, verdict(o.what, result));
  } else {
    char moved[32];
    std::snprintf(moved, sizeof moved, "%.1f MiB %.1f ms", static_cast<double>(result.moved.bytes) / (1 << 20),
                  result.moved.ms);
    std::printf("%-17s %11.3f %11.3f %11.3f %12.5g %8s %18s  %s; %s%s%s\n", l.variant.c_str(), l.median, l.least,
                l.most, l.rate, share(l.home).c_str(), result.moved.bytes == 0 ? "-" : moved, verdict(o.what, result),
                l.pages.c_str(), result.note.empty() ? "" : "; ", result.note.c_str());
  }
  bench::flush_output();
}

// Libraries look at masks and policies when they are loaded: so these are set first, and the program starts again.
void with_surroundings(char** argv, const surroundings& s) {
  if (std::getenv(surrounded) != nullptr || (s.pages == page_policy::first_touch && !s.cpu_node)) return;
  std::string refused = apply(s);
  if (refused.empty()) {
    ::setenv(surrounded, "1", 1);
    ::execv("/proc/self/exe", argv);
    refused = std::string("starting again: ") + std::strerror(errno);
  }
  throw std::runtime_error(refused);
}

int run_one(char** argv, const description& program, const variant& v, options& o) {
  if (v.name == "openmp-affinity") start_with_places(argv);
  if (o.what.label.empty()) o.what.label = std::string(program.name) + ", " + std::string(v.name);
  contender other(o.what.against, o.what.threads, o.what.seed);
  o.what.beside = &other;
  if (v.name.starts_with("openmp")) return_to_place();
  outcome result = v.measure(o.what);
  print(program, o, summary(program, v, o, result), result);
  if (result.wrong.empty()) return 0;
  std::fprintf(stderr, "%s: %s: wrong result: %s\n", std::string(program.name).c_str(), std::string(v.name).c_str(),
               result.wrong.c_str());
  return 3;
}

int status_of(int wait_status, const std::string& who) {
  if (WIFEXITED(wait_status)) return WEXITSTATUS(wait_status);
  const int signal = WTERMSIG(wait_status);
  if (signal != SIGPIPE) {  // whoever reads has gone, and knows it
    std::fprintf(stderr, "%s: killed by signal %d (%s)%s\n", who.c_str(), signal, ::strsignal(signal),
                 signal == SIGKILL ? "; if memory ran out, a smaller --size would do" : "");
  }
  return 1;
}

// The same command line with one variant, in a process of its own: no variant inherits threads, pages or policies.
int run_child(int argc, char** argv, const std::string& program, const variant& v) {
  std::vector<std::string> words(argv, argv + argc);
  words.insert(words.end(), {"--variant", std::string(v.name)});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv(part_of_a_list, "1", 1);
    ::execv("/proc/self/exe", arguments.data());
    std::fprintf(stderr, "%s: %s: can't be started: %s\n", program.c_str(), std::string(v.name).c_str(),
                 std::strerror(errno));
    ::_exit(1);
  }
  int status = 0;
  if (child > 0 && ::waitpid(child, &status, 0) == child) {
    return status_of(status, program + ": " + std::string(v.name));
  }
  throw std::runtime_error(std::string(v.name) + ": no process for it: " + std::strerror(errno));
}

}  // namespace

homing::page_census census_of(std::span<const homing::memory_range> data) {
  homing::page_census sum;
  for (const homing::memory_range& range : data) {
    const homing::page_census one = homing::where(range);
    sum.pages += one.pages;
    for (const auto& n : one.nodes) {
      const auto at = std::ranges::find(sum.nodes, n.node, &homing::node_pages::node);
      if (at == sum.nodes.end()) {
        sum.nodes.push_back(n);
      } else {
        at->pages += n.pages;
      }
    }
  }
  std::ranges::sort(sum.nodes, {}, [](const homing::node_pages& n) { return homing::to_number(n.node); });
  return sum;
}

namespace {

int run_variants(int argc, char** argv, const description& program, std::span<const variant> variants) {
  require_cpu();
  leave_place();
  options o = parse(argc, argv, program, variants);
  try {
    with_surroundings(argv, o.what.around);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", std::string(program.name).c_str(), e.what());
    return 1;
  }
  if (std::getenv(part_of_a_list) == nullptr &&
      !(o.wanted.size() == 1 && o.wanted[0]->name == "openmp-affinity" && std::getenv("OMP_PLACES") == nullptr)) {
    print_heading(o, program);
    bench::flush_output();
  }
  try {
    if (o.wanted.size() == 1) return run_one(argv, program, *o.wanted[0], o);
    int worst = 0;
    for (const variant* v : o.wanted) worst = std::max(worst, run_child(argc, argv, std::string(program.name), *v));
    return worst;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "%s: no memory for size %s; a smaller --size would do\n", std::string(program.name).c_str(),
                 std::string(program.sizes[o.what.size].name).c_str());
    return 4;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", std::string(program.name).c_str(), e.what());
    return 1;
  }
}

}  // namespace

int run_program(int argc, char** argv, const description& program, std::span<const variant> variants) {
  const int status = run_variants(argc, argv, program, variants);
  return bench::status_of_output(std::string(program.name).c_str(), status);
}

int run_program(int argc, char** argv, const description& program, std::initializer_list<variant_list> variants) {
  variant_list all;
  for (const variant_list& list : variants) all.insert(all.end(), list.begin(), list.end());
  return run_program(argc, argv, program, std::span<const variant>(all));
}

}  // namespace programs
