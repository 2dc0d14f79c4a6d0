/// Looking at a program's file, and asking its dynamic linker which libraries it would get.
#include "common/program.hpp"

#include <elf.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

namespace homing::cli {
namespace {

// A file in memory, read only.
class mapped_file {
 public:
  explicit mapped_file(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    struct stat info {};
    if (::fstat(file, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0) {
      size_ = static_cast<std::size_t>(info.st_size);
      data_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
    }
    ::close(file);
  }
  mapped_file(const mapped_file&) = delete;
  mapped_file& operator=(const mapped_file&) = delete;
  ~mapped_file() {
    if (data_ != MAP_FAILED) ::munmap(data_, size_);
  }
  [[nodiscard]] std::string_view bytes() const {
    return data_ == MAP_FAILED ? std::string_view() : std::string_view(static_cast<const char*>(data_), size_);
  }

 private:
  void* data_ = MAP_FAILED;
  std::size_t size_ = 0;
};

// A part of a file, empty where the file is shorter than it says.
std::string_view part(std::string_view bytes, std::size_t offset, std::size_t size) {
  return offset <= bytes.size() && size <= bytes.size() - offset ? bytes.substr(offset, size) : std::string_view();
}

template <class T>
bool take(std::string_view bytes, std::size_t offset, T& value) {
  const std::string_view raw = part(bytes, offset, sizeof(T));
  if (raw.size() != sizeof(T)) return false;
  std::memcpy(&value, raw.data(), sizeof(T));
  return true;
}

struct elf_facts {
  bool understood = false;
  std::string interpreter;  // the dynamic linker; empty: statically linked
};

elf_facts read_elf(std::string_view bytes) {
  Elf64_Ehdr header{};
  if (!take(bytes, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_phentsize != sizeof(Elf64_Phdr)) {
    return {};
  }
  elf_facts facts{true, ""};
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    if (!take(bytes, header.e_phoff + i * sizeof(segment), segment)) return {};
    if (segment.p_type != PT_INTERP) continue;
    const std::string_view name = part(bytes, segment.p_offset, segment.p_filesz);
    facts.interpreter = name.substr(0, name.find('\0'));
    if (facts.interpreter.empty()) return {};
  }
  return facts;
}

// The output of a command, empty if it can't be started or fails.
std::string output_of(const char* const* words) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return "";
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int error = ::posix_spawn(&child, words[0], &actions, nullptr, const_cast<char* const*>(words), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  std::string text;
  for (char block[4096]; error == 0;) {
    const ssize_t got = ::read(ends[0], block, sizeof(block));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(block, static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  if (error != 0) return "";
  int status = 0;
  pid_t ended = 0;
  while ((ended = ::waitpid(child, &status, 0)) < 0 && errno == EINTR) {
  }
  return ended == child && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? text : "";
}

// The path behind "libtbb.so.12 => " in the linker's list; empty if it is not there.
std::string tbb_in(const std::string& list) {
  constexpr std::string_view key = "libtbb.so.12 => ";
  const std::size_t at = list.find(key);
  if (at == std::string::npos) return "";
  const std::size_t end = list.find('\n', at);
  const std::string path = list.substr(at + key.size(), end - at - key.size());
  const std::size_t address = path.rfind(" (0x");
  return address == std::string::npos ? path : path.substr(0, address);
}

// Whether the program imports a function that loads a library or starts a program: its name stands,
// with a zero byte on each side, in the table of dynamic symbols.
bool leads_on(std::string_view bytes) {
  for (const char* name : {"dlopen", "dlmopen", "execl", "execle", "execlp", "execv", "execve", "execvp", "execvpe",
                           "fexecve", "posix_spawn", "posix_spawnp", "system", "popen"}) {
    std::string entry(1, '\0');
    entry += name;
    entry += '\0';
    if (bytes.find(entry) != std::string_view::npos) return true;
  }
  return false;
}

// The same for the libraries that it is given: an interpreter is often a small program with a large library. The C
// library and the linker, which have these functions themselves, don't count.
bool libraries_lead_on(const std::string& list) {
  constexpr std::string_view arrow = " => ";
  for (std::size_t at = list.find(arrow); at != std::string::npos; at = list.find(arrow, at)) {
    at += arrow.size();
    const std::size_t end = std::min(list.find(" (0x", at), list.find('\n', at));
    const std::string path = list.substr(at, end == std::string::npos ? end : end - at);
    const std::string name = path.substr(path.rfind('/') + 1);
    const bool is_system = name.starts_with("libc.") || name.starts_with("ld-") || name.starts_with("libdl.") ||
                           name.starts_with("libpthread.");
    if (!is_system && leads_on(mapped_file(path).bytes())) return true;
  }
  return false;
}

}  // namespace

found_program find_program(const std::string& name) {
  const auto usable = [](const std::string& path) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) return errno == EACCES ? EACCES : ENOENT;
    return S_ISREG(info.st_mode) && ::access(path.c_str(), X_OK) == 0 ? 0 : EACCES;
  };
  if (name.empty()) return {"", ENOENT};
  if (name.find('/') != std::string::npos) {
    const int error = usable(name);
    return {error == 0 ? name : "", error};
  }
  const char* const variable = std::getenv("PATH");
  const std::string_view path = variable == nullptr ? "/usr/local/bin:/bin:/usr/bin" : variable;
  int worst = ENOENT;
  for (std::size_t start = 0; start <= path.size();) {
    const std::size_t end = std::min(path.find(':', start), path.size());
    std::string candidate(path.substr(start, end - start));
    if (!candidate.empty()) candidate += '/';
    candidate += name;
    const int error = usable(candidate);
    if (error == 0) return {candidate, 0};
    if (error == EACCES) worst = EACCES;
    start = end + 1;
  }
  return {"", worst};
}

std::string own_library() {
  std::error_code error;
  std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) {
    // Without /proc: the name by which the kernel started us, from the folder that was current then.
    const auto* const name = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
    if (name == nullptr) return "";
    self = std::filesystem::canonical(name, error);
    if (error) return "";
  }
  return (self.parent_path() / "../lib/homing/libtbb.so.12").lexically_normal().string();
}

bool gains_rights(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return false;
  return (info.st_mode & (S_ISUID | S_ISGID)) != 0 || ::getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
}

program_facts inspect(const std::string& path) {
  const mapped_file file(path);
  program_facts facts;
  facts.gains_rights = gains_rights(path);
  const elf_facts elf = read_elf(file.bytes());
  if (!elf.understood) return facts;
  if (elf.interpreter.empty()) {
    facts.links = linkage::fixed;
    return facts;
  }
  const char* const words[] = {elf.interpreter.c_str(), "--list", path.c_str(), nullptr};
  const std::string list = output_of(words);
  if (list.empty()) return facts;
  facts.tbb_path = tbb_in(list);
  if (!facts.tbb_path.empty()) {
    facts.links = linkage::with_tbb;
  } else if (list.find("libtbb_debug.so.12 => ") != std::string::npos) {
    facts.links = linkage::may_lead_to_tbb;  // ours has that name, too
  } else {
    facts.links = leads_on(file.bytes()) || libraries_lead_on(list) ? linkage::may_lead_to_tbb : linkage::without_tbb;
  }
  return facts;
}

}  // namespace homing::cli
