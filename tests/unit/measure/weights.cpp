/// Property: what `homing bandwidth --csv` writes becomes weights, and nothing else does: each refusal names the file
/// and the reason. Method: reports of made-up figures, written and read back; tables of broken files.
#include <homing/distribution.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "bandwidth/report.hpp"
#include "topology/snapshot.hpp"
#include "unit/common/temporary_path.hpp"
#include "unit/common/topology_fixture.hpp"

namespace homing::measure {
namespace {

topology::snapshot machine_of(const std::string& text, topology::domain_kind kind = topology::domain_kind::node) {
  const auto origin = text.ends_with(".xml") ? topology::source::origin::xml : topology::source::origin::synthetic;
  return topology::make_snapshot(topology::testing::read_or_fail({.from = origin, .text = text, .kind = kind}));
}

/// The file of a report in which each CPU node gets `mb_per_s` (by place) from each memory.
class file_of_figures {
 public:
  file_of_figures() : path_(homing::testing::temporary_path("weights.csv")) {}
  ~file_of_figures() { std::remove(path_.c_str()); }
  file_of_figures(const file_of_figures&) = delete;
  file_of_figures& operator=(const file_of_figures&) = delete;

  void measure(const topology::snapshot& machine, const std::vector<double>& mb_per_s, bool is_placed = true) const {
    topology::set_current(machine);
    const bandwidth_wishes wishes{{kernel::copy, kernel::triad}, 1, page_wish::system, std::nullopt};
    plan p = make_plan("all", std::nullopt);
    ASSERT_EQ(p.error, "");
    auto figures = list_measurements(p, wishes);
    for (bandwidth_figure& f : figures) {
      const double figure = mb_per_s.at(f.pairs.empty() ? 0 : f.pairs[0].cpu);
      f.result.mb_per_s = {summarize({1}), summarize({figure})};
      f.result.memory.why_not = is_placed ? "" : "the sandbox refuses";
    }
    write(bandwidth_report{p, {}, wishes, figures}.csv());
    topology::refresh();
  }
  void write(const std::string& text) const { std::ofstream(path_) << text; }
  [[nodiscard]] weights_or_error read(const topology::snapshot& machine, const domain_set& over,
                                      const char* kernel = "triad") const {
    return weights::by_measured_bandwidth(machine, over, path_, kernel);
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

domain_index domain(unsigned i) { return static_cast<domain_index>(i); }

std::vector<std::uint64_t> values(const weights_or_error& w) {
  EXPECT_EQ(w.error, "");
  if (!w.value) return {};
  return {w.value->values().begin(), w.value->values().end()};
}
using list = std::vector<std::uint64_t>;

TEST(measured_weights, are_the_medians_of_each_members_own_memory) {
  const file_of_figures file;
  const auto unequal = machine_of(topology::testing::fixture_path("unequal"));  // nodes 0, 2 and 5
  file.measure(unequal, {300, 100, 200});
  EXPECT_EQ(values(file.read(unequal, domain_set::first(3))), (list{300, 100, 200}));
  EXPECT_EQ(values(file.read(unequal, domain_set{domain(2), domain(0)})), (list{200, 300})) << "in the set's order";
  EXPECT_EQ(values(file.read(unequal, domain_set::first(3), "copy")), (list{1, 1, 1}));
  const auto d = block(600, domain_set::first(3), *file.read(unequal, domain_set::first(3)).value);
  EXPECT_EQ(d.size_of(domain(0)), 300U);
  EXPECT_EQ(d.size_of(domain(1)), 100U);
}

TEST(measured_weights, members_of_one_memory_share_its_bandwidth) {
  const file_of_figures file;
  file.measure(machine_of(topology::testing::fixture_path("l3_groups")), {400, 400});
  const auto groups = machine_of(topology::testing::fixture_path("l3_groups"), topology::domain_kind::l3);
  ASSERT_EQ(groups.domains().size(), 4U);
  EXPECT_EQ(values(file.read(groups, domain_set{domain(0), domain(1), domain(2)})), (list{200, 200, 400}));
}

TEST(measured_weights, a_node_without_memory_has_that_of_its_nearest) {
  const file_of_figures file;
  const auto less = machine_of(topology::testing::fixture_path("memory_less"));
  file.measure(less, {300, 100, 200});
  const auto w = values(file.read(less, domain_set::first(3)));
  ASSERT_EQ(w.size(), 3U);
  EXPECT_LT(w[1], w[0]);
}

void expect_refused(const file_of_figures& file, const topology::snapshot& machine, const std::string& why) {
  const auto seen = file.read(machine, domain_set::first(2));
  EXPECT_FALSE(seen.value);
  EXPECT_TRUE(seen.error.starts_with(file.path() + ": ")) << seen.error;
  EXPECT_NE(seen.error.find(why), std::string::npos) << seen.error;
  EXPECT_EQ(seen.error.find('\n'), std::string::npos);
}

TEST(measured_weights, what_is_wrong_is_told) {
  const file_of_figures file;
  const auto two = machine_of("node:2 core:1 pu:1");
  expect_refused(file, two, "can't be read");
  file.measure(machine_of("node:1 core:1 pu:1"), {5});
  expect_refused(file, two, "no figure of triad for the CPUs of node 1 on the memory of node 1");
  file.measure(two, {5, 6}, false);
  expect_refused(file, two, "the memory was elsewhere while the CPUs of node 0 on the memory of node 0 were measured");
  const std::string head = "pattern,cpu_node,memory_node,kernel,unit,median,placed,right\n";
  for (const std::string& text : {std::string(), std::string("{}"), std::string("pattern,cpu_node\n"),
                                  head + "pair,0,0,triad,MB/s,1,1\n", head + "pair,x,0,triad,MB/s,1,1,1\n",
                                  head + "pair,0,0,triad,MB/s,nan,1,1\n", head + "pair,0,0,triad,MB/s,0,1,1\n",
                                  head + "pair,0,0,triad,ns,1,1,1\n", head + "pair,0,0,triad,MB/s,1,1,0\n"}) {
    file.write(text);
    expect_refused(file, two, "not a table of bandwidths");
  }
}

TEST(measured_weights, a_fifo_that_nobody_writes_is_no_table) {
  const file_of_figures file;
  std::remove(file.path().c_str());
  ASSERT_EQ(::mkfifo(file.path().c_str(), 0600), 0);
  expect_refused(file, machine_of("node:2 core:1 pu:1"), "not a table of bandwidths");
}

TEST(measured_weights, what_a_slow_writer_writes_into_a_fifo_is_read) {
  const file_of_figures file;
  const auto two = machine_of("node:2 core:1 pu:1");
  std::remove(file.path().c_str());
  ASSERT_EQ(::mkfifo(file.path().c_str(), 0600), 0);
  const int kept = ::open(file.path().c_str(), O_RDWR | O_CLOEXEC);
  std::thread writes([&] {
    for (const char* part : {"pattern,cpu_node,memory_node,kernel,unit,",
                             "median,placed,right\npair,0,0,triad,MB/s,2,1,1\n", "pair,1,1,triad,MB/s,3,1,1\n"}) {
      file.write(part);
      for (int left = 1; left > 0; ::ioctl(kept, FIONREAD, &left)) std::this_thread::yield();
    }
    ::close(kept);
  });
  EXPECT_EQ(values(file.read(two, domain_set::first(2))), (list{2, 3}));
  writes.join();
}

}  // namespace
}  // namespace homing::measure
