/// What can be told of a program before it runs: where it is, and which libtbb.so.12 it would get.
#pragma once

#include <string>

namespace homing::cli {

struct found_program {
  std::string path;      ///< empty: not found or not executable
  int error_number = 0;  ///< ENOENT or EACCES if `path` is empty
};

/// As execvp(3) looks: a name with a slash is a path, another is searched on PATH.
[[nodiscard]] found_program find_program(const std::string& name);

enum class linkage {
  unknown,      ///< a script, or not a 64-bit ELF file: no opinion
  fixed,        ///< statically linked: no library can be chosen
  with_tbb,     ///< the dynamic linker gives it a libtbb.so.12: `tbb_path`
  without_tbb,  ///< it is given none, and can neither load one later nor start another program
  may_lead_to_tbb  ///< it is given none, but loads libraries or starts programs (Python, a shell ...), or has the debug one
};

struct program_facts {
  linkage links = linkage::unknown;
  std::string tbb_path{};     ///< the libtbb.so.12 that it would get with the present environment
  bool gains_rights = false;  ///< the linker ignores LD_LIBRARY_PATH
};

/// Whether the program's file gives it rights that its caller may lack: set-user-ID, set-group-ID, or capabilities.
[[nodiscard]] bool gains_rights(const std::string& path);

/// Reads the file and asks its dynamic linker (which does not start the program).
/// Errors: what can't be found out is `unknown`.
[[nodiscard]] program_facts inspect(const std::string& path);

/// Our libtbb.so.12, beside this command: <its folder>/../lib/homing, in the build tree and where it was installed.
/// Empty if nobody can say where this command is.
[[nodiscard]] std::string own_library();

}  // namespace homing::cli
