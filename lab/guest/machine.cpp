#include "machine.hpp"

#include <fcntl.h>
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

}  // namespace

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
  for (const auto& [link, target] : {std::pair{"/dev/fd", "/proc/self/fd"}, {"/dev/stdin", "/proc/self/fd/0"},
                                     {"/dev/stdout", "/proc/self/fd/1"}, {"/dev/stderr", "/proc/self/fd/2"}}) {
    (void)!::symlink(target, link);
  }
  (void)!::sethostname("lab", 3);
  start_loopback();
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
