#include "common/process.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "platform/cpu_set.hpp"
#include "platform/files.hpp"

namespace homing::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t listing_bytes_max = std::size_t{1} << 30U;

struct file_text {
  std::string content;
  int error_number = 0;
};

// As platform::read_file, with the reason: here it matters.
file_text read_whole(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {"", errno};
  file_text result;
  for (std::vector<char> block(1U << 16U);;) {
    const ssize_t got = ::read(file, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) result.error_number = errno;
    if (got <= 0) break;
    result.content.append(block.data(), static_cast<std::size_t>(got));
    if (result.content.size() > listing_bytes_max) result.error_number = EFBIG;
    if (result.error_number != 0) break;
  }
  ::close(file);
  return result;
}

// "Key:\tvalue" of a status file.
std::string field(const std::string& text, const std::string& key) {
  const std::size_t at = text.find(key);
  if (at == std::string::npos || (at > 0 && text[at - 1] != '\n')) return "";
  const std::size_t start = text.find_first_not_of(" \t", at + key.size());
  return start == std::string::npos ? "" : text.substr(start, text.find('\n', start) - start);
}

// Fields of stat from the third on: a name in parentheses, which may hold anything, stands before them.
std::vector<std::string> stat_fields(const std::string& text) {
  std::vector<std::string> result;
  const std::size_t end = text.rfind(')');
  if (end == std::string::npos) return result;
  for (std::size_t start = end + 2; start < text.size();) {
    const std::size_t stop = std::min(text.find(' ', start), text.size());
    result.push_back(text.substr(start, stop - start));
    start = stop + 1;
  }
  return result;
}

template <class T = int>
T to_number(const std::string& text) {
  T value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::optional<thread_look> look_at_thread(const fs::path& folder, const node_of_cpu& nodes) {
  const auto stat = platform::read_file(folder / "stat");
  const auto status = platform::read_file(folder / "status");
  if (!stat || !status) return std::nullopt;
  const std::vector<std::string> fields = stat_fields(*stat);
  constexpr std::size_t last_cpu_at = 36;  // the 39th of proc(5)
  if (fields.size() <= last_cpu_at || fields[0] == "Z" || fields[0] == "X") return std::nullopt;
  thread_look thread;
  thread.id = to_number(folder.filename());
  thread.name = field(*status, "Name:");
  thread.last_cpu = to_number(fields[last_cpu_at]);
  thread.node = nodes(thread.last_cpu);
  thread.mask = platform::cpu_set::parse_list(field(*status, "Cpus_allowed_list:")).value_or(platform::cpu_set());
  thread.mask_nodes = nodes.of(thread.mask);
  return thread;
}

look_result refused(pid_t process, int error_number) {
  const std::string id = std::to_string(process);
  if (error_number == ENOENT || error_number == ESRCH) return {std::nullopt, "process " + id + " has ended", true};
  if (error_number == EACCES || error_number == EPERM) {
    return {std::nullopt,
            "may not look into process " + id + ": it is another user's or guarded (try as its user, or as root)"};
  }
  return {std::nullopt, "can't read the pages of process " + id + ": " + std::strerror(error_number)};
}

}  // namespace

node_of_cpu::node_of_cpu() {
  // Linux's own lists: hwloc may be told of another machine.
  const std::string folder = "/sys/devices/system/node/";
  const auto list = [](const std::string& path) { return platform::read_file(path).value_or(""); };
  const auto add = [this](const std::string& cpus, int node) {
    for (const auto cpu : platform::cpu_set::parse_list(cpus).value_or(platform::cpu_set()).ids()) {
      nodes_[static_cast<int>(cpu)] = node;
    }
  };
  const auto nodes = platform::node_set::parse_list(list(folder + "online"));
  if (!nodes) {  // a kernel without NUMA: one node
    const std::string online = list("/sys/devices/system/cpu/online");
    add(online.empty() ? platform::get_affinity().mask.list() : online, 0);
    return;
  }
  for (const auto node : nodes->ids()) {
    const int number = static_cast<int>(node);
    add(list(folder + "node" + std::to_string(number) + "/cpulist"), number);
  }
}

int node_of_cpu::operator()(int cpu) const noexcept {
  const auto found = nodes_.find(cpu);
  return found == nodes_.end() ? -1 : found->second;
}

platform::node_set node_of_cpu::of(const platform::cpu_set& cpus) const {
  platform::node_set result;
  for (const auto cpu : cpus.ids()) {
    const int node = (*this)(static_cast<int>(cpu));
    if (node >= 0) result.add(static_cast<platform::node_id>(node));
  }
  return result;
}

std::vector<thread_look> look_at_threads(pid_t process, const node_of_cpu& nodes) {
  std::vector<thread_look> threads;
  std::error_code error;
  fs::directory_iterator entries("/proc/" + std::to_string(process) + "/task", error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    if (auto thread = look_at_thread(entries->path(), nodes)) threads.push_back(std::move(*thread));
  }
  return threads;
}

look_result look_at(pid_t process, const node_of_cpu& nodes) {
  const std::string folder = "/proc/" + std::to_string(process);
  const file_text status = read_whole(folder + "/status");
  if (status.error_number == ENOENT) {
    return {std::nullopt, "there is no process " + std::to_string(process), true};
  }
  if (status.error_number != 0) return refused(process, status.error_number);
  if (field(status.content, "State:").starts_with('Z')) return refused(process, ESRCH);
  const file_text maps = read_whole(folder + "/numa_maps");
  if (maps.error_number == ENOENT && ::access((folder + "/maps").c_str(), F_OK) == 0) {
    return {std::nullopt, "this kernel has no numa_maps: it was built without NUMA"};
  }
  if (maps.error_number != 0) return refused(process, maps.error_number);
  // A process that ends while it is read leaves an empty listing; a kernel thread has one always.
  if (maps.content.empty() && !field(status.content, "VmSize:").empty()) return refused(process, ESRCH);
  process_look look;
  look.id = process;
  look.name = field(status.content, "Name:");
  look.pages = count_pages(maps.content);
  look.threads = look_at_threads(process, nodes);
  const std::string huge = field(read_whole(folder + "/smaps_rollup").content, "AnonHugePages:");
  const auto huge_kib = to_number<std::int64_t>(huge);
  if (huge_kib >= 0) look.transparent_huge_bytes = static_cast<std::uint64_t>(huge_kib) * 1024;
  return {std::move(look)};
}

}  // namespace homing::cli
