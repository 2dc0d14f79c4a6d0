#include "run/traffic.hpp"

#include <linux/perf_event.h>
#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace homing::cli {
namespace {

// libpfm4's tables, made once; it is never ended: other threads may not use it meanwhile, and there are none.
int initialize_pfm() {
  static const int result = pfm_initialize();
  return result;
}

std::optional<perf_event_attr> encode(const std::string& name) {
  if (initialize_pfm() != PFM_SUCCESS) return std::nullopt;
  perf_event_attr attribute{};
  attribute.size = sizeof attribute;
  pfm_perf_encode_arg_t request{};
  request.size = sizeof request;
  request.attr = &attribute;
  if (pfm_get_os_event_encoding(name.c_str(), PFM_PLM3, PFM_OS_PERF_EVENT_EXT, &request) != PFM_SUCCESS)
    return std::nullopt;
  return attribute;
}

// The names of the CPU models that libpfm4 finds here.
std::vector<std::string> present_cpus() {
  std::vector<std::string> result;
  if (initialize_pfm() != PFM_SUCCESS) return result;
  for (int i = PFM_PMU_NONE; i < PFM_PMU_MAX; ++i) {
    pfm_pmu_info_t info{};
    info.size = sizeof info;
    if (pfm_get_pmu_info(static_cast<pfm_pmu_t>(i), &info) == PFM_SUCCESS && info.is_present)
      result.emplace_back(info.name);
  }
  return result;
}

bool has_word(const std::string& words, const std::string& word) {
  return (' ' + words + ' ').find(' ' + word + ' ') != std::string::npos;
}

std::string refusal(int error_number) {
  if (error_number == EACCES || error_number == EPERM) {
    return "perf_event_open is not permitted (kernel.perf_event_paranoid, or a sandbox)";
  }
  if (error_number == ENOENT || error_number == EOPNOTSUPP || error_number == ENODEV) {
    return "the kernel offers no hardware events here, as in many virtual machines";
  }
  return std::string("perf_event_open: ") + std::strerror(error_number);
}

}  // namespace

const std::vector<event_set>& event_sets() {
  static const std::vector<event_set> sets{
      // Better than the retired loads: prefetches are in it. What another cluster of the socket (SNC) gives is far.
      {"icx spr", {"OCR:READS_TO_CORE_LOCAL_DRAM"}, {"OCR:READS_TO_CORE_REMOTE_DRAM", "OCR:READS_TO_CORE_SNC_DRAM"}},
      {"skx clx",
       {"MEM_LOAD_L3_MISS_RETIRED:LOCAL_DRAM"},
       {"MEM_LOAD_L3_MISS_RETIRED:REMOTE_DRAM", "MEM_LOAD_L3_MISS_RETIRED:REMOTE_HITM",
        "MEM_LOAD_L3_MISS_RETIRED:REMOTE_FWD"}},
      {"hsw_ep bdw_ep", {"MEM_LOAD_UOPS_L3_MISS_RETIRED:LOCAL_DRAM"}, {"MEM_LOAD_UOPS_L3_MISS_RETIRED:REMOTE_DRAM"}},
      {"ivb_ep", {"MEM_LOAD_UOPS_LLC_MISS_RETIRED:LOCAL_DRAM"}, {"MEM_LOAD_UOPS_LLC_MISS_RETIRED:REMOTE_DRAM"}},
      {"amd64_fam19h_zen4",
       {"ANY_DATA_CACHE_FILLS_FROM_SYSTEM:DRAM_IO_NEAR", "ANY_DATA_CACHE_FILLS_FROM_SYSTEM:NEAR_CACHE_NEAR_FAR"},
       {"ANY_DATA_CACHE_FILLS_FROM_SYSTEM:DRAM_IO_FAR", "ANY_DATA_CACHE_FILLS_FROM_SYSTEM:FAR_CACHE_NEAR_FAR"}},
      {"amd64_fam19h_zen3",
       {"ANY_DATA_CACHE_FILLS_FROM_SYSTEM:MEM_IO_LCL", "ANY_DATA_CACHE_FILLS_FROM_SYSTEM:EXT_CACHE_LCL"},
       {"ANY_DATA_CACHE_FILLS_FROM_SYSTEM:MEM_IO_RMT", "ANY_DATA_CACHE_FILLS_FROM_SYSTEM:EXT_CACHE_RMT"}},
      {"amd64_fam17h_zen2",
       {"DATA_CACHE_REFILLS_FROM_SYSTEM:LS_MABRESP_LCL_DRAM"},
       {"DATA_CACHE_REFILLS_FROM_SYSTEM:LS_MABRESP_RMT_DRAM", "DATA_CACHE_REFILLS_FROM_SYSTEM:LS_MABRESP_RMT_CACHE"}},
  };
  return sets;
}

bool is_known_event(const std::string& cpu, const std::string& event) {
  ::setenv("LIBPFM_ENCODE_INACTIVE", "1", 1);  // read by pfm_initialize()
  return encode(cpu + "::" + event).has_value();
}

known_events find_events() {
  known_events found;
  for (const std::string& name : present_cpus()) {
    // Sandy Bridge EP counts these wrongly unless a workaround, which costs speed, is switched on.
    if (name == "snb_ep") return {nullptr, name, "this CPU's events (Sandy Bridge EP) count wrongly"};
    for (const event_set& set : event_sets()) {
      if (has_word(set.cpus, name)) found = {&set, name, ""};
    }
  }
  if (found.set == nullptr) found.reason = "no events of near and far memory are known for this CPU";
  return found;
}

traffic_counter::~traffic_counter() {
  for (const open_event& event : open_) ::close(event.file);
}

void traffic_counter::attach(pid_t process) {
  const known_events known = find_events();
  if (known.set == nullptr) {
    reason_ = known.reason;
    return;
  }
  const auto open_all = [&](const std::vector<const char*>& names, reach where) {
    for (const char* name : names) {
      auto attribute = encode(known.cpu + "::" + name);
      if (!attribute) {
        reason_ = std::string("libpfm4 does not know ") + name;
        return false;
      }
      attribute->disabled = 1;
      attribute->enable_on_exec = 1;
      attribute->inherit = 1;
      attribute->exclude_kernel = 1;
      attribute->exclude_hv = 1;
      attribute->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
      const long file = ::syscall(SYS_perf_event_open, &*attribute, process, -1, -1, PERF_FLAG_FD_CLOEXEC);
      if (file < 0) {
        reason_ = refusal(errno);
        return false;
      }
      open_.push_back({{name, where}, static_cast<int>(file)});
    }
    return true;
  };
  if (open_all(known.set->near, reach::near) && open_all(known.set->far, reach::far)) return;
  // A part of them would look like a ratio.
  for (const open_event& event : open_) ::close(event.file);
  open_.clear();
}

traffic_result traffic_counter::read() const {
  traffic_result result;
  for (const open_event& event : open_) {
    struct {
      std::uint64_t value, enabled, running;
    } seen{};
    if (::read(event.file, &seen, sizeof seen) != sizeof seen) return {{}, "the counters can't be read"};
    if (seen.running == 0) return {{}, "the counters were never free: another program has them"};
    traffic_event counted = event.what;
    const double share = static_cast<double>(seen.enabled) / static_cast<double>(seen.running);
    counted.count = static_cast<std::uint64_t>(static_cast<double>(seen.value) * share);
    result.events.push_back(counted);
  }
  if (result.events.empty()) result.reason = reason_;
  return result;
}

}  // namespace homing::cli
