// What a process leaves at its end, its report and its trace, is whole, its own, and where it was asked for. Threads
// that go on meanwhile do no harm. Method: processes of their own, whose files are read afterwards.
#include <gtest/gtest.h>
#include <oneapi/tbb/concurrent_queue.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task.h>
#include <oneapi/tbb/task_group.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "unit/common/await.hpp"
#include "unit/common/file_tree.hpp"
#include "unit/common/forked_child.hpp"
#include "unit/common/own_process.hpp"

namespace {

using homing::testing::await;
using homing::testing::file_tree;
using homing::testing::in_own_process;

void run_tasks(int count) {
  tbb::parallel_for(
      tbb::blocked_range<int>(0, count, 1), [](const auto&) {}, tbb::simple_partitioner());
}

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Forks; the child runs `body` and ends as processes do, by exit(): with a report. True if it ended well.
template <typename Body>
bool child_ends_well(Body&& body) {
  std::fflush(stdout);  // else the child prints it, too
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    body();
    std::exit(EXIT_SUCCESS);
  }
  return homing::testing::has_ended_well(child);
}

/// The numbers behind a name, one a report.
std::vector<unsigned long> numbers(const std::string& text, const std::string& name) {
  std::vector<unsigned long> found;
  const std::string quoted = '"' + name + "\":";
  for (std::size_t at = text.find(quoted); at != std::string::npos; at = text.find(quoted, at + 1)) {
    found.push_back(std::strtoul(text.c_str() + at + quoted.size(), nullptr, 10));
  }
  return found;
}

TEST(report, of_a_forked_child_has_its_own_tasks_only) {
  SKIP_UNDER_TSAN();
  SKIP_UNDER_ASAN();
  const auto report = in_own_process({{"HOMING_THREADS", "1"}, {"HOMING_TOPOLOGY", "node:2 pu:1"}}, [] {
    run_tasks(1000);
    EXPECT_TRUE(child_ends_well([] {}));
    EXPECT_TRUE(child_ends_well([] { run_tasks(10); }));
  });
  const std::vector<unsigned long> executed = numbers(report.text(), "executed");
  ASSERT_EQ(executed.size(), 3U) << report.text();
  EXPECT_EQ(executed[0], 0U) << report.text();
  EXPECT_GE(executed[1], 10U);
  EXPECT_LE(executed[1], 20U) << report.text();
  EXPECT_GE(executed[2], 1000U);
  EXPECT_NE(report.text().find("\"homes\":[],"), std::string::npos) << "of the child without a task: " << report.text();
}

TEST(report, and_trace_are_where_the_process_was_when_it_began) {
  const file_tree folder;
  const std::string before = std::filesystem::current_path();
  std::filesystem::current_path(folder.root());
  in_own_process({{"HOMING_REPORT", "report"}, {"HOMING_TRACE", "trace.json"}}, [] {
    run_tasks(10);
    EXPECT_EQ(chdir("/proc/self"), 0);  // nobody can write there
  });
  std::filesystem::current_path(before);
  EXPECT_TRUE(content_of(folder.root() + "/report").starts_with("{\"homing\""));
  EXPECT_TRUE(content_of(folder.root() + "/trace.json").ends_with("]}\n"));
}

TEST(report, comes_behind_what_the_process_printed_into_the_same_file) {
  const file_tree folder;
  const std::string path = folder.root() + "/out";
  in_own_process({{"HOMING_REPORT", path}}, [] {
    EXPECT_NE(std::freopen(std::getenv("HOMING_REPORT"), "w", stdout), nullptr);
    run_tasks(10);
    std::fputs("printed, ", stdout);
  });
  EXPECT_TRUE(content_of(path).starts_with("printed, {\"homing\"")) << content_of(path);
}

TEST(trace, is_none_of_a_forked_child_that_ran_no_task) {
  SKIP_UNDER_TSAN();
  SKIP_UNDER_ASAN();
  const file_tree folder;
  const std::string path = folder.root() + "/trace.json";
  in_own_process({{"HOMING_TRACE", path}, {"HOMING_THREADS", "1"}}, [] {
    run_tasks(10);
    EXPECT_TRUE(child_ends_well([] {}));
  });
  EXPECT_NE(content_of(path).find("{\"ph\":\"X\""), std::string::npos) << "the parent's tasks: " << content_of(path);
  const std::filesystem::directory_iterator files(folder.root());
  EXPECT_EQ(std::distance(begin(files), end(files)), 1) << "a trace of nothing";
}

/// The user's threads are still there while the library writes its report and is unloaded.
TEST(end, of_a_process_whose_threads_make_controls) {
  SKIP_UNDER_TSAN();
  SKIP_UNDER_ASAN();
  in_own_process({}, [] {
    for (int round = 0; round < 50; ++round) {
      EXPECT_TRUE(child_ends_well([] {
        std::atomic<int> begun{0};
        for (int i = 0; i < 2; ++i) {
          std::thread([&] {
            for (;;) {
              const tbb::global_control stack(tbb::global_control::thread_stack_size, 1U << 20U);
              const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 2);
              ++begun;
            }
          }).detach();
        }
        await("both threads", [&] { return begun > 10; });
        std::exit(EXIT_SUCCESS);  // `begun` stays: nothing is left by it
      })) << "round "
          << round;
    }
  });
}

struct slice {
  double begin;
  double end;
};

/// By track.
std::map<unsigned long, std::vector<slice>> slices_of(const std::string& trace) {
  std::map<unsigned long, std::vector<slice>> tracks;
  for (std::size_t at = trace.find("{\"ph\":\"X\""); at != std::string::npos;
       at = trace.find("{\"ph\":\"X\"", at + 1)) {
    unsigned domain = 0;
    unsigned long track = 0;
    double begin = 0;
    double length = 0;
    const int read = std::sscanf(trace.c_str() + at, R"({"ph":"X","pid":%u,"tid":%lu,"ts":%lf,"dur":%lf)", &domain,
                                 &track, &begin, &length);
    EXPECT_EQ(read, 4) << trace.substr(at, 100);
    tracks[track].push_back({begin, begin + length});
  }
  return tracks;
}

/// Viewers draw a track's slices within each other, and drop what lies across another.
void expect_nested(std::vector<slice> slices) {
  std::stable_sort(slices.begin(), slices.end(), [](const slice& a, const slice& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
  constexpr double rounded = 0.0005;  // microseconds: of numbers with three digits
  std::vector<double> around;         // their ends
  for (const slice& s : slices) {
    while (!around.empty() && around.back() <= s.begin + rounded) around.pop_back();
    if (!around.empty()) {
      EXPECT_LE(s.end, around.back() + rounded) << "began at " << s.begin;
    }
    around.push_back(s.end);
  }
}

/// Of tasks that suspend themselves until this thread resumes them.
class resumer {
 public:
  void suspend() {
    tbb::task::suspend([this](tbb::task::suspend_point point) { points_.push(point); });
  }
  /// So many, in their order; none before `first` of them have suspended themselves.
  void resume(unsigned count, std::size_t first) {
    await("suspended tasks", [&] { return points_.size() >= static_cast<std::ptrdiff_t>(first); });
    for (unsigned i = 0; i < count; ++i) {
      tbb::task::suspend_point point{};
      points_.pop(point);
      tbb::task::resume(point);
    }
  }

 private:
  tbb::concurrent_bounded_queue<tbb::task::suspend_point> points_;
};

TEST(trace, of_tasks_that_are_suspended_has_a_slice_for_each_stay_on_a_thread) {
  const file_tree folder;
  const std::string path = folder.root() + "/trace.json";
  constexpr unsigned tasks = 12;
  in_own_process({{"HOMING_TRACE", path}, {"HOMING_THREADS", "2"}, {"HOMING_TOPOLOGY", "node:2 core:1 pu:1"}}, [] {
    resumer others;
    std::thread thread([&] { others.resume(2 * tasks, tasks); });
    tbb::task_group outer;
    for (unsigned i = 0; i < tasks; ++i) {
      outer.run([&] {
        tbb::task_group inner;  // a wait around the task that is suspended: two tasks leave with one stack
        inner.run_and_wait([&] { others.suspend(); });
        others.suspend();
      });
    }
    outer.wait();
    thread.join();
  });
  const std::string text = content_of(path);
  std::size_t slices = 0;
  for (const auto& [track, of_track] : slices_of(text)) {
    expect_nested(of_track);
    slices += of_track.size();
  }
  EXPECT_GT(slices, 2U * tasks) << "a task that is suspended has several";
  EXPECT_NE(text.find("\"task, resumed\",\"cat\":\"resume\""), std::string::npos) << text.substr(0, 2000);
}

}  // namespace
