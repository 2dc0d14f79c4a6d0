/// The guest's first program: takes a request over the channel, runs it, brings back its end and its results.
///
/// Protocol: docs/protocols/lab_channel.md.
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "channel.hpp"
#include "machine.hpp"
#include "program.hpp"

namespace homing::lab {
namespace {

constexpr const char* protocol_version = "2";  // [LC2]
// The second serial port; AArch64's first is no 16550, so that its second is the first that is called so.
#if defined(__aarch64__)
constexpr const char* channel_port = "/dev/ttyS0";
#else
constexpr const char* channel_port = "/dev/ttyS1";
#endif
constexpr const char* calibrator = "/homing/homing-lab-calibrate";

// [LC2] all that comes before 'G'
request take_request(channel& runner) {
  request wanted;
  for (;;) {
    const frame f = runner.next();
    const char* const text = f.payload.c_str();
    switch (f.kind) {
      case 'a':
        wanted.words.push_back(f.payload);
        break;
      case 'e':
        wanted.environment.push_back(f.payload);
        break;
      case 'd':
        wanted.folder = f.payload;
        break;
      case 'h':
        wanted.home = f.payload;
        break;
      case 'u':
        std::sscanf(text, "%u %u", &wanted.user, &wanted.group);
        break;
      case 't':
        wanted.terminal = std::sscanf(text, "%u %u", &wanted.rows, &wanted.columns) == 2;
        break;
      case 'c':
        wanted.calibrate = true;
        break;
      case 'k': {
        const std::size_t space = f.payload.find(' ');
        const std::string path = f.payload.substr(0, space);
        const int error = write_setting(path, f.payload.substr(std::min(space, f.payload.size() - 1) + 1));
        if (error != 0) runner.send('M', "can't write " + path + ": " + std::strerror(error));
        break;
      }
      case 'G':
        return wanted;
      default:
        break;
    }
  }
}

void send_file(channel& runner, const std::string& path, const std::string& name, const struct stat& facts) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    runner.send('M', "can't read the result " + path + ": " + std::strerror(errno));
    return;
  }
  runner.send('F', std::to_string(facts.st_mode & 0777) + " " + name);  // [LC5]
  std::vector<char> bytes(256 << 10);
  for (ssize_t count = 0; (count = ::read(file, bytes.data(), bytes.size())) > 0;) {
    runner.send('D', {bytes.data(), static_cast<std::size_t>(count)});
  }
  ::close(file);
}

// Regular files only, folders before what is in them, names in order.
void send_results(channel& runner, const std::string& folder, const std::string& prefix) {
  DIR* const listing = ::opendir(folder.c_str());
  if (listing == nullptr) return;
  std::vector<std::string> names;
  while (const dirent* const entry = ::readdir(listing)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  ::closedir(listing);
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    const std::string path = folder + "/" + name;
    struct stat facts {};
    if (::lstat(path.c_str(), &facts) != 0) continue;
    if (S_ISDIR(facts.st_mode)) {
      send_results(runner, path, prefix + name + "/");
    } else if (S_ISREG(facts.st_mode)) {
      send_file(runner, path, prefix + name, facts);
    } else {
      runner.send('M', "the result " + path + " is no regular file, and is left out");
    }
  }
}

// [LC3] false if the plugin could not learn which memory belongs to which node
bool calibrated(channel& runner, const request& wanted) {
  if (!wanted.calibrate) return true;
  const outcome result = run_program(runner, {.words = {calibrator}, .environment = {"PATH=/usr/bin"}}, 'C');
  if (result.code == 0 && result.signal == 0) return true;
  runner.send('X', "calibration " + std::to_string(result.code) + " " + std::to_string(result.signal) + " 0 " +
                       std::to_string(result.start_error));
  return false;
}

void serve(channel& runner) {
  runner.send('H', protocol_version);
  const request wanted = take_request(runner);
  for (const std::string& folder : {wanted.folder, wanted.home}) {
    if (!folder.empty()) make_folders(folder, wanted.user, wanted.group);
  }
  if (!calibrated(runner, wanted)) return;
  // For a quick boot; the program gets the kernel's usual ways.
  (void)write_setting("/sys/kernel/rcu_expedited", "0");
  const unsigned long kills_before = memory_kills();
  runner.send('S', "");
  const outcome result = run_program(runner, wanted);
  const unsigned long kills = memory_kills() - kills_before;
  send_results(runner, "/results", "");
  runner.send('X', "program " + std::to_string(result.code) + " " + std::to_string(result.signal) + " " +
                       std::to_string(kills) + " " + std::to_string(result.start_error));
}

}  // namespace
}  // namespace homing::lab

int main() {
  using namespace homing::lab;
  // SIGCHLD ends the waits of the relay and is blocked elsewhere; a program that closed its input must not end us.
  struct sigaction noticed {};
  noticed.sa_handler = [](int) {};
  ::sigaction(SIGCHLD, &noticed, nullptr);
  sigset_t ends;
  ::sigemptyset(&ends);
  ::sigaddset(&ends, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &ends, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  set_up_machine();
  channel runner(channel_port);
  serve(runner);
  ::tcdrain(runner.descriptor());  // the last frame is still on its way
  switch_off();
}
