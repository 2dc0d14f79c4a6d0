/// The calls, made for real. Raw, because libnuma answers for the machine, not for the sandbox around us.
#include "platform/page_calls.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/mempolicy.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "platform/cpu_set.hpp"
#include "platform/files.hpp"
#include "platform/fork.hpp"

namespace homing::platform {
namespace {

// MADV_POPULATE_READ and MADV_POPULATE_WRITE, since Linux 5.14; younger than some C libraries.
constexpr int populate_reading = 22;
constexpr int populate_write = 23;

// PAGEMAP_SCAN of Linux 6.7, younger than Debian 12's headers: linux/fs.h of that kernel.
struct scan_region {
  std::uint64_t start, end, categories;
};
struct scan_request {
  std::uint64_t size, flags, start, end, walk_end, regions, region_count, page_count_max;
  std::uint64_t category_inverted, category_mask, category_any_of_mask, return_mask;
};
constexpr std::uint64_t page_is_huge = 1U << 6;
constexpr unsigned long pagemap_scan = _IOWR('f', 16, scan_request);

class file_handle {
 public:
  explicit file_handle(const char* path) noexcept : fd_(::open(path, O_RDONLY | O_CLOEXEC)) {}
  file_handle(const file_handle&) = delete;
  file_handle& operator=(const file_handle&) = delete;
  ~file_handle() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int fd() const noexcept { return fd_; }

 private:
  int fd_;
};

int errno_of(long result) noexcept { return result >= 0 ? 0 : errno; }

int number_of(policy_mode mode) noexcept {
  switch (mode) {
    case policy_mode::preferred:
      return MPOL_PREFERRED;
    case policy_mode::bind:
      return MPOL_BIND;
    case policy_mode::interleave:
      return MPOL_INTERLEAVE;
    case policy_mode::system_default:
      break;
  }
  return MPOL_DEFAULT;
}

long call_move_pages(std::span<const address> pages, const int* nodes, std::span<int> status) noexcept {
  return ::syscall(SYS_move_pages, 0, pages.size(), pages.data(), nodes, status.data(), MPOL_MF_MOVE);
}

void* pointer(address a) noexcept { return reinterpret_cast<void*>(a); }

// By its folder: the file itself may have been deleted.
bool is_on_tmpfs(const std::string& path) {
  struct statfs facts {};
  return ::statfs(path.substr(0, path.rfind('/') + 1).c_str(), &facts) == 0 && facts.f_type == TMPFS_MAGIC;
}

// Where the mapping of a line of numa_maps begins; nothing while that part is not whole.
std::optional<address> beginning_of(std::string_view line) {
  address first = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), first, 16);
  if (error != std::errc{} || end == line.data() + line.size()) return std::nullopt;
  return first;
}

std::optional<numa_mapping> only_mapping(const std::string& text) {
  bool is_read = false;
  const auto found = parse_numa_maps(
      [&](std::string& line) {
        line = text;
        return !std::exchange(is_read, true);
      },
      std::numeric_limits<address>::max());
  return found.empty() ? std::nullopt : std::optional(found.front());
}

line_source lines_of(std::ifstream& file) {
  return [&file](std::string& line) { return read_line(file, line); };
}

// Not the compiler's lock of a static variable: a fork must find nobody at it.
std::mutex huge_lock;
std::optional<std::size_t> huge_bytes;
const fork_part huge_over_fork(
    fork_layer::environment, [] { huge_lock.lock(); }, [] { huge_lock.unlock(); }, [] { huge_lock.unlock(); });

class kernel_calls final : public page_calls {
 public:
  std::size_t page_bytes() const noexcept override {
    return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));  // a constant of the C library
  }

  std::size_t huge_page_bytes() const noexcept override {
    const std::lock_guard hold(huge_lock);
    if (!huge_bytes) {
      char room[32];
      const auto text = read_file("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", room);
      std::size_t number = 0;
      if (text) std::from_chars(text->data(), text->data() + text->size(), number);
      huge_bytes = number;
    }
    return *huge_bytes;
  }

  int set_policy(address_range range, policy_mode mode, const node_set& nodes,
                 existing_pages existing) noexcept override {
    const auto mask = nodes.words();
    // The raw call reads one bit less than it is told: bits + 1.
    const unsigned long bits = mask.empty() ? 0 : mask.size() * sizeof(unsigned long) * CHAR_BIT + 1;
    const unsigned flags = existing == existing_pages::move ? MPOL_MF_MOVE : 0U;
    return errno_of(::syscall(SYS_mbind, range.first, range.bytes(), number_of(mode),
                              mask.empty() ? nullptr : mask.data(), bits, flags));
  }

  // A positive answer is the number of pages that could not be moved; their status tells.
  int move_pages(std::span<const address> pages, std::span<const node_id> to, std::span<int> status) noexcept override {
    static_assert(sizeof(node_id) == sizeof(int));
    return errno_of(call_move_pages(pages, reinterpret_cast<const int*>(to.data()), status));
  }

  int query_pages(std::span<const address> pages, std::span<int> status) noexcept override {
    return errno_of(call_move_pages(pages, nullptr, status));
  }

  int populate(address_range range) noexcept override {
    return errno_of(::madvise(pointer(range.first), range.bytes(), populate_write));
  }

  int populate_read(address_range range) noexcept override {
    return errno_of(::madvise(pointer(range.first), range.bytes(), populate_reading));
  }

  int drop(address_range range) noexcept override {
    return errno_of(::madvise(pointer(range.first), range.bytes(), MADV_DONTNEED));
  }

  void restore(address to, const std::byte* from, std::size_t bytes) noexcept override {
    std::memcpy(pointer(to), from, bytes);
  }

  int mark(address_range range, bool marked) noexcept override {
    return errno_of(::madvise(pointer(range.first), range.bytes(), marked ? MADV_DONTDUMP : MADV_DODUMP));
  }

  int bind_thread(const cpu_set& cpus) noexcept override { return restrict_to(0, cpus); }

  mapping_list mappings(address_range range) override {
    std::ifstream file("/proc/self/smaps");
    if (!file) return {{}, errno != 0 ? errno : EIO};
    mapping_list result{parse_smaps(lines_of(file), range)};
    if (file.bad()) return {{}, EIO};
    for (mapping& m : result.all) m.on_tmpfs = m.shared && m.is_file() && is_on_tmpfs(m.name);
    return result;
  }

  std::optional<std::vector<numa_mapping>> numa_maps(address_range range) override {
    std::ifstream file("/proc/self/numa_maps");
    if (!file) return std::nullopt;
    return parse_numa_maps(lines_of(file), range.last);
  }

  // The kernel walks all pages of a mapping to write its line, and writes the next as soon as a read has room for it,
  // or has taken the last byte. No line is as short as these reads; the one that is wanted is read byte by byte, and
  // its last word, which no node stands behind, is left, so that the next, which may be of much memory, is never
  // written.
  std::optional<numa_mapping> numa_mapping_at(address first) override {
    constexpr std::size_t line_bytes_min = 16;
    const file_handle file("/proc/self/numa_maps");
    if (file.fd() < 0) return std::nullopt;
    std::string line;
    for (std::size_t ask = line_bytes_min;;) {
      char some[line_bytes_min];
      const ssize_t got = ::read(file.fd(), some, ask);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return std::nullopt;
      line.append(some, static_cast<std::size_t>(got));
      const std::size_t end = line.find('\n');
      const auto at = beginning_of(line);
      if (at && *at > first) return std::nullopt;
      if (at == first) {
        const std::size_t last_word = line.find(" kernelpagesize_kB");
        if (end != std::string::npos || last_word != std::string::npos) {
          // In that word the line says how large its pages are; without it, they would be taken for 4 KiB each.
          line.resize(std::min(end, last_word));
          return only_mapping(line + " kernelpagesize_kB=" + std::to_string(page_bytes() / 1024));
        }
        ask = 1;
      } else if (end != std::string::npos) {
        line.erase(0, end + 1);
      }
    }
  }

  // 1: to who uses them; 2: between tiers of memory; the file is not there without several nodes.
  bool balances() override {
    const auto text = read_file("/proc/sys/kernel/numa_balancing");
    return text && !text->empty() && text->front() != '0';
  }

  // Bits 63 (present) and 62 (swapped) of each page's word; frame numbers, which need privileges, are not used.
  std::optional<std::vector<bool>> contents(address_range range) override {
    const file_handle pagemap("/proc/self/pagemap");
    const std::size_t count = range.bytes() / page_bytes();
    std::vector<bool> result;
    result.reserve(count);
    std::vector<std::uint64_t> words(std::min<std::size_t>(count, 8192));
    while (result.size() < count) {
      const std::size_t wanted = std::min(words.size(), count - result.size());
      const auto offset = static_cast<off_t>((range.first / page_bytes() + result.size()) * sizeof(std::uint64_t));
      const ssize_t got = ::pread(pagemap.fd(), words.data(), wanted * sizeof(std::uint64_t), offset);
      if (got < static_cast<ssize_t>(sizeof(std::uint64_t))) return std::nullopt;
      for (std::size_t i = 0; i < static_cast<std::size_t>(got) / sizeof(std::uint64_t); ++i) {
        result.push_back(words[i] >> 62 != 0);
      }
    }
    return result;
  }

  std::optional<std::vector<bool>> resident(address_range range) override {
    std::vector<bool> result;
    std::vector<unsigned char> some(std::min<std::size_t>(range.bytes() / page_bytes(), 65536));
    for (address at = range.first; at < range.last;) {
      const std::size_t count = std::min<std::size_t>(some.size(), (range.last - at) / page_bytes());
      if (::mincore(pointer(at), count * page_bytes(), some.data()) != 0) return std::nullopt;
      for (std::size_t p = 0; p < count; ++p) result.push_back((some[p] & 1U) != 0);
      at += count * page_bytes();
    }
    return result;
  }

  std::optional<std::vector<address_range>> huge_ranges(address_range range) override {
    const file_handle pagemap("/proc/self/pagemap");
    std::vector<address_range> result;
    std::vector<scan_region> regions(256);
    for (address at = range.first; at < range.last;) {
      scan_request request{};
      request.size = sizeof request;
      request.start = at;
      request.end = range.last;
      request.regions = reinterpret_cast<std::uintptr_t>(regions.data());
      request.region_count = regions.size();
      request.category_mask = page_is_huge;
      request.return_mask = page_is_huge;
      const int count = ::ioctl(pagemap.fd(), pagemap_scan, &request);
      if (count < 0) return std::nullopt;
      for (const scan_region& r : std::span(regions).first(static_cast<std::size_t>(count))) {
        result.push_back({r.start, r.end});
      }
      if (request.walk_end <= at) break;
      at = request.walk_end;
    }
    return result;
  }
};

page_calls* stand_in = nullptr;

}  // namespace

page_calls& kernel_page_calls() noexcept {
  static kernel_calls calls;
  return stand_in != nullptr ? *stand_in : calls;
}
void stand_in_for_page_calls(page_calls* other) noexcept { stand_in = other; }

}  // namespace homing::platform
