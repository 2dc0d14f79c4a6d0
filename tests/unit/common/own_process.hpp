/// A test's body in a process of its own: with the environment that it needs, since the library reads it once, and with
/// the report that the library writes at exit.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace homing::testing {

/// The JSON that HOMING_REPORT asked for; its names are unique.
class report_text {
 public:
  explicit report_text(std::string text) : text_(std::move(text)) {}

  /// The number behind a name. A name that is not there fails the test.
  [[nodiscard]] std::uint64_t number(const std::string& name) const {
    const std::size_t at = text_.find('"' + name + "\":");
    EXPECT_NE(at, std::string::npos) << name << " is not in the report: " << text_;
    return at == std::string::npos ? 0 : std::strtoull(text_.c_str() + at + name.size() + 3, nullptr, 10);
  }
  /// How many tasks with this home ran, wherever that was.
  [[nodiscard]] std::uint64_t tasks_of_home(unsigned home) const {
    const std::string row = '[' + std::to_string(home) + ',';  // of [home,where,tasks]
    std::uint64_t sum = 0;
    for (std::size_t at = text_.find(row, text_.find("\"homes\":")); at != std::string::npos;
         at = text_.find(row, at + 1)) {
      sum += std::strtoull(text_.c_str() + text_.find(',', at + row.size()) + 1, nullptr, 10);
    }
    return sum;
  }
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
};

using environment = std::vector<std::pair<std::string, std::string>>;

/// How a test's own process ends behind the body. Any other status means that it never came there.
constexpr int body_held = 42;
constexpr int body_skipped = 77;

/// Runs this very test again in a new process with `variables` in its environment; there, `body` runs, and the process
/// ends behind it. A failed expectation, an early end, a signal or a hang there fails the test here, and what is left
/// out there is left out here. One call for each test: what is before it runs in both processes, what is behind it in
/// the first only.
template <typename Body>
report_text in_own_process(const environment& variables, Body&& body) {
  constexpr const char* mark = "HOMING_TEST_OWN_PROCESS";
  if (std::getenv(mark) != nullptr) {
    body();
    if (::testing::Test::HasFailure()) std::exit(EXIT_FAILURE);
    std::exit(::testing::Test::IsSkipped() ? body_skipped : body_held);
  }
  const ::testing::TestInfo& self = *::testing::UnitTest::GetInstance()->current_test_info();
  const std::string filter = std::string("--gtest_filter=") + self.test_suite_name() + "." + self.name();
  const int file = memfd_create("report", 0);
  EXPECT_GE(file, 0);
  const std::string report = "/proc/self/fd/" + std::to_string(file);
  const pid_t child = fork();
  EXPECT_GE(child, 0) << "fork failed";
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // whoever ends the test for a hang ends it here, too
    setenv(mark, "1", 1);
    setenv("HOMING_REPORT", report.c_str(), 1);
    for (const auto& [name, value] : variables) {
      setenv(name.c_str(), value.c_str(), 1);
    }
    execl("/proc/self/exe", "test", filter.c_str(), "--gtest_brief=1", nullptr);
    _exit(127);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_FALSE(WIFSIGNALED(status)) << "ended by signal " << WTERMSIG(status);
  if (WIFEXITED(status) && WEXITSTATUS(status) == body_skipped) {
    [] { GTEST_SKIP() << "left out in the test's own process"; }();
  } else if (WIFEXITED(status)) {
    EXPECT_EQ(WEXITSTATUS(status), body_held) << "the body failed in the test's own process, or never came to its end";
  }
  std::string text(4096, 0);
  const ssize_t length = pread(file, text.data(), text.size(), 0);
  text.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
  close(file);
  return report_text(text);
}

/// For machines alone.
inline environment on_machine(const std::string& topology) { return {{"HOMING_TOPOLOGY", topology}}; }

}  // namespace homing::testing
