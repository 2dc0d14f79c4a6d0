// The Jacobi study of Wittmann and Hager: runs the variants that were asked for and prints a line for each.
#include <homing/topology.hpp>

#include <cstdio>
#include <exception>
#include <new>
#include <optional>
#include <string>

#include "../common/median.hpp"
#include "measure.hpp"

namespace {

using namespace jacobi;

std::string text_of(const extents& e) {
  return std::to_string(e.k) + "x" + std::to_string(e.j) + "x" + std::to_string(e.i);
}

double share_at_home(const measurement& m) { return static_cast<double>(m.at_home) / static_cast<double>(m.processed); }

void print_json(const variant& v, const options& o, const measurement& m) {
  const auto machine = homing::topology::current();
  std::printf(
      R"({"variant":"%s","threads":%d,"pinned":%s,"domains":%zu,"virtual":%s,"grid":"%s","block":"%s","blocks":%zu,)"
      R"("sweeps":%d,"mlups":[)",
      std::string(v.name).c_str(), o.threads, o.pin ? "true" : "false", machine.domains().size(),
      machine.is_virtual() ? "true" : "false", text_of(o.sites).c_str(), text_of(o.block).c_str(),
      lattice(o.sites, o.block).block_count(), o.sweeps);
  for (std::size_t r = 0; r < m.mlups.size(); ++r) std::printf("%s%.3f", r == 0 ? "" : ",", m.mlups[r]);
  std::printf(
      R"(],"mlups_median":%.3f,"blocks_processed":%llu,"blocks_at_home":%llu,"share_at_home":%.4f,"checked":%s})"
      "\n",
      bench::median(m.mlups), static_cast<unsigned long long>(m.processed), static_cast<unsigned long long>(m.at_home),
      share_at_home(m), o.check ? "true" : "false");
}

void print_heading(const options& o) {
  const auto machine = homing::topology::current();
  std::printf("%s sites in %zu blocks of %s, %d threads %s, %zu domain%s%s\n", text_of(o.sites).c_str(),
              lattice(o.sites, o.block).block_count(), text_of(o.block).c_str(), o.threads,
              o.pin ? "pinned" : "not pinned", machine.domains().size(), machine.domains().size() == 1 ? "" : "s",
              machine.is_virtual() ? " (virtual: speeds say nothing about such a machine)" : "");
  std::printf("%-20s %10s %10s %10s %9s  %s\n", "variant", "MLUP/s", "least", "most", "at home", "result");
}

void print_line(const variant& v, const options& o, const measurement& m) {
  std::printf("%-20s %10.1f %10.1f %10.1f %8.1f%%  %s\n", std::string(v.name).c_str(), bench::median(m.mlups),
              m.mlups.front(), m.mlups.back(), 100 * share_at_home(m), o.check ? "as serial" : "not checked");
}

int run(const options& o) {
  std::optional<fresh_array> expected;
  if (o.check) expected.emplace(serial_result(o));
  if (!o.json) print_heading(o);
  for (const variant* v : o.wanted) {
    const measurement m = measure(*v, o, expected ? &*expected : nullptr);
    if (!m.identical) {
      std::fprintf(stderr, "jacobi: %s: the result differs from a serial run's\n", std::string(v->name).c_str());
      return 3;
    }
    (o.json ? print_json : print_line)(*v, o, m);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const options o = parse(argc, argv);
  try {
    return run(o);
  } catch (const std::bad_alloc&) {
    const std::size_t mib = lattice(o.sites, o.block).values() * sizeof(double) * (o.check ? 4 : 2) >> 20;
    std::fprintf(stderr, "jacobi: no memory: a lattice of %s takes %zu MiB; a smaller --scale or --grid would do\n",
                 text_of(o.sites).c_str(), mib);
    return 4;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "jacobi: %s\n", e.what());
    return 1;
  }
}
