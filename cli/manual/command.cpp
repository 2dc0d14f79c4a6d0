/// `homing manual`: manual pages in roff, made of the same descriptions as --help.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <stdexcept>

#include <homing/version.hpp>

#include "common/measure_options.hpp"
#include "common/page.hpp"
#include "common/parse.hpp"

namespace homing::cli {
namespace {

// Text as roff takes it literally.
std::string literal(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

// Lines without the indentation that the help gives them.
std::string flush_left(const std::string& text) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    line.erase(0, line.find_first_not_of(' '));
    if (!line.empty()) out += line + '\n';
  }
  return out;
}

// Running text in lines as roff's sources have them.
std::string filled(const std::string& text) {
  constexpr std::size_t line_length = 72;
  std::istringstream words(text);
  std::string out;
  std::size_t length = 0;
  for (std::string word; words >> word; length += word.size() + 1) {
    if (length > 0 && length + word.size() > line_length) length = 0;
    if (!out.empty()) out += length == 0 ? '\n' : ' ';
    out += word;
  }
  return out + '\n';
}

std::string head(const std::string& name, const std::string& purpose) {
  std::string title = name;
  std::transform(title.begin(), title.end(), title.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return ".\\\" Made by `homing manual`, of the descriptions in the command itself.\n.TH " + literal(title) +
         " 1 \"\" \"homing " + homing::version() + "\" \"Homing\"\n.SH NAME\n" + literal(name) + " \\- " +
         literal(purpose) + '\n';
}

std::string section(const char* name, const std::string& text) {
  return text.empty() ? "" : std::string(".SH ") + name + '\n' + text;
}

std::string example_block(const std::string& text) { return ".nf\n" + literal(flush_left(text)) + ".fi\n"; }

std::string option_entry(const option_page& option) {
  std::string out = ".TP\n";
  for (std::size_t i = 0; i < option.names.size(); ++i)
    out += (i > 0 ? ", " : "") + ("\\fB" + literal(option.names[i]) + "\\fR");
  std::string value = option.value;
  if (!option.choices.empty()) {
    value.clear();
    for (const std::string& choice : option.choices) value += (value.empty() ? "" : "|") + choice;
  }
  if (!value.empty()) {
    const std::string shown = "\\fI" + literal(value) + "\\fR";
    out += option.value_is_joined ? "[=" + shown + "]" : (option.names.empty() ? "" : " ") + shown;
  }
  return out + '\n' + literal(filled(option.text));
}

// "  1    it failed" becomes an entry of its own; a line without a number in front goes on with the last.
std::string exit_entries(const std::string& text) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t start = line.find_first_not_of(' ');
    if (start == std::string::npos) continue;
    const std::size_t end = line.find("  ", start);
    if (start <= 2 && end != std::string::npos) {
      out += ".TP\n\\fB" + literal(line.substr(start, end - start)) + "\\fR\n";
      line.erase(0, end);
    }
    out += literal(flush_left(line));
  }
  return out;
}

std::string see_also(const std::string& self) {
  std::vector<std::string> names{"homing"};
  for (const subcommand& s : subcommands()) names.push_back(std::string("homing-") + s.name);
  std::erase(names, self);
  std::string out;
  for (const std::string& name : names) {
    out += ".BR " + literal(name) + (&name == &names.back() ? " (1)\n" : " (1),\n");
  }
  return out;
}

std::string page_for(const subcommand& command) {
  const command_page page = page_of(command);
  std::string options;
  for (const option_page& option : page.options) options += option_entry(option);
  return head(std::string("homing-") + command.name, command.purpose) + section("SYNOPSIS", example_block(page.usage)) +
         section("DESCRIPTION", literal(filled(page.description))) + section("OPTIONS", options) +
         section("EXIT STATUS", exit_entries(page.exit_codes)) + section("EXAMPLES", example_block(page.examples)) +
         section("SEE ALSO", see_also(std::string("homing-") + command.name));
}

std::string front_page() {
  std::string entries;
  for (const subcommand& s : subcommands()) {
    entries += std::string(".TP\n\\fB") + literal(s.name) + "\\fR\n" + literal(s.purpose) + '\n';
  }
  return head("homing", "see the NUMA machine, and run programs on a NUMA-aware libtbb.so.12") +
         section("SYNOPSIS", ".B homing\n.I subcommand\n[\\fIwords\\fR ...]\n") +
         section("DESCRIPTION",
                 literal(filled("Homing is TBB that knows where your data lives. This command shows the machine as a "
                                "program on it would see it, and runs programs on Homing's libtbb.so.12 without "
                                "building them again. A subcommand that is not listed here is the program homing-X "
                                "on PATH."))) +
         section("SUBCOMMANDS", entries) +
         section("OPTIONS",
                 ".TP\n\\fB\\-\\-help\\fR\nprint a summary; each subcommand has its own, and \\fBhoming help\\fR "
                 "\\fIX\\fR prints that of X\n"
                 ".TP\n\\fB\\-\\-version\\fR\nprint the version\n") +
         section("EXIT STATUS", exit_entries(usual_exit_codes) +
                                    ".PP\n\\fBhoming run\\fR gives the exit code of the program that it ran.\n") +
         section("SEE ALSO", see_also("homing"));
}

bool write_page(const std::filesystem::path& folder, const std::string& name, const std::string& text) {
  const std::filesystem::path path = folder / (name + ".1");
  try {
    output_file(path.string()).write(text);
    return true;
  } catch (const std::runtime_error& error) {
    complain(error.what());
    return false;
  }
}

}  // namespace

int manual_command(const arguments& args) {
  CLI::App app(
      "Prints a manual page in roff: that of a subcommand, or without one that of the command itself.\n"
      "They are installed under share/man, so that man homing-topology finds them.",
      "homing manual");
  std::string name;
  std::string folder;
  app.add_option("subcommand", name, "topology, run ...");
  app.add_option("--folder", folder, "write all pages into this folder, as homing.1, homing-topology.1 ...");
  shape_help(app, "homing manual [SUBCOMMAND] | --folder FOLDER",
             "  homing manual topology | man -l -\n"
             "  homing manual --folder man1");
  int result = exit_ok;
  if (!parse(app, args, exit_usage, result)) return result;
  if (!folder.empty()) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    bool all = write_page(folder, "homing", front_page());
    for (const subcommand& s : subcommands()) {
      all = write_page(folder, std::string("homing-") + s.name, page_for(s)) && all;
    }
    return all ? exit_ok : exit_failure;
  }
  if (name.empty()) {
    std::fputs(front_page().c_str(), stdout);
    return exit_ok;
  }
  for (const subcommand& s : subcommands()) {
    if (name != s.name) continue;
    std::fputs(page_for(s).c_str(), stdout);
    return exit_ok;
  }
  complain("no manual page for " + name + ": it is no subcommand of ours (see homing --help)");
  return exit_usage;
}

}  // namespace homing::cli
