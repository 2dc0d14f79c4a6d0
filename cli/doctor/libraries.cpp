/// Which libraries a program would get, and the versions of what we rest on.
#include <dlfcn.h>
#include <fmt/format.h>
#include <hwloc.h>
#include <link.h>
#include <sys/utsname.h>

#include <filesystem>

#include <homing/version.hpp>
#include <memory>
#include <type_traits>

#include "common/program.hpp"
#include "doctor/finding.hpp"

namespace homing::cli {
namespace {

namespace fs = std::filesystem;

// What the dynamic linker gives a program without an RPATH: LD_PRELOAD, LD_LIBRARY_PATH, the system's folders.
finding judge_tbb() {
  const char* const topic = "libtbb.so.12";
  void* const library = ::dlopen("libtbb.so.12", RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    return {health::ok, topic,
            "none on the library path: only programs that bring their own, or run by homing run, have one", ""};
  }
  const link_map* where = nullptr;
  const std::string path = ::dlinfo(library, RTLD_DI_LINKMAP, &where) == 0 ? where->l_name : "an unknown place";
  using version_call = const char* (*)();
  const auto version = reinterpret_cast<version_call>(::dlsym(library, "TBB_runtime_version"));
  const std::string text = version == nullptr ? "of unknown version" : version();
  ::dlclose(library);
  std::error_code error;
  if (fs::equivalent(path, own_library(), error)) {
    return {health::ok, topic, fmt::format("ours, {}, by LD_LIBRARY_PATH or LD_PRELOAD", path), ""};
  }
  return {health::ok, topic, fmt::format("{} ({}) without homing run", path, text), ""};
}

finding judge_ours() {
  const fs::path library = own_library();
  std::error_code error;
  if (fs::exists(library, error)) {
    return {health::ok, "homing", fmt::format("{}; homing run gives programs {}", homing::version(), library.string()),
            ""};
  }
  return {health::bad, "homing",
          fmt::format("{}, without its library: there is no {}", homing::version(), library.string()),
          "make install puts it there"};
}

// hwloc tells only its interface's version, but writes its own on each machine that it makes.
std::string hwloc_version() {
  hwloc_topology_t made = nullptr;
  if (::hwloc_topology_init(&made) == 0) {
    const std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, decltype(&::hwloc_topology_destroy)> owner(
        made, &::hwloc_topology_destroy);
    if (::hwloc_topology_set_synthetic(made, "pu:1") == 0 && ::hwloc_topology_load(made) == 0) {
      const char* const version = ::hwloc_obj_get_info_by_name(::hwloc_get_root_obj(made), "hwlocVersion");
      if (version != nullptr) return version;
    }
  }
  const unsigned api = ::hwloc_get_api_version();
  return fmt::format("of unknown version, with the interface of {}.{}.{}", api >> 16U, api >> 8U & 0xFFU, api & 0xFFU);
}

}  // namespace

std::vector<finding> judge_libraries() {
  std::vector<finding> result{judge_ours(), judge_tbb()};
  result.push_back({health::ok, "hwloc", hwloc_version(), ""});
  utsname system{};
  if (::uname(&system) == 0) {
    int major = 0;
    int minor = 0;
    const bool known = std::sscanf(system.release, "%d.%d", &major, &minor) == 2;
    const bool old = known && (major < 5 || (major == 5 && minor < 14));
    result.push_back({old ? health::warn : health::ok, "kernel",
                      fmt::format("{} {}{}", system.sysname, system.release,
                                  old ? ": pages can't be populated without writing to them (before 5.14)" : ""),
                      old ? "touch memory before it is placed" : ""});
  }
  return result;
}

}  // namespace homing::cli
