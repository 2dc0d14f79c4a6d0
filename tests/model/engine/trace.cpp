#include "engine/trace.hpp"

#include <cinttypes>
#include <cstdio>
#include <string_view>

namespace homing::model {
namespace {

const char* name_of(event::kind k) noexcept {
  static constexpr const char* names[] = {"load",        "store",       "update", "failed update", "fence",
                                          "light fence", "heavy fence", "pause",  "futex wait",    "futex returns",
                                          "futex wake",  "lock",        "unlock", "start",         "finish"};
  return names[static_cast<std::size_t>(k)];
}

/// Small numbers as such; the rest are addresses or flags.
std::string show(std::uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, value < 4096 ? "%" PRIu64 : "%#" PRIx64, value);
  return text;
}

std::string effect(const event& e) {
  const std::string where = "L" + std::to_string(e.where);
  const std::string from = e.from == 0 ? " of the start" : " of step " + std::to_string(e.from);
  switch (e.what) {
    case event::kind::load:
    case event::kind::failed_update:
      return where + " is " + show(e.read) + from;
    case event::kind::store:
      return where + " = " + show(e.written);
    case event::kind::update:
      return where + " is " + show(e.read) + from + ", = " + show(e.written);
    case event::kind::futex_wait:
    case event::kind::futex_return:
    case event::kind::futex_wake:
      return show(e.read);
    default:
      return "";
  }
}

bool has_order(event::kind k) noexcept { return k <= event::kind::fence; }

}  // namespace

const char* name_of(order o) noexcept {
  static constexpr const char* names[] = {"relaxed", "acquire", "release", "acq_rel", "seq_cst"};
  return names[static_cast<std::size_t>(o)];
}

std::string place(const std::source_location& at) {
  std::string_view file = at.file_name();
  for (const char* folder : {"/src/", "/include/", "/tests/"}) {
    if (const auto found = file.rfind(folder); found != std::string_view::npos) {
      file.remove_prefix(found + 1);
      break;
    }
  }
  return std::string(file) + ":" + std::to_string(at.line());
}

std::string trace::text() const {
  std::string all;
  std::uint32_t step = 0;
  for (const event& e : events_) {
    char line[200];
    std::snprintf(line, sizeof line, "  %4u  T%u  %-13s %-8s %-44s %s\n", ++step, unsigned{e.who}, name_of(e.what),
                  has_order(e.what) ? name_of(e.how) : "", effect(e).c_str(), place(e.at).c_str());
    all += line;
  }
  return all;
}

}  // namespace homing::model
