/// The node that a device is attached to, as sysfs says, for node lists that name a device instead of a number.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "platform/id_set.hpp"

namespace homing::cli {

struct [[nodiscard]] device_node {
  std::optional<platform::node_id> node{};
  std::string error{};  ///< empty, or why there is no node: reads on behind the device's name
};

/// True for `KIND:NAME`, whatever the kind.
[[nodiscard]] bool names_device(std::string_view text) noexcept;

/// `netdev:DEV`: a network device. `block:DEV`: a block device by the kernel's name, or a part of one.
/// `pci:[SEG:]BUS:DEV[.FUNC]`, in hexadecimal digits; `:FUNC` behind all three, too. `file:PATH`: the block device on
/// which a file lies, or the device that it is. What a device itself doesn't know, its bus may. `root`: what stands for
/// / in a test, but for PATH.
device_node find_device_node(std::string_view text, const std::string& root = "");

}  // namespace homing::cli
