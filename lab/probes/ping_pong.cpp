// homing-lab-ping_pong ROUNDS CPU CPU [CPU CPU]...: for each pair, two threads hand one flag to and fro by
// compare-and-swap, each trying until it succeeds, as core-to-core listings do; the flag is in memory of the first's
// node. The region "ping-pong CPU CPU" holds 2 ROUNDS hand-overs, each of one to two transfers of the line: a try that
// fails takes it, too.
#include <homing/lab.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "guest.hpp"
#include "team.hpp"

using namespace homing::lab::probes;

namespace {

void ping_pong(unsigned first, unsigned second, unsigned rounds) {
  const std::string label = "ping-pong " + std::to_string(first) + " " + std::to_string(second);
  run_on(first);
  node_memory memory(page_bytes, {});
  memory.touch();
  auto& flag = *reinterpret_cast<std::atomic<unsigned>*>(memory.data());
  flag = 0;
  run_team(
      {first, second}, [](std::size_t) {}, [&] { homing::lab::begin(label.c_str()); },
      [&](std::size_t i) {
        const auto mine = static_cast<unsigned>(i), others = 1 - mine;
        for (unsigned round = 0; round != rounds; ++round) {
          // Relaxed: the flag is all there is.
          for (unsigned expected = mine; !flag.compare_exchange_strong(expected, others, std::memory_order_relaxed);) {
            expected = mine;
          }
        }
      },
      [&] { homing::lab::end(label.c_str()); });
  std::printf("{\"region\": \"%s\", \"hand_overs\": %u}\n", label.c_str(), 2 * rounds);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4 || argc % 2 != 0) fail("expected ROUNDS and pairs of CPUs");
  const auto number = [&](int i) { return static_cast<unsigned>(std::atol(argv[i])); };
  for (int i = 2; i != argc; i += 2) ping_pong(number(i), number(i + 1), number(1));
  std::fprintf(stderr, "expected: a hand-over takes the line once or twice to the other core\n");
}
