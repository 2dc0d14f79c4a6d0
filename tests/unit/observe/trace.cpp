// Property: a trace holds what its threads ran, says what it dropped, and tells how each task was taken; counts by home
// and domain add up however a thread moves. Method: buffers and tables driven by hand, one process each for the switch.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "observe/task_homes.hpp"
#include "observe/trace.hpp"
#include "observe/trace_file.hpp"
#include "unit/common/file_tree.hpp"

namespace {

using namespace homing::observe;

std::size_t occurrences(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// As many tasks as there is room for, and so many more.
void fill_with_more(trace_buffer& buffer, std::size_t more) {
  for (std::size_t i = 0; i < trace_buffer::capacity + more; ++i) {
    const auto begin_ns = static_cast<std::int64_t>(i);
    buffer.end(buffer.begin({begin_ns, 0, 0, taken_from::own}), begin_ns + 1);
  }
}

long kibibytes_used_at_most() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return used.ru_maxrss;
}

/// The only trace there is, of this thread, and empty.
class TraceOfOneThread : public ::testing::Test {
 protected:
  void SetUp() override {
    switch_trace_on();
    restart_trace_after_fork(nullptr);
    buffer = make_trace_buffer(counters());
    ASSERT_NE(buffer, nullptr);
  }
  void TearDown() override { restart_trace_after_fork(nullptr); }

  trace_buffer* buffer = nullptr;
};

TEST(Trace, OffUntilItIsSwitchedOn) {
  const counters none;
  EXPECT_EQ(make_trace_buffer(none), nullptr);
  switch_trace_on();
  EXPECT_NE(make_trace_buffer(none), nullptr);
  restart_trace_after_fork(nullptr);
}

TEST(Trace, HowATaskWasTakenFollowsFromTheCounters) {
  switch_trace_on();
  counters c;
  c.add(event::steal_far);  // by an earlier thread of the record
  trace_buffer* const buffer = make_trace_buffer(c);
  ASSERT_NE(buffer, nullptr);
  EXPECT_EQ(buffer->how_taken(c), taken_from::own);
  c.add(event::steal_far);
  EXPECT_EQ(buffer->how_taken(c), taken_from::steal_far);
  EXPECT_EQ(buffer->how_taken(c), taken_from::own) << "a steal is one task's";
  c.add(event::bypass);
  c.add(event::home);
  EXPECT_EQ(buffer->how_taken(c), taken_from::own);
  const std::pair<event, taken_from> table[] = {{event::steal_near, taken_from::steal_near},
                                                {event::mailbox, taken_from::mailbox},
                                                {event::shared_queue, taken_from::shared_queue},
                                                {event::revoke, taken_from::revoke}};
  for (const auto& [counted, meaning] : table) {
    c.add(counted);
    EXPECT_EQ(buffer->how_taken(c), meaning);
  }
  restart_trace_after_fork(nullptr);
}

TEST_F(TraceOfOneThread, JsonHasAProcessADomainAndAThreadEach) {
  buffer->end(buffer->begin({1'000'000, 0, 0, taken_from::own}), 1'002'500);
  buffer->end(buffer->begin({1'003'007, 1, 0, taken_from::steal_far}), 1'004'007);
  buffer->end(buffer->begin({1'005'000, 1, 1, taken_from::steal_near}), 1'006'000);
  const std::string text = trace_json(all_traces(), {{4}, {7}}, 2'000'000);
  EXPECT_NE(text.find("\"domain 0 (node 4)\""), std::string::npos);
  EXPECT_NE(text.find("\"domain 1 (node 7)\""), std::string::npos);
  EXPECT_EQ(occurrences(text, "\"ph\":\"X\""), 3U);
  EXPECT_EQ(occurrences(text, "thread_name"), 2U) << "the thread was in two domains";
  EXPECT_NE(text.find("\"ts\":0.000,\"dur\":2.500,\"name\":\"task\",\"cat\":\"own\""), std::string::npos) << text;
  EXPECT_NE(
      text.find("\"ts\":3.007,\"dur\":1.000,\"name\":\"task, stolen far\",\"cat\":\"steal,far\",\"args\":{\"home\":0}"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("steal,near"), std::string::npos);
  EXPECT_EQ(text.find(",\n]"), std::string::npos) << "no comma behind the last";
}

TEST_F(TraceOfOneThread, AFullBufferDropsAndSaysHowMany) {
  fill_with_more(*buffer, 3);
  EXPECT_EQ(buffer->size(), trace_buffer::capacity);
  EXPECT_EQ(buffer->dropped(), 3U);
  EXPECT_EQ((*buffer)[trace_buffer::capacity - 1].begin_ns, static_cast<std::int64_t>(trace_buffer::capacity) - 1);
  restart_trace_after_fork(buffer);
  EXPECT_EQ(buffer->size(), 0U) << "a forked child begins anew";
  EXPECT_NE(trace_json(all_traces(), {{0}}, 0).find("\"dropped_tasks\":0"), std::string::npos);
}

TEST_F(TraceOfOneThread, ATaskThatRunsStillIsInIt) {
  const traced_place outer = buffer->begin({1'000, 0, 0, taken_from::own});
  buffer->end(buffer->begin({2'000, 0, 0, taken_from::own}), 3'000);
  const std::string running = trace_json(all_traces(), {{0}}, 9'000);
  EXPECT_NE(running.find("\"ts\":0.000,\"dur\":8.000"), std::string::npos) << "until it was written: " << running;
  EXPECT_EQ(occurrences(running, "\"ended\":false"), 1U) << running;
  buffer->end(outer, 4'000);
  const std::string ended = trace_json(all_traces(), {{0}}, 9'000);
  EXPECT_NE(ended.find("\"ts\":0.000,\"dur\":3.000"), std::string::npos) << ended;
  EXPECT_EQ(occurrences(ended, "\"ended\""), 0U) << ended;
}

TEST_F(TraceOfOneThread, TheEndOfAParentsTaskIsNoneOfItsForkedChilds) {
  const traced_place parents = buffer->begin({1'000, 0, 0, taken_from::own});
  restart_trace_after_fork(buffer);
  const traced_place childs = buffer->begin({2'000, 0, 0, taken_from::own});
  buffer->end(parents, 3'000);
  EXPECT_EQ(buffer->end_ns(0), std::nullopt);
  buffer->end(childs, 4'000);
  EXPECT_EQ(buffer->end_ns(0), 4'000);
}

TEST_F(TraceOfOneThread, AForkedChildsTasksAreTakenAsItsOwnCountersSay) {
  counters parents;
  parents.add(event::steal_far);
  EXPECT_EQ(buffer->how_taken(parents), taken_from::steal_far);
  restart_trace_after_fork(buffer);
  EXPECT_EQ(buffer->how_taken(counters()), taken_from::own) << "its counters begin anew";
}

TEST_F(TraceOfOneThread, TheFileIsTheFirstOfThreeNamesThatIsFree) {
  const homing::testing::file_tree folder;
  const std::string path = folder.root() + "/trace.json";
  const std::string own = path + '.' + std::to_string(::getpid());
  buffer->end(buffer->begin({1'000, 0, 0, taken_from::own}), 2'000);
  for (const std::string& name : {path, own, own + ".2", own + ".3"}) {
    ::testing::internal::CaptureStderr();
    write_trace(path.c_str(), {{0}});
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(content_of(name).find("\"dur\":1.000"), std::string::npos) << name;
    EXPECT_EQ(said.empty(), name == path) << said;
  }
}

TEST_F(TraceOfOneThread, AnothersFileInADeepFolderLeavesTheNameLegible) {
  const homing::testing::file_tree folder;
  const std::string deep = '/' + std::string(150, 'd') + "/trace.json";
  folder.write(deep, "of another process");
  buffer->end(buffer->begin({1'000, 0, 0, taken_from::own}), 2'000);
  ::testing::internal::CaptureStderr();
  write_trace((folder.root() + deep).c_str(), {{0}});
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_TRUE(said.ends_with("beside it, in trace.json." + std::to_string(::getpid()) + '\n')) << said;
}

TEST_F(TraceOfOneThread, AFileThatLacksTasksIsSaidAndNeedsLittleMemory) {
  fill_with_more(*buffer, 3);
  const homing::testing::file_tree folder;
  const std::string path = folder.root() + "/trace.json";
  const long before = kibibytes_used_at_most();
  ::testing::internal::CaptureStderr();
  write_trace(path.c_str(), {{0}});
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("trace.json lacks 3 tasks"), std::string::npos) << said;
  EXPECT_LT(kibibytes_used_at_most() - before, 4096);
  EXPECT_EQ(occurrences(content_of(path), "\"ph\":\"X\""), trace_buffer::capacity);
}

TEST(TaskHomes, BeginAnewInAForkedChild) {
  static task_homes table;  // as a thread's record: never freed
  table.ran_away(0, 1, 2);
  table.leave_domain(0, 7, 2);
  table.begin_anew();
  table.for_each(1, 0, [](unsigned, unsigned, std::uint64_t) { ADD_FAILURE() << "a task of the parent"; });
}

TEST(TaskHomes, AddUpWhileAThreadMoves) {
  static task_homes table;  // as a thread's record: never freed
  counters c;
  std::map<std::pair<unsigned, unsigned>, std::uint64_t> expected;  // (ran in, home)
  const unsigned domains = 5;
  unsigned domain = 0;
  for (unsigned step = 0; step < 1000; ++step) {
    const unsigned home = step * 7 % domains;
    if (home == domain) {
      c.add(event::home);
    } else {
      table.ran_away(domain, home, domains);
    }
    ++expected[{domain, home}];
    if (step % 13 == 0) {
      table.leave_domain(domain, c.read(event::home), domains);
      domain = (domain + step) % domains;
    }
  }
  std::map<std::pair<unsigned, unsigned>, std::uint64_t> seen;
  table.for_each(domain, c.read(event::home), [&](unsigned ran_in, unsigned home, std::uint64_t tasks) {
    seen[{ran_in, home}] += tasks;
  });
  EXPECT_EQ(seen, expected);
}

}  // namespace
