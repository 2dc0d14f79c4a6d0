// A thread as the host's kernel sees it: it runs, sleeps, or is unknown. Method: a thread that spins, and one that
// waits for a byte.
#include "host_thread.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "unit/common/await.hpp"

namespace {

using homing::lab::model::host_thread;
using homing::testing::await;

TEST(LabHostThread, RunsOrSleeps) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  host_thread known;
  std::atomic<bool> spins{false}, may_sleep{false};
  EXPECT_FALSE(known.runs()) << "nobody has said which it is";
  std::jthread thread([&] {
    known.is_this();
    for (spins = true; !may_sleep;) {
    }
    char byte = 0;
    EXPECT_EQ(read(ends[0], &byte, 1), 1);
  });
  await("a thread", [&] { return spins.load(); });
  EXPECT_TRUE(known.runs());
  known.is_this();
  EXPECT_TRUE(known.runs()) << "it is the first that said so";
  may_sleep = true;
  await("its sleep", [&] { return !known.runs(); });
  EXPECT_EQ(write(ends[1], "x", 1), 1);
  thread.join();
  EXPECT_FALSE(known.runs()) << "it has ended";
  for (const int end : ends) close(end);
}

}  // namespace
