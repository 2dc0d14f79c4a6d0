#include "common/text.hpp"

#include <nlohmann/json.hpp>

namespace homing::cli {
namespace {

using nlohmann::ordered_json;

std::string dumped(const ordered_json& value, int indent) {
  return value.dump(indent, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace

std::string printable(const std::string& text) {
  const auto utf8 = ordered_json::parse(dumped(text, -1)).get<std::string>();
  std::string out;
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(utf8[at]); };
    const bool is_c1 = byte(i) == 0xC2 && byte(i + 1) < 0xA0;  // U+0080 to U+009F; it is UTF-8, so there is a next byte
    const bool is_control = byte(i) < 0x20 || byte(i) == 0x7F || is_c1;
    out += is_control ? '?' : utf8[i];
    if (is_c1) ++i;
  }
  return out;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : printable(text)) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + '"';
}

std::string xml_text(const std::string& text) {
  std::string out;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string json_text(const ordered_json& value, int indent) { return dumped(value, indent) + '\n'; }

}  // namespace homing::cli
