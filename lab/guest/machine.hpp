/// The virtual machine as its first program finds it: what to mount, what to set, how to end it.
#pragma once

#include <cstddef>
#include <string>

namespace homing::lab {

/// Mounts proc, sys, dev, tmp and cgroup2 with its controllers, makes /results, starts the loopback network, and
/// /dev/homing-lab-clock if there is a virtual clock.
void set_up_machine();

/// Makes a folder and those above it, owned by the user if it was not there.
void make_folders(const std::string& path, unsigned user, unsigned group);

/// Writes a setting of the kernel, a file below /proc or /sys. Returns an errno, or 0.
[[nodiscard]] int write_setting(const std::string& path, const std::string& value);

/// The file of memory that guest and runner share, an ivshmem device of QEMU's with that many bytes, now enabled; "" if
/// there is none. It needs no driver: the file can be mapped.
[[nodiscard]] std::string shared_memory_file(std::size_t bytes);

/// How often the kernel killed a process because memory was full, since it booted.
[[nodiscard]] unsigned long memory_kills();

/// Ends the machine; QEMU was told not to restart it.
[[noreturn]] void switch_off();

}  // namespace homing::lab
