#include "common/device_node.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <vector>

#include "platform/files.hpp"

namespace homing::cli {
namespace {

namespace fs = std::filesystem;

// A device's folder, however sysfs refers to it, and those of the buses that it hangs on: the first that knows a node.
device_node node_above(const std::string& root, const std::string& entry, const char* what) {
  std::error_code missing;
  const fs::path devices = fs::weakly_canonical(root + "/sys/devices", missing);
  fs::path folder = fs::canonical(root + entry, missing);
  if (missing) return {{}, std::string("is no ") + what + " of this machine"};
  bool asked = false;
  for (; folder.has_relative_path() && folder != devices; folder = folder.parent_path()) {
    const auto text = platform::read_file((folder / "numa_node").string());
    if (!text) continue;
    asked = true;
    int node = -1;
    std::from_chars(text->data(), text->data() + text->size(), node);
    if (node >= 0) return {static_cast<platform::node_id>(node), {}};
  }
  return {{}, asked ? "is at a node that the kernel doesn't know" : "is virtual, or at no node of its own"};
}

// One folder's name, so that nobody walks elsewhere with it.
bool is_name(std::string_view name) noexcept {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos;
}

// Hexadecimal digits, and nothing else, of a number up to `max`.
std::optional<unsigned> hexadecimal(std::string_view digits, unsigned max) noexcept {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (error != std::errc() || end != digits.data() + digits.size() || value > max) return std::nullopt;
  return value;
}

// The kernel's name of [SEG:]BUS:DEV[.FUNC]: with segment and function, 0 where they are left out.
std::optional<std::string> pci_name(std::string_view text) {
  std::optional<std::string_view> function;
  if (const auto dot = text.find('.'); dot != std::string_view::npos) {
    function = text.substr(dot + 1);
    text = text.substr(0, dot);
  }
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at != std::string_view::npos;) {
    const std::size_t colon = text.find(':', at);
    parts.push_back(text.substr(at, colon - at));
    at = colon == std::string_view::npos ? colon : colon + 1;
  }
  if (parts.size() == 4 && !function) {
    function = parts.back();
    parts.pop_back();
  }
  if (parts.size() == 2) parts.insert(parts.begin(), "0");
  if (parts.size() != 3) return std::nullopt;
  const auto segment = hexadecimal(parts[0], 0xffffffff);
  const auto bus = hexadecimal(parts[1], 0xff);
  const auto device = hexadecimal(parts[2], 0x1f);
  const auto number = hexadecimal(function.value_or("0"), 7);
  if (!segment || !bus || !device || !number) return std::nullopt;
  char name[32];
  std::snprintf(name, sizeof name, "%04x:%02x:%02x.%x", *segment, *bus, *device, *number);
  return name;
}

device_node node_of_file(const std::string& path, const std::string& root) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) return {{}, std::string("can't be looked at: ") + std::strerror(errno)};
  const bool is_character_device = S_ISCHR(facts.st_mode);
  const bool is_device = is_character_device || S_ISBLK(facts.st_mode);
  const dev_t number = is_device ? facts.st_rdev : facts.st_dev;
  const std::string name = std::to_string(major(number)) + ':' + std::to_string(minor(number));
  const std::string entry = std::string("/sys/dev/") + (is_character_device ? "char/" : "block/") + name;
  std::error_code ignored;
  if (!is_device && !fs::exists(root + entry, ignored)) return {{}, "lies on no block device (" + name + ")"};
  return node_above(root, entry, "device");
}

}  // namespace

bool names_device(std::string_view text) noexcept { return text.find(':') != std::string_view::npos; }

device_node find_device_node(std::string_view text, const std::string& root) {
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const std::string name(colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1));
  if (name.find('\0') != std::string::npos) return {{}, "is no name"};
  if (kind == "netdev") {
    return is_name(name) ? node_above(root, "/sys/class/net/" + name, "network device")
                         : device_node{{}, "names no network device"};
  }
  if (kind == "block") {
    return is_name(name) ? node_above(root, "/sys/class/block/" + name, "block device")
                         : device_node{{}, "names no device as the kernel does, such as sda; for a path: file:PATH"};
  }
  if (kind == "pci") {
    const auto address = pci_name(name);
    return address ? node_above(root, "/sys/bus/pci/devices/" + *address, "PCI device")
                   : device_node{{}, "is no PCI address such as 0000:3b:00.0"};
  }
  if (kind == "file") return node_of_file(name, root);
  if (kind == "ip") return {{}, "is not looked up: give the network device, netdev:DEV"};
  return {{}, "is no kind of device that has a node: expected netdev:, block:, pci: or file:"};
}

}  // namespace homing::cli
