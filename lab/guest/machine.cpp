#include "machine.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <homing/lab.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace homing::lab {
namespace {

void mount_at(const char* type, const char* folder, const char* options = nullptr) {
  ::mkdir(folder, 0755);
  if (::mount(type, folder, type, 0, options) != 0 && errno != EBUSY) {
    std::fprintf(stderr, "homing-lab-init: can't mount %s: %s\n", folder, std::strerror(errno));
  }
}

void start_loopback() {
  const int any = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (any < 0) return;
  ifreq request{};
  std::strncpy(request.ifr_name, "lo", sizeof request.ifr_name - 1);
  if (::ioctl(any, SIOCGIFFLAGS, &request) == 0) {
    request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
    ::ioctl(any, SIOCSIFFLAGS, &request);
  }
  ::close(any);
}

std::string first_line(const std::string& path) {
  char text[32] = {};
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  const ssize_t count = ::read(file, text, sizeof text - 1);
  ::close(file);
  return count > 0 ? std::string(text, static_cast<std::size_t>(count) - 1) : std::string{};
}

// [LT1] The virtual clock's memory, if the runner gave it, for everybody.
void show_clock() {
  const std::string file = shared_memory_file(HOMING_LAB_CLOCK_BYTES);
  if (file.empty()) return;
  ::chmod(file.c_str(), 0666);
  (void)!::symlink(file.c_str(), "/dev/homing-lab-clock");
}

}  // namespace

std::string shared_memory_file(std::size_t bytes) {
  const std::string devices = "/sys/bus/pci/devices/";
  DIR* const listing = ::opendir(devices.c_str());
  if (listing == nullptr) return {};
  std::string result;
  while (const dirent* const entry = ::readdir(listing)) {
    const std::string folder = devices + entry->d_name;
    if (first_line(folder + "/vendor") != "0x1af4" || first_line(folder + "/device") != "0x1110") continue;
    const std::string file = folder + "/resource2";
    struct stat facts {};
    if (::stat(file.c_str(), &facts) != 0 || static_cast<std::size_t>(facts.st_size) != bytes) continue;
    if (write_setting(folder + "/enable", "1") == 0) result = file;
    break;
  }
  ::closedir(listing);
  return result;
}

void set_up_machine() {
  ::umask(022);
  mount_at("proc", "/proc");
  mount_at("sysfs", "/sys");
  mount_at("devtmpfs", "/dev");
  mount_at("devpts", "/dev/pts", "ptmxmode=0666,mode=0620");
  mount_at("tmpfs", "/dev/shm", "mode=1777");
  mount_at("cgroup2", "/sys/fs/cgroup");
  mount_at("tmpfs", "/run", "mode=0755");
  (void)write_setting("/sys/fs/cgroup/cgroup.subtree_control", "+cpuset +cpu +memory +pids");
  for (const char* folder : {"/tmp", "/results", "/var/tmp"}) {
    make_folders(folder, 0, 0);
    ::chmod(folder, 01777);
  }
  for (const auto& [link, target] : {std::pair{"/dev/fd", "/proc/self/fd"},
                                     {"/dev/stdin", "/proc/self/fd/0"},
                                     {"/dev/stdout", "/proc/self/fd/1"},
                                     {"/dev/stderr", "/proc/self/fd/2"}}) {
    (void)!::symlink(target, link);
  }
  (void)!::sethostname("lab", 3);
  start_loopback();
  show_clock();
}

void make_folders(const std::string& path, unsigned user, unsigned group) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (!part.empty() && ::mkdir(part.c_str(), 0755) == 0 && end == std::string::npos) {
      (void)!::chown(part.c_str(), user, group);
    }
    if (end == std::string::npos) return;
  }
}

int write_setting(const std::string& path, const std::string& value) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return errno;
  const int error = ::write(file, value.data(), value.size()) < 0 ? errno : 0;
  ::close(file);
  return error;
}

unsigned long memory_kills() {
  unsigned long result = 0;
  std::FILE* const file = std::fopen("/proc/vmstat", "re");
  if (file == nullptr) return 0;
  char name[64];
  unsigned long value = 0;
  while (std::fscanf(file, "%63s %lu", name, &value) == 2) {
    if (std::strcmp(name, "oom_kill") == 0) result = value;
  }
  std::fclose(file);
  return result;
}

void switch_off() {
  ::sync();
  ::reboot(RB_AUTOBOOT);
  for (;;) ::pause();
}

}  // namespace homing::lab
