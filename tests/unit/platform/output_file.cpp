/// Property: what is written into a file that a user named arrives whole or is an error, and neither a reader that has
/// gone nor a limit ends the process; other writers of the file lose nothing.
/// Method: pipes without a reader, a limit on the size of files, files that descriptors of this process show or write
/// to, by several names.
#include "platform/output_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string>
#include <string_view>
#include <thread>

#include "unit/common/file_tree.hpp"
#include "unit/common/forked_child.hpp"

namespace homing::platform {
namespace {

using homing::testing::child_can;

bool waits(int signal) {
  sigset_t waiting;
  ::sigpending(&waiting);
  return ::sigismember(&waiting, signal) != 0;
}

std::string content_of(int file) {
  std::string text(4096, '\0');
  const ssize_t length = ::pread(file, text.data(), text.size(), 0);
  text.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
  return text;
}

std::string name_of(int file) { return "/dev/fd/" + std::to_string(file); }

int pipe_that_nobody_reads() {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  return ends[1];
}

TEST(write_whole, a_pipe_that_nobody_reads_is_an_error) {
  EXPECT_TRUE(child_can([] {
    const int file = pipe_that_nobody_reads();
    return !write_whole(file, "text") && errno == EPIPE && !waits(SIGPIPE);
  }));
}

TEST(write_whole, a_full_pipe_that_does_not_block_is_waited_for) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const owned_file reader(ends[0]);
  ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
  const int holds = ::fcntl(ends[1], F_GETPIPE_SZ);
  const std::string text(4 * static_cast<std::size_t>(holds), 'a');
  std::size_t read = 0;
  std::thread reads([&] {
    for (int waiting = 0; waiting < holds; ::ioctl(reader.get(), FIONREAD, &waiting)) std::this_thread::yield();
    char room[4096];
    for (ssize_t got = 1; got > 0; read += static_cast<std::size_t>(got)) got = ::read(reader.get(), room, sizeof room);
  });
  {
    const owned_file writer(ends[1]);
    EXPECT_TRUE(write_whole(writer.get(), text));
  }
  reads.join();
  EXPECT_EQ(read, text.size());
}

TEST(write_whole, a_full_pipe_that_nobody_empties_is_an_error) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_NONBLOCK), 0);
  const owned_file reader(ends[0]);
  const owned_file writer(ends[1]);
  EXPECT_FALSE(write_whole(writer.get(), std::string(std::size_t{1} << 20, 'a')));
  EXPECT_EQ(errno, EAGAIN);
}

TEST(write_whole, a_limit_on_the_size_of_files_is_an_error) {
  const testing::file_tree folder;
  const std::string path = folder.root() + "/file";
  EXPECT_TRUE(child_can([&] {
    const rlimit limit{4, 4};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
    const owned_file file(open_output(path.c_str(), output_mode::create).file);
    return !write_whole(file.get(), "longer") && errno == EFBIG && !waits(SIGXFSZ);
  }));
}

TEST(write_whole, a_signal_that_had_been_waiting_stays) {
  EXPECT_TRUE(child_can([] {
    sigset_t both;
    ::sigemptyset(&both);
    ::sigaddset(&both, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &both, nullptr);
    ::raise(SIGPIPE);
    return !write_whole(pipe_that_nobody_reads(), "text") && waits(SIGPIPE);
  }));
}

TEST(open_output, a_file_that_a_descriptor_shows_is_written_where_that_one_stands) {
  for (const output_mode mode : {output_mode::append, output_mode::replace}) {
    const owned_file shown(::memfd_create("shown", 0));
    ASSERT_TRUE(write_whole(shown.get(), "before, "));
    {
      const owned_file file(open_output(name_of(shown.get()).c_str(), mode).file);
      ASSERT_GE(file.get(), 0);
      EXPECT_NE(file.get(), shown.get()) << "the caller closes it";
      ASSERT_TRUE(write_whole(file.get(), "ours, "));
    }
    ASSERT_TRUE(write_whole(shown.get(), "behind"));
    EXPECT_EQ(content_of(shown.get()), "before, ours, behind");
  }
}

TEST(open_output, what_was_printed_comes_before_what_is_written_to_dev_stdout) {
  const owned_file shown(::memfd_create("shown", 0));
  EXPECT_TRUE(child_can([&] {
    ::dup2(shown.get(), STDOUT_FILENO);
    std::fputs("printed, ", stdout);
    const owned_file file(open_output("/dev/stdout", output_mode::append).file);
    const bool written = write_whole(file.get(), "ours, ");
    std::fputs("behind", stdout);
    std::fflush(stdout);
    return written;
  }));
  EXPECT_TRUE(content_of(shown.get()).ends_with("printed, ours, behind")) << content_of(shown.get());
}

/// A file with two names and a link, opened anew, as `PROGRAM > file` does.
class OpenOutputOfStandardFile : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::link(file.c_str(), (folder.root() + "/hard").c_str()), 0);
    ASSERT_EQ(::symlink("file", (folder.root() + "/link").c_str()), 0);
  }
  /// Whether a child whose `standard` descriptor the file is wrote `ours` between what it printed there.
  bool child_writes_between(int standard, std::FILE* stream, const std::string& name, output_mode mode) {
    return child_can([&] {
      const owned_file its(::open(file.c_str(), O_WRONLY | O_TRUNC));
      if (::dup2(its.get(), standard) != standard) return false;
      std::fputs("printed, ", stream);
      const owned_file out(open_output((folder.root() + name).c_str(), mode).file);
      const bool written = write_whole(out.get(), "ours, ");
      std::fputs("behind", stream);
      return std::fflush(stream) == 0 && written;
    });
  }

  const testing::file_tree folder;
  const std::string file = folder.root() + "/file";
  const owned_file whole{::open(file.c_str(), O_RDWR | O_CREAT, 0600)};
};

TEST(writes_to, a_descriptor_writes_to_its_file_by_any_name_unless_it_only_reads) {
  const testing::file_tree folder;
  const auto opened = [&](const char* name, int flags) { return ::open((folder.root() + name).c_str(), flags, 0600); };
  const owned_file writer(opened("/file", O_WRONLY | O_CREAT));
  const owned_file other(opened("/other", O_WRONLY | O_CREAT));
  ASSERT_EQ(::link((folder.root() + "/file").c_str(), (folder.root() + "/hard").c_str()), 0);
  const owned_file both(opened("/hard", O_RDWR));
  const owned_file reader(opened("/file", O_RDONLY));
  struct stat file {};
  ASSERT_EQ(::stat((folder.root() + "/file").c_str(), &file), 0);
  EXPECT_TRUE(writes_to(writer.get(), file));
  EXPECT_TRUE(writes_to(both.get(), file));
  EXPECT_FALSE(writes_to(reader.get(), file));
  EXPECT_FALSE(writes_to(other.get(), file));
  EXPECT_FALSE(writes_to(-1, file));
}

TEST_F(OpenOutputOfStandardFile, ByAnyNameIsWrittenWhereThatOneStands) {
  for (const std::string name : {"/file", "/hard", "/link"}) {
    for (const output_mode mode : {output_mode::append, output_mode::replace}) {
      EXPECT_TRUE(child_writes_between(STDOUT_FILENO, stdout, name, mode)) << name;
      EXPECT_TRUE(content_of(whole.get()).ends_with("printed, ours, behind"))
          << name << ": " << content_of(whole.get());
      EXPECT_TRUE(child_writes_between(STDERR_FILENO, stderr, name, mode)) << name;
      EXPECT_EQ(content_of(whole.get()), "printed, ours, behind") << name;
    }
  }
}

TEST_F(OpenOutputOfStandardFile, OthersLeaveWhatWasPrintedWhereItIs) {
  EXPECT_TRUE(child_can([&] {
    ::dup2(whole.get(), STDOUT_FILENO);
    std::fflush(stdout);
    const std::string before = content_of(whole.get());
    std::fputs("printed", stdout);
    const owned_file out(open_output((folder.root() + "/other").c_str(), output_mode::append).file);
    return out.get() >= 0 && content_of(whole.get()) == before;
  }));
}

TEST_F(OpenOutputOfStandardFile, TakesThePlaceOfAClosedStdout) {
  EXPECT_TRUE(child_can([&] {
    std::fflush(stdout);
    ::close(STDOUT_FILENO);
    const owned_file out(open_output(file.c_str(), output_mode::replace).file);
    return out.get() == STDOUT_FILENO && write_whole(out.get(), "ours") && content_of(whole.get()) == "ours";
  }));
}

TEST(open_output, what_was_printed_comes_before_what_is_written_to_a_pipe_that_is_stdout) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const owned_file reader(ends[0]);
  {
    const owned_file writer(ends[1]);
    EXPECT_TRUE(child_can([&] {
      ::dup2(writer.get(), STDOUT_FILENO);
      std::fputs("printed, ", stdout);
      const owned_file out(open_output("/dev/stdout", output_mode::append).file);
      return write_whole(out.get(), "ours");
    }));
  }
  char text[4096];
  const ssize_t length = ::read(reader.get(), text, sizeof text);
  ASSERT_GT(length, 0);
  EXPECT_TRUE(std::string_view(text, static_cast<std::size_t>(length)).ends_with("printed, ours"));
}

TEST(open_output, a_stdout_that_nobody_reads_is_an_error) {
  EXPECT_TRUE(child_can([] {
    ::dup2(pipe_that_nobody_reads(), STDOUT_FILENO);
    std::fputs("printed", stdout);
    const owned_file out(open_output("/dev/stdout", output_mode::append).file);
    const bool fails = out.get() >= 0 && !write_whole(out.get(), "ours") && errno == EPIPE && !waits(SIGPIPE);
    ::close(STDOUT_FILENO);  // sanitizers print what stdio still holds, even at _exit()
    return fails;
  }));
}

TEST(open_output, a_stdout_that_is_as_long_as_files_may_be_is_an_error_of_who_writes) {
  const owned_file shown(::memfd_create("shown", 0));
  EXPECT_TRUE(child_can([&] {
    std::fflush(stdout);
    ::dup2(shown.get(), STDOUT_FILENO);
    const rlimit limit{4, 4};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
    std::fputs("longer", stdout);
    const owned_file out(open_output("/dev/stdout", output_mode::append).file);
    return !waits(SIGXFSZ) && !write_whole(out.get(), "ours") && errno == EFBIG;
  }));
}

}  // namespace
}  // namespace homing::platform
