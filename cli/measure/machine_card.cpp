#include "measure/machine_card.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <ctime>
#include <nlohmann/json.hpp>
#include <string_view>

#include "platform/files.hpp"
#include "platform/lab.hpp"

namespace homing::measure {
namespace {

constexpr std::size_t cpuinfo_bytes_max = std::size_t{16} << 20;

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\n");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t\n") - first + 1));
}

std::string processor_name() {
  const std::string text = platform::read_file("/proc/cpuinfo", cpuinfo_bytes_max).value_or("");
  for (const std::string_view key : {"\nmodel name", "\nModel", "\ncpu\t"}) {  // x86; some ARM; POWER
    const std::size_t at = text.find(key);
    if (at == std::string::npos) continue;
    const std::size_t colon = text.find(':', at);
    const std::size_t end = text.find('\n', at + 1);
    if (colon == std::string::npos || colon > end) continue;
    if (std::string name = trimmed(std::string_view(text).substr(colon + 1, end - colon - 1)); !name.empty())
      return name;
  }
  return "unknown processor";
}

// "always [madvise] never"
std::string chosen_word(const std::string& text) {
  const std::size_t open = text.find('[');
  const std::size_t close = text.find(']', open == std::string::npos ? 0 : open);
  return open == std::string::npos || close == std::string::npos ? "" : text.substr(open + 1, close - open - 1);
}

std::string date_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  char text[32];
  return {text, std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

std::string kernel_name() {
  utsname names{};
  if (::uname(&names) != 0) return "unknown kernel";
  return std::string(names.sysname) + ' ' + names.release;
}

}  // namespace

std::string machine_card::text() const {
  std::string text = fmt::format("{}, {} CPU{}, {} node{}, {}", processor, cpus, cpus == 1 ? "" : "s", nodes,
                                 nodes == 1 ? "" : "s", kernel);
  if (is_virtual) {
    text = fmt::format("virtual, {} CPUs and {} node{} made up, on {}, {}", cpus, nodes, nodes == 1 ? "" : "s",
                       processor, kernel);
  }
  return text + ", " + date;
}

std::string machine_card::clock_text() const {
  if (is_clock_virtual) {
    return fmt::format("modelled, not measured: the times are the virtual ones of the lab's machine {}\n", lab);
  }
  if (lab.empty()) return "";
  return "note: this is the lab, and the times are the host's, which say nothing about the machine: homing lab run "
         "--virtual-clock\n";
}

nlohmann::ordered_json machine_card::json() const {
  const auto or_null = [](const std::string& s) {
    return s.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(s);
  };
  return {{"processor", processor},
          {"kernel", kernel},
          {"cpus", cpus},
          {"nodes", nodes},
          {"virtual", is_virtual},
          {"transparent_hugepage", or_null(huge_pages)},
          {"numa_balancing", or_null(numa_balancing)},
          {"date", date},
          {"lab", or_null(lab)},
          {"clock", is_clock_virtual ? "modelled"
                    : lab.empty()    ? "system"
                                     : "host of the lab"}};
}

machine_card describe_machine(const topology::snapshot& machine) {
  unsigned cpus = 0;
  for (const topology::domain_info& d : machine.domains()) cpus += static_cast<unsigned>(d.cpus.size());
  return {.processor = processor_name(),
          .kernel = kernel_name(),
          .cpus = cpus,
          .nodes = static_cast<unsigned>(machine.nodes().size()),
          .is_virtual = machine.is_virtual(),
          .huge_pages = chosen_word(platform::read_file("/sys/kernel/mm/transparent_hugepage/enabled").value_or("")),
          .numa_balancing = trimmed(platform::read_file("/proc/sys/kernel/numa_balancing").value_or("")),
          .date = date_now(),
          .lab = platform::lab_machine(),
          .is_clock_virtual = platform::clock_is_virtual()};
}

}  // namespace homing::measure
