/// Where pages really are, by a second process: it asks the kernel about ours, and no filter that this process gets
/// later, and no error of libhoming's, is in its way.
#pragma once

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "check.hpp"

namespace guest {

inline constexpr std::size_t base_page_bytes = 4096;

/// Ownership: of the second process, which ends with this. Make it before any other thread. Threads: one at a time.
class truth {
 public:
  truth() {
    if (pipe(to_) != 0 || pipe(from_) != 0) give_up("no pipes");
    const pid_t asked = getpid();
    child_ = fork();
    if (child_ < 0) give_up("no second process");
    if (child_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      close(to_[1]);
      serve(asked);
    }
    close(to_[0]);
    close(from_[1]);
  }
  truth(const truth&) = delete;
  truth& operator=(const truth&) = delete;
  ~truth() {
    close(to_[1]);
    waitpid(child_, nullptr, 0);
  }

  /// The node of each page; negative (an errno) of one that is not there.
  [[nodiscard]] std::vector<int> nodes(const void* address, std::size_t bytes) {
    const question q{reinterpret_cast<std::uintptr_t>(address), (bytes + base_page_bytes - 1) / base_page_bytes};
    std::vector<int> result(q.pages);
    put(to_[1], &q, sizeof q);
    get(from_[0], result.data(), result.size() * sizeof(int));
    return result;
  }

 private:
  struct question {
    std::uintptr_t address;
    std::size_t pages;
  };
  static void put(int file, const void* data, std::size_t bytes) {
    const char* at = static_cast<const char*>(data);
    for (ssize_t n; bytes != 0; at += n, bytes -= static_cast<std::size_t>(n)) {
      if ((n = write(file, at, bytes)) <= 0) give_up("the second process is gone");
    }
  }
  static void get(int file, void* data, std::size_t bytes) {
    char* at = static_cast<char*>(data);
    for (ssize_t n; bytes != 0; at += n, bytes -= static_cast<std::size_t>(n)) {
      if ((n = read(file, at, bytes)) <= 0) give_up("the second process is gone");
    }
  }
  [[noreturn]] void serve(pid_t asked) const {
    question q{};
    while (read(to_[0], &q, sizeof q) == sizeof q) {
      std::vector<void*> pages(q.pages);
      std::vector<int> nodes(q.pages, -1);
      for (std::size_t i = 0; i != q.pages; ++i) pages[i] = reinterpret_cast<void*>(q.address + i * base_page_bytes);
      if (syscall(SYS_move_pages, asked, q.pages, pages.data(), nullptr, nodes.data(), 0) != 0) {
        std::fprintf(stderr, "move_pages: %s\n", std::strerror(errno));
        _exit(2);
      }
      put(from_[1], nodes.data(), nodes.size() * sizeof(int));
    }
    _exit(0);
  }

  int to_[2]{}, from_[2]{};
  pid_t child_ = 0;
};

}  // namespace guest
