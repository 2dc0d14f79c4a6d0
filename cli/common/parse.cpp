/// CLI11 behind one call, with our exit codes.
#include "common/parse.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
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

// The option that a word names, with a value behind a sign = or without.
const CLI::Option* named_by(const CLI::App& app, const std::string& word) {
  return word.starts_with('-') ? app.get_option_no_throw(word.substr(0, word.find('='))) : nullptr;
}

bool has_empty_part(const std::string& list, char between) {
  return list.front() == between || list.back() == between || list.find(std::string(2, between)) != std::string::npos;
}

// What is wrong with a value; empty: nothing that is seen without knowing what it is for. An empty one would count as
// none, as would an empty part of a list, and the command would do as if nothing had been asked for.
std::string problem_of_value(const CLI::Option& option, const std::string& value) {
  const std::string name = option.get_name(false, false);
  if (value.empty()) {
    return name + ": its value is empty, perhaps that of a shell variable that is not set; give one, or leave " + name +
           " out";
  }
  const char comma = option.get_delimiter();
  if (comma == '\0' || !has_empty_part(value, comma)) return "";
  return name + ' ' + value +
         ": a name in this list is empty; expected one comma between two names, and none at an end";
}

// The same of an option's value in the next word, which CLI11 would take whatever it is.
std::string problem_of_next(const CLI::App& app, const CLI::Option& option, const std::string& next) {
  if (next != "--" && named_by(app, next) == nullptr) return problem_of_value(option, next);
  const std::string name = option.get_name(false, false);
  return name + ": expected its value, and found " + next + "; give one, or write " + name + '=' + next +
         " if that is it";
}

// What options were given, and whether with a value.
using given_options = std::map<const CLI::Option*, bool>;

// An option that is given again takes the place of the first, whose value would be lost in silence. Lists have both.
std::string problem_of_repeat(given_options& given, const CLI::Option& option, bool has_value) {
  const auto [before, is_first] = given.try_emplace(&option, has_value);
  if (is_first || (!before->second && !has_value) || option.get_expected_max() > 1) return "";
  return option.get_name(false, false) + ": given twice, and only one of the two would count; give it once";
}

// Of the words, since CLI11 reads a flag with an empty value (--report=) as one without. Empty: nothing is wrong.
std::string problem_of_words(const CLI::App& app, const arguments& words) {
  // The option whose list goes on until the next option, since CLI11 lets it have further words: `--kernel copy triad`.
  const CLI::Option* list = nullptr;  // --kernel of `homing bandwidth` is the only one
  given_options given;
  std::string problem;
  for (std::size_t i = 0; problem.empty() && i < words.size() && words[i] != "--"; ++i) {
    const CLI::Option* const option = named_by(app, words[i]);
    const std::size_t sign = words[i].find('=');
    if (option == nullptr) {
      if (list != nullptr) {
        problem = problem_of_value(*list, words[i]);
      } else if (words[i].empty()) {
        problem = empty_word;
      }
      continue;
    }
    list = option->get_delimiter() != '\0' ? option : nullptr;
    const bool takes_next = sign == std::string::npos && option->get_items_expected_max() > 0;
    if (sign != std::string::npos) {
      problem = problem_of_value(*option, words[i].substr(sign + 1));
    } else if (takes_next && i + 1 < words.size()) {
      problem = problem_of_next(app, *option, words[++i]);
    }
    if (problem.empty()) problem = problem_of_repeat(given, *option, sign != std::string::npos || takes_next);
  }
  return problem;
}

// CLI11 names them from the last to the first.
std::string unexpected(const std::vector<std::string>& words) {
  std::string text =
      words.size() > 1 ? "The following arguments were not expected:" : "The following argument was not expected:";
  for (const std::string& word : words) text += ' ' + word;
  return text;
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
  if (const std::string problem = problem_of_words(app, args); !problem.empty()) {
    complain(problem + " (see " + app.get_name() + " --help)");
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
  } catch (const CLI::ExtrasError&) {
    complain(unexpected(app.remaining()) + " (see " + app.get_name() + " --help)");
    result = usage;
  } catch (const CLI::ParseError& error) {
    complain(std::string(error.what()) + " (see " + app.get_name() + " --help)");
    result = usage;
  }
  return false;
}

std::optional<std::string> joined_value(const arguments& words, const std::string& flag) {
  const std::string begin = flag + '=';
  const auto found = std::find_if(words.begin(), words.end(), [&](const auto& w) { return w.starts_with(begin); });
  if (found == words.end()) return std::nullopt;
  return found->substr(begin.size());
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
