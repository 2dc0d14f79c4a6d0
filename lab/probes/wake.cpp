// homing-lab-wake CPU CPU ROUNDS: a thread on the second CPU sleeps, and that CPU has nothing else to do; one on the
// first wakes it and spins until it has answered. The region "wake" is that, ROUNDS times: two ways through the kernel,
// what the idle CPU needs to wake up, and two transfers of a line.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <homing/lab.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include "guest.hpp"
#include "instructions.hpp"

using namespace homing::lab::probes;

namespace {

struct alignas(line_bytes) word {
  std::atomic<unsigned> value{0};
};

bool sleeps(pid_t thread) {
  std::string line;
  std::getline(std::ifstream("/proc/self/task/" + std::to_string(thread) + "/stat"), line);
  const std::size_t state = line.rfind(") ");
  if (state == std::string::npos) fail("/proc/self/task: expected a thread's state");
  return line[state + 2] == 'S';
}

void wait_for_sleep(pid_t thread) {
  for (int looks = 0; looks != 2;) looks = sleeps(thread) ? looks + 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) fail("expected CPU CPU ROUNDS");
  const auto number = [&](int i) { return static_cast<unsigned>(std::atol(argv[i])); };
  const unsigned rounds = number(3);
  word call, answer;  // the round that is asked for, and the last one that was answered
  std::atomic<pid_t> sleeper{0};
  run_on(number(1));
  std::thread other([&] {
    run_on(number(2));
    sleeper = static_cast<pid_t>(syscall(SYS_gettid));
    for (unsigned round = 1; round <= rounds; ++round) {
      while (call.value != round) {
        syscall(SYS_futex, &call.value, FUTEX_WAIT_PRIVATE, round - 1, nullptr, nullptr, 0);
      }
      answer.value = round;
    }
  });
  while (sleeper == 0) instructions::pause();
  for (unsigned round = 1; round <= rounds; ++round) {
    wait_for_sleep(sleeper);
    homing::lab::begin("wake");
    call.value = round;
    syscall(SYS_futex, &call.value, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    while (answer.value != round) instructions::pause();
    homing::lab::end("wake");
  }
  other.join();
  std::printf("{\"region\": \"wake\", \"rounds\": %u}\n", rounds);
  std::fprintf(stderr, "expected: the idle CPU's time to wake up, and less than again as much for the rest\n");
}
