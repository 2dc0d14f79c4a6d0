/// The table of our variables, and the distance of a name to it.
#include "platform/known_variables.hpp"

#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "platform/env.hpp"

namespace homing::platform {
namespace {

constexpr std::string_view prefix = "HOMING_";
constexpr std::string_view of_tests = "HOMING_TEST_";

// tests/tidy/variables.py holds it against what the tree reads.
constexpr std::string_view known[] = {
    // the libraries
    "HOMING_DOMAIN", "HOMING_MAILBOX_IDLE", "HOMING_PIN_MASTERS", "HOMING_REPORT", "HOMING_STEAL", "HOMING_THREADS",
    "HOMING_TOPOLOGY", "HOMING_TRACE",
    // experiments
    "HOMING_EXPERIMENT_BUILD", "HOMING_EXPERIMENT_PYTHON", "HOMING_EXPERIMENT_VENV",
    // the lab
    "HOMING_LAB_BUILD", "HOMING_LAB_CACHE_MIB", "HOMING_LAB_GUEST_BUILD", "HOMING_LAB_KERNEL", "HOMING_LAB_MACHINES",
    "HOMING_LAB_PYTHON", "HOMING_LAB_TBB", "HOMING_LAB_VENV",
    // the build
    "HOMING_VENV"};

constexpr std::size_t name_bytes_max = 40;  // longer names are near none

// Letters to add, remove or replace (Levenshtein 1966), one row at a time.
std::size_t distance(std::string_view a, std::string_view b) noexcept {
  std::size_t row[name_bytes_max + 1];
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

void look_at(std::string_view entry) noexcept {
  if (!entry.starts_with(prefix)) return;
  const std::string_view name = entry.substr(0, entry.find('='));
  if (is_known_variable(name)) return;
  const std::string_view nearest = nearest_variable(name);
  if (nearest.empty()) {
    warn("%s is not a variable of Homing, and has no effect", printable(name).c_str());
  } else {
    warn("%s is not a variable of Homing, and has no effect: the nearest is %s", printable(name).c_str(),
         printable(nearest).c_str());
  }
}

}  // namespace

bool is_known_variable(std::string_view name) noexcept {
  return name.starts_with(of_tests) || std::find(std::begin(known), std::end(known), name) != std::end(known);
}

std::string_view nearest_variable(std::string_view name) noexcept {
  if (name.size() > name_bytes_max) return {};
  std::string_view nearest;
  std::size_t least = 1 + (name.size() - std::min(name.size(), prefix.size())) / 2;  // half of its own letters
  for (const std::string_view candidate : known) {
    const std::size_t letters = distance(name, candidate);
    if (letters >= least) continue;
    least = letters;
    nearest = candidate;
  }
  return nearest;
}

void warn_of_unknown_variables() noexcept {
  static const bool looked = [] {
    if (::getauxval(AT_SECURE) != 0 || environ == nullptr) return false;
    for (const char* const* entry = environ; *entry != nullptr; ++entry) look_at(*entry);
    return true;
  }();
  static_cast<void>(looked);
}

}  // namespace homing::platform
