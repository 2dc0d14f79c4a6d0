/// Choosing the process's machine by environment variables, with a way out of every error.
#include "topology/environment.hpp"

#include <dlfcn.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <mutex>
#include <new>
#include <string_view>
#include <utility>

#include "platform/cpu_set.hpp"
#include "platform/env.hpp"
#include "platform/env_path.hpp"
#include "platform/fork.hpp"
#include "platform/kernel_limits.hpp"
#include "platform/known_variables.hpp"
#include "sync/atomic.hpp"
#include "topology/facts.hpp"

namespace homing::topology {
namespace {
constexpr unsigned threads_max = 65536;  // CPUs of the largest machine that is read

bool is_file(const char* text) noexcept {
  struct stat info {};
  return std::string_view(text).ends_with(".xml") || ::stat(text, &info) == 0;
}

// A relative path starts at the folder in which the process began, as a report's does: the machine is read later.
const platform::env_path given_at_load("HOMING_TOPOLOGY", is_file);

}  // namespace

source::origin guess_origin(const std::string& text) {
  return is_file(text.c_str()) ? source::origin::xml : source::origin::synthetic;
}

domain_kind kind_of_environment() noexcept {
  return platform::env_choice<domain_kind>(
      "HOMING_DOMAIN", {{"node", domain_kind::node}, {"l3", domain_kind::l3}, {"socket", domain_kind::socket}},
      domain_kind::node);
}

std::optional<unsigned> threads_of_environment() noexcept {
  const auto value = platform::env("HOMING_THREADS");
  if (!value) return std::nullopt;
  unsigned threads = 0;
  const char* const end = value->data() + value->size();
  const auto [stopped, error] = std::from_chars(value->data(), end, threads);
  if (error == std::errc{} && stopped == end && threads >= 1 && threads <= threads_max) return threads;
  platform::refuse_env("HOMING_THREADS", *value, "an integer from 1 to 65536", "no limit");
  return std::nullopt;
}

std::vector<named_source> sources_of_environment() {
  std::vector<named_source> result;
  const domain_kind kind = kind_of_environment();
  const auto threads = threads_of_environment();
  const auto add = [&](const char* name, std::optional<source::origin> origin) {
    const auto value = platform::env(name);
    if (!value) return;
    std::string text(*value);
    // Only as long as it is the one that was given: the program may name another.
    if (!origin && text == given_at_load.value()) text = given_at_load.c_str();
    const source::origin from = origin ? *origin : guess_origin(text);
    result.push_back({.variable = name,
                      .value = std::string(*value),
                      .from = {.from = from, .text = std::move(text), .kind = kind, .limits = {.threads = threads}}});
  };
  add("HOMING_TOPOLOGY", std::nullopt);
  add("HWLOC_SYNTHETIC", source::origin::synthetic);
  add("HWLOC_XMLFILE", source::origin::xml);
  return result;
}

std::shared_ptr<const machine> one_domain() {
  platform::cpu_set mask = platform::read_process_mask().cpus;
  if (mask.empty()) mask = platform::online_cpus();
  if (mask.empty()) mask.add(std::max(platform::current_cpu(), cpu_id{0}));
  machine_facts facts;
  facts.this_system = true;
  facts.nodes.push_back({node_id{0}, true, true, 0});
  for (const cpu_id cpu : mask.ids()) facts.cpus.push_back({cpu, 0, -1, -1, -1, 0, true});
  given_limits given;
  given.mask = std::move(mask);
  given.threads = threads_of_environment();
  return build(facts, domain_kind::node, given).value;
}

std::shared_ptr<const machine> read_environment(source::figures figures) {
  if (::dlsym(RTLD_DEFAULT, "homing_tasks_door") == nullptr) {
    platform::warn_of_unknown_variables();  // where our libtbb.so.12 is loaded, it has looked
  }
  // hwloc obeys HWLOC_PLUGINS_PATH and others, whoever set them.
  if (platform::has_hostile_env("HWLOC_")) return one_domain();
  constexpr const char* mask_only = "one domain with the CPUs of the affinity mask";
  const std::vector<named_source> asked = sources_of_environment();
  // hwloc would come back with a description that we have refused.
  bool hidden = platform::is_env_too_long("HWLOC_SYNTHETIC") || platform::is_env_too_long("HWLOC_XMLFILE");
  for (std::size_t i = 0; i < asked.size(); ++i) {
    source from = asked[i].from;
    from.wanted = figures;
    read_result made_up = read(from);
    if (made_up.value) return std::move(made_up.value);
    const std::string_view variable = asked[i].variable;
    hidden = hidden || (variable != "HOMING_TOPOLOGY" && made_up.who == refused_by::homing);
    const char* const next = i + 1 < asked.size() ? asked[i + 1].variable : hidden ? mask_only : "the real machine";
    const std::string expected =
        (asked[i].from.from == source::origin::xml ? "an hwloc XML file ("
                                                   : "a machine such as \"node:4 core:2 pu:1\" (") +
        made_up.error + ")";
    platform::refuse_env(asked[i].variable, asked[i].value, expected.c_str(), next);
  }
  if (hidden) return one_domain();
  read_result real =
      read({.kind = kind_of_environment(), .limits = {.threads = threads_of_environment()}, .wanted = figures});
  if (real.value) return std::move(real.value);
  platform::warn("can't read this machine's topology (%s); using %s", platform::printable(real.error).c_str(),
                 mask_only);
  return one_domain();
}

namespace {

sync::atomic<const machine*> of_process{nullptr};

// Not the compiler's lock of a static variable: a fork must find nobody at it.
std::mutex making;
const platform::fork_part made_over_fork(
    platform::fork_layer::machine, [] { making.lock(); }, [] { making.unlock(); }, [] { making.unlock(); });

}  // namespace

// Never freed: threads may still ask while static objects are destroyed. Where memory runs out, who asks next reads
// anew.
const machine& process_machine() {
  alignas(std::shared_ptr<const machine>) static std::byte place[sizeof(std::shared_ptr<const machine>)];
  const machine* m = of_process.load(sync::acquire);
  if (m == nullptr) {
    const std::lock_guard hold(making);
    m = of_process.load(sync::relaxed);
    if (m == nullptr) {
      m = (new (place) std::shared_ptr<const machine>(read_environment(source::figures::first_task)))->get();
      of_process.store(m, sync::release);  // the machine, for the acquire above
    }
  }
  return *m;
}

}  // namespace homing::topology
