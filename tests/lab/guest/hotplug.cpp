// hotplug [--domain N]: all CPUs of a domain go offline while a loop with a distribution runs, and come back while
// another does. Nothing hangs, and every element is updated once a loop. Needs root.
#include <homing/parallel_for.hpp>
#include <homing/placement.hpp>
#include <homing/tasks.hpp>
#include <homing/topology.hpp>

#include <atomic>
#include <fstream>
#include <thread>
#include <vector>

#include "check.hpp"

using namespace guest;

namespace {

bool set_online(homing::cpu_id cpu, bool online) {
  std::ofstream file("/sys/devices/system/cpu/cpu" + std::to_string(homing::to_number(cpu)) + "/online");
  file << (online ? '1' : '0') << std::flush;
  return static_cast<bool>(file);
}

}  // namespace

int main(int argc, char** argv) {
  const words given(argc, argv);
  const auto machine = homing::topology::current();
  const auto domain = homing::domain_index{static_cast<std::uint32_t>(given.number("--domain", 1))};
  if (machine.domains().size() <= to_index(domain)) give_up("there is no such domain");
  std::vector<double> values(std::size_t{1} << 18);
  const auto blocks = homing::block(values.size(), homing::domain_set::all(), homing::elements_per_page<double>());
  const homing::placed_range placed = homing::enforce(blocks, values);
  std::atomic<int> loops{0};
  std::atomic<bool> over{false};
  std::atomic<bool> accepted{true};
  std::thread plug([&] {
    const auto change = [&](bool online) {
      for (const homing::cpu_id cpu : machine.at(domain).cpus) {
        if (!set_online(cpu, online)) accepted = false;
        for (int i = 0; i != 2; ++i) loops.wait(loops);  // a loop or two in each state
      }
    };
    change(false);
    change(true);
    over = true;
  });
  // Until all went and came back; a hang is ended by the lab's time limit.
  while (!over) {
    homing::parallel_for(
        tbb::blocked_range<std::size_t>(0, values.size(), 1024),
        [&](const tbb::blocked_range<std::size_t>& r) {
          for (std::size_t i = r.begin(); i != r.end(); ++i) values[i] += 1;
        },
        blocks);
    ++loops;
    loops.notify_one();
  }
  plug.join();
  check(accepted, "the kernel took all CPUs of the domain away and gave them back");
  std::size_t wrong = 0;
  for (const double v : values) wrong += v == static_cast<double>(loops.load()) ? 0 : 1;
  check(wrong == 0, "each element was updated once a loop", std::to_string(wrong) + " were not");
  std::atomic<int> ran{0};
  homing::task_group group;
  for (unsigned i = 0; i != 100; ++i) group.run(homing::on(domain), [&] { ++ran; });
  group.wait();
  check(ran == 100, "addressed tasks run afterwards", std::to_string(ran));
  check(homing::verify(blocks, values).away == 0, "the pages stayed");
  return verdict();
}
