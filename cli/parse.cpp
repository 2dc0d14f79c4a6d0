/// CLI11 behind one call, with our exit codes.
#include "parse.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

namespace homing::cli {
namespace {

class help_format : public CLI::Formatter {
 public:
  explicit help_format(std::string usage) : usage_(std::move(usage)) {}
  std::string make_usage(const CLI::App*, std::string) const override { return usage_; }

 private:
  std::string usage_;
};

}  // namespace

bool parse(CLI::App& app, arguments args, int usage, int& result) {
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

void shape_help(CLI::App& app, const std::string& usage, const std::string& examples) {
  app.formatter(std::make_shared<help_format>("\nUsage: " + usage + '\n'));
  app.footer("Examples:\n" + examples);
}

void complain(const std::string& text) { std::fprintf(stderr, "homing: %s\n", text.c_str()); }

}  // namespace homing::cli
