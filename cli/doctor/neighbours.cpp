/// Whether other processes were given the very same CPUs: ranks that were meant to share a machine, not a core.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "doctor/finding.hpp"
#include "platform/cpu_set.hpp"
#include "platform/files.hpp"

namespace homing::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t environment_bytes_max = std::size_t{4} << 20U;

std::optional<int> number(const std::string& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string field(const std::string& status, const std::string& key) {
  const std::size_t at = status.find('\n' + key);
  if (at == std::string::npos) return "";
  const std::size_t start = status.find_first_not_of(" \t", at + 1 + key.size());
  return start == std::string::npos ? "" : status.substr(start, status.find('\n', start) - start);
}

// This process and those it descends from: the shell, mpirun.
std::vector<int> own_line() {
  std::vector<int> line{::getpid()};
  while (line.back() > 1) {
    const auto status = platform::read_file(fmt::format("/proc/{}/status", line.back()));
    const auto parent = status ? number(field(*status, "PPid:")) : std::nullopt;
    if (!parent || *parent <= 0) break;
    line.push_back(*parent);
  }
  return line;
}

}  // namespace

bool is_rank(const std::string& environment_block) {
  const std::string block = '\0' + environment_block;
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_RANK=", "MPI_LOCALRANKID=", "MV2_COMM_WORLD_LOCAL_RANK=",
                           "PMI_LOCAL_RANK=", "SLURM_LOCALID=", "PALS_LOCAL_RANKID="}) {
    if (block.find('\0' + std::string(name)) != std::string::npos) return true;
  }
  return false;
}

std::vector<neighbour> read_neighbours() {
  std::vector<neighbour> result;
  const std::vector<int> own = own_line();
  std::error_code error;
  fs::directory_iterator entries("/proc", error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    const auto pid = number(entries->path().filename());
    struct stat owner {};
    if (!pid || ::stat(entries->path().c_str(), &owner) != 0 || owner.st_uid != ::getuid()) continue;
    if (std::find(own.begin(), own.end(), *pid) != own.end()) continue;
    const auto status = platform::read_file(entries->path() / "status");
    if (!status || field(*status, "VmSize:").empty()) continue;  // ended, or the kernel's own
    neighbour n;
    n.pid = *pid;
    n.name = status->substr(6, status->find('\n') - 6);  // after "Name:\t"
    n.mask = platform::cpu_set::parse_list(field(*status, "Cpus_allowed_list:")).value_or(platform::cpu_set());
    n.is_rank = is_rank(platform::read_file(entries->path() / "environ", environment_bytes_max).value_or(""));
    result.push_back(std::move(n));
  }
  return result;
}

std::vector<finding> judge_neighbours(const std::vector<neighbour>& others, const platform::cpu_set& own_mask,
                                      unsigned machine_cpus, bool own_is_rank) {
  std::size_t same = 0;
  std::size_t ranks = 0;
  std::string names;
  for (const neighbour& n : others) {
    if (!(n.mask == own_mask)) continue;
    ++same;
    if (n.is_rank) ++ranks;
    if (same <= 3) names += fmt::format("{}{} {}", names.empty() ? "" : ", ", n.name, n.pid);
  }
  if (own_is_rank && ranks > 0) {
    return {{health::bad, "ranks",
             fmt::format("{} more rank{} may run on exactly the same CPUs ({}): each starts threads for all of them",
                         ranks, ranks == 1 ? "" : "s", own_mask.list()),
             "give each rank CPUs of its own: mpirun --map-by ppr:1:numa:pe=N --bind-to core, srun --cpus-per-task"}};
  }
  if (own_is_rank) return {{health::ok, "ranks", "no other rank here has the same CPUs", ""}};
  if (own_mask.count() < machine_cpus && same > 0) {
    return {{health::warn, "shared mask",
             fmt::format("{} other process{} of yours {} confined to exactly the same CPUs {}: {}", same,
                         same == 1 ? "" : "es", same == 1 ? "is" : "are", own_mask.list(), names),
             "give programs that run at the same time different CPUs (taskset, numactl, mpirun --bind-to)"}};
  }
  return {{health::ok, "shared mask", "no other process of yours is confined to the same CPUs", ""}};
}

}  // namespace homing::cli
