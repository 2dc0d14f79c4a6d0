/// CLI11 behind one call, with our exit codes.
#include "common/parse.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <utility>

#include "common/page.hpp"
#include "common/text.hpp"

namespace homing::cli {
namespace {

class help_format : public CLI::Formatter {
 public:
  help_format(std::string usage, std::string examples, std::string exit_codes)
      : usage_(std::move(usage)), examples_(std::move(examples)), exit_codes_(std::move(exit_codes)) {}
  std::string make_usage(const CLI::App*, std::string) const override { return "\nUsage: " + usage_ + '\n'; }
  [[nodiscard]] const std::string& usage() const { return usage_; }
  [[nodiscard]] const std::string& examples() const { return examples_; }
  [[nodiscard]] const std::string& exit_codes() const { return exit_codes_; }

 private:
  std::string usage_;
  std::string examples_;
  std::string exit_codes_;
};

// Where the next call of parse() leaves the description instead of reading words.
command_page* page_wanted = nullptr;

// CLI11 writes the choices of CLI::IsMember as "TEXT:{a,b}".
std::vector<std::string> choices_of(const std::string& type) {
  std::vector<std::string> result;
  const std::size_t open = type.find('{');
  const std::size_t close = type.rfind('}');
  if (open == std::string::npos || close == std::string::npos) return result;
  for (std::size_t start = open + 1; start < close;) {
    const std::size_t end = std::min(type.find(',', start), close);
    result.push_back(type.substr(start, end - start));
    start = end + 1;
  }
  return result;
}

option_page option_of(const CLI::Option& option) {
  option_page page;
  for (const std::string& name : option.get_snames()) page.names.push_back('-' + name);
  for (const std::string& name : option.get_lnames()) page.names.push_back("--" + name);
  page.text = option.get_description();
  page.choices = choices_of(option.get_type_name());
  const bool is_flag = option.get_expected_max() == 0 || option.get_items_expected_max() == 0;
  if (!is_flag || page.names.empty()) {
    page.value = option.get_type_name().substr(0, option.get_type_name().find(':'));
    if (page.names.empty()) page.value = option.get_name(true);
    if (page.value.empty()) page.value = "TEXT";
    std::transform(page.value.begin(), page.value.end(), page.value.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  }
  // "--report=FILE: ..." in a flag's description says that it takes a value all the same.
  if (is_flag && !page.names.empty()) {
    const std::string sign = page.names.back() + '=';
    const std::size_t at = page.text.find(sign);
    page.value_is_joined = at != std::string::npos;
    if (page.value_is_joined)
      page.value = page.text.substr(at + sign.size(), page.text.find(':', at) - at - sign.size());
  }
  return page;
}

// An empty value would count as none, and the program would run as if nothing had been asked for. Empty: none has one.
// Of the words, since a flag with an empty value (--report=) reads as one without.
std::string option_with_empty_value(const CLI::App& app, const arguments& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t sign = std::min(words[i].find('='), words[i].size());
    const std::string name = words[i].substr(0, sign);
    const CLI::Option* const option = name.starts_with('-') ? app.get_option_no_throw(name) : nullptr;
    if (option == nullptr) continue;
    const bool is_empty =
        sign + 1 == words[i].size() ||  // --report=
        (sign == words[i].size() && option->get_expected_max() > 0 && i + 1 < words.size() && words[i + 1].empty());
    if (is_empty) return option->get_name(false, false);
  }
  return "";
}

}  // namespace

bool parse(CLI::App& app, arguments args, int usage, int& result) {
  if (page_wanted != nullptr) {
    const auto* const format = dynamic_cast<const help_format*>(app.get_formatter().get());
    if (format == nullptr) throw std::logic_error(app.get_name() + ": shape_help() was not called");
    *page_wanted = {app.get_name(),     app.get_description(), format->usage(),
                    format->examples(), format->exit_codes(),  {}};
    for (const CLI::Option* option : app.get_options()) page_wanted->options.push_back(option_of(*option));
    page_wanted = nullptr;
    return false;
  }
  if (const std::string option = option_with_empty_value(app, args); !option.empty()) {
    complain(option + ": its value is empty, perhaps that of a shell variable that is not set; give one, or leave " +
             option + " out (see " + app.get_name() + " --help)");
    result = usage;
    return false;
  }
  std::reverse(args.begin(), args.end());  // CLI11 takes them from the back
  try {
    app.parse(std::move(args));
    return true;
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    result = exit_ok;
  } catch (const CLI::ParseError& error) {
    complain(std::string(error.what()) + " (see " + app.get_name() + " --help)");
    result = usage;
  }
  return false;
}

command_page page_of(const subcommand& command) {
  command_page page;
  page_wanted = &page;
  command.call({});
  page_wanted = nullptr;
  return page;
}

void shape_help(CLI::App& app, const std::string& usage, const std::string& examples, const std::string& exit_codes) {
  app.formatter(std::make_shared<help_format>(usage, examples, exit_codes));
  app.footer("Examples:\n" + examples + "\n\nExit codes:\n" + exit_codes);
}

void complain(const std::string& text) {
  std::string shown = "homing: ";
  for (std::size_t start = 0; start <= text.size();) {  // a message may have several lines
    const std::size_t end = std::min(text.find('\n', start), text.size());
    shown += printable(text.substr(start, end - start)) + '\n';
    start = end + 1;
  }
  std::fputs(shown.c_str(), stderr);
}

}  // namespace homing::cli
