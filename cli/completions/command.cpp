/// `homing completions`: what a shell needs to complete our words, made of the same descriptions as --help.
#include <algorithm>
#include <cstdio>

#include "common/page.hpp"
#include "common/parse.hpp"

namespace homing::cli {
namespace {

struct described {
  const subcommand* command;
  command_page page;
};

// Of `homing experiment`, which is a program of its own; a test compares them with its help.
constexpr const char* experiment_words = "run status analyse report";

std::vector<described> all_pages() {
  std::vector<described> result;
  std::vector<std::string> names;
  for (const subcommand& s : subcommands()) {
    result.push_back({&s, page_of(s)});
    names.emplace_back(s.name);
  }
  for (described& d : result) {
    if (d.page.name != "homing manual") continue;
    for (option_page& option : d.page.options) {
      if (option.names.empty()) option.choices = names;  // whose page
    }
  }
  return result;
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size()) {
    text.replace(at, what.size(), with);
  }
  return text;
}

// What comes first in a description, without the marks that end a part of zsh's.
std::string short_text(const std::string& text) {
  std::string line = replaced(text, "\n", " ");
  for (const char* end : {";", ":", " (", ". "}) line = line.substr(0, line.find(end));
  for (const char* mark : {"\"", "[", "]", "\\", "`", "$"}) line = replaced(line, mark, "");
  return line;
}

// Between single quotes, as zsh and fish read it.
std::string in_quotes(const std::string& text) { return "'" + replaced(text, "'", "'\\''") + "'"; }

std::string joined(const std::vector<std::string>& words, const char* between) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : between) + word;
  return out;
}

// --- bash: a function that looks at the words so far

constexpr const char* bash_head = R"(# Completions of homing for bash, made by `homing completions bash`.
_homing() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} options= i
  COMPREPLY=()
  # bash takes --name=value apart at the sign
  if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi
  if ((COMP_CWORD == 1)) || [[ $COMP_CWORD == 2 && ${COMP_WORDS[1]} == help ]]; then
    COMPREPLY=($(compgen -W "@subcommands@" -- "$cur"))
    COMPREPLY+=($(compgen -c homing- | sed 's/^homing-//' | grep -e "^$cur" | sort -u))
    ((COMP_CWORD > 1)) || COMPREPLY+=($(compgen -W "help --help --version" -- "$cur"))
    return
  fi
  # after -- or PROGRAM, its own words
  if [[ ${COMP_WORDS[1]} == run || ${COMP_WORDS[1]} == where || ${COMP_WORDS[1]} == lab ]]; then
    for ((i = 2; i < COMP_CWORD; i++)); do
      if [[ ${COMP_WORDS[i]} == -- ]]; then
        if declare -F _command_offset >/dev/null; then
          _command_offset $((i + 1))
        else
          COMPREPLY=($(compgen -cf -- "$cur"))
        fi
        return
      fi
    done
  fi
  # the lab knows its own words
  if [[ ${COMP_WORDS[1]} == lab ]]; then
    local before=()
    for ((i = 2; i < COMP_CWORD; i++)); do [[ ${COMP_WORDS[i]} == = ]] || before+=("${COMP_WORDS[i]}"); done
    COMPREPLY=($("${COMP_WORDS[0]}" lab complete -- "${before[@]}" "$cur" 2>/dev/null))
    ((${#COMPREPLY[@]})) || COMPREPLY=($(compgen -f -- "$cur"))
    return
  fi
  case ${COMP_WORDS[1]} in
)";
constexpr const char* bash_tail = R"(  esac
  if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W "$options" -- "$cur")); else COMPREPLY=($(compgen -f -- "$cur")); fi
}
complete -o default -F _homing homing
)";

std::string bash(const std::vector<described>& pages) {
  std::vector<std::string> names;
  std::string cases;
  for (const described& d : pages) {
    names.emplace_back(d.command->name);
    std::vector<std::string> options;
    std::string values;
    for (const option_page& option : d.page.options) {
      options.insert(options.end(), option.names.begin(), option.names.end());
      if (option.choices.empty()) continue;
      const std::string words = "COMPREPLY=($(compgen -W \"" + joined(option.choices, " ") + "\" -- \"$cur\")); return";
      if (option.names.empty()) {
        values += "      if [[ $COMP_CWORD == 2 && $cur != -* ]]; then " + words + "; fi\n";
      } else {
        values += "      case $prev in " + joined(option.names, "|") + ") " + words + " ;; esac\n";
      }
    }
    cases +=
        std::string("    ") + d.command->name + ")\n" + values + "      options=\"" + joined(options, " ") + "\" ;;\n";
  }
  cases +=
      std::string("    experiment)\n      if [[ $COMP_CWORD == 2 && $cur != -* ]]; then COMPREPLY=($(compgen -W \"") +
      experiment_words + "\" -- \"$cur\")); return; fi\n      options=--help ;;\n";
  names.emplace_back("lab");
  names.emplace_back("experiment");
  return replaced(bash_head, "@subcommands@", joined(names, " ")) + cases + bash_tail;
}

// --- zsh: _arguments for each subcommand

std::string zsh_value(const option_page& option) {
  if (!option.choices.empty()) return ":value:(" + joined(option.choices, " ") + ")";
  if (option.value.empty()) return "";
  return ":" + option.value + ":_files";
}

std::string zsh(const std::vector<described>& pages) {
  std::string out =
      "#compdef homing\n# Completions of homing for zsh, made by `homing completions zsh`.\n_homing() {\n"
      "  if ((CURRENT == 2)) || [[ $CURRENT == 3 && $words[2] == help ]]; then\n    local -a names=(\n";
  for (const described& d : pages)
    out += "      " + in_quotes(std::string(d.command->name) + ":" + short_text(d.command->purpose)) + "\n";
  out += std::string("      'lab:") + lab_purpose + "'\n";
  out += std::string("      'experiment:") + experiment_purpose + "'\n";
  out +=
      "      'help:print a summary, or that of a subcommand'\n    )\n    _describe subcommand names\n    _arguments "
      "'--help[print a summary]' '--version[print the version]'\n"
      "    return\n  fi\n  shift words\n  ((CURRENT--))\n  case $words[1] in\n";
  for (const described& d : pages) {
    out += std::string("    ") + d.command->name + ")\n      _arguments -s";
    for (const option_page& option : d.page.options) {
      if (option.names.empty()) {
        out += " \\\n        '1" + zsh_value(option) + "'";
        continue;
      }
      for (const std::string& name : option.names) {
        const bool is_long = name.starts_with("--");
        const std::string sign = option.value.empty() ? "" : option.value_is_joined ? "=-" : is_long ? "=" : "";
        out += " \\\n        " + in_quotes(name + sign + "[" + short_text(option.text) + "]" +
                                           (option.value_is_joined ? "::FILE:_files" : zsh_value(option)));
      }
    }
    const std::string name = d.command->name;
    if (name == "run" || name == "where") out += " \\\n        '*::program:_normal'";
    out += " ;;\n";
  }
  out +=
      "    lab)\n      local -a found=(${(f)\"$(homing lab complete -- \"${(@)words[2,CURRENT]}\" 2>/dev/null)\"})\n"
      "      if (($#found)); then compadd -- $found; else _files; fi ;;\n";
  out += std::string("    experiment)\n      if ((CURRENT == 2)); then compadd -- ") + experiment_words +
         "; else _files; fi ;;\n";
  return out + "    *) _files ;;\n  esac\n}\n_homing \"$@\"\n";
}

// --- fish: a line an option

std::string fish(const std::vector<described>& pages) {
  std::string out = "# Completions of homing for fish, made by `homing completions fish`.\n";
  for (const described& d : pages) {
    out += std::string("complete -c homing -n __fish_use_subcommand -f -a ") + d.command->name + " -d " +
           in_quotes(short_text(d.command->purpose)) + "\n";
  }
  out += std::string("complete -c homing -n __fish_use_subcommand -f -a lab -d '") + lab_purpose + "'\n";
  out += std::string("complete -c homing -n __fish_use_subcommand -f -a experiment -d '") + experiment_purpose + "'\n";
  std::string names;
  for (const described& d : pages) names += std::string(d.command->name) + ' ';
  out +=
      "complete -c homing -n __fish_use_subcommand -f -a help -d 'print a summary, or that of a subcommand'\n"
      "complete -c homing -n '__fish_seen_subcommand_from help' -f -a '" +
      names + "lab experiment'\n";
  out +=
      "complete -c homing -n '__fish_seen_subcommand_from lab' -a '(set -l said (commandline -opc) (commandline -ct); "
      "homing lab complete -- $said[3..] 2>/dev/null)'\n";
  out += std::string(
             "complete -c homing -n '__fish_seen_subcommand_from experiment; and not __fish_seen_subcommand_from ") +
         experiment_words + "' -f -a '" + experiment_words + "'\n";
  for (const described& d : pages) {
    for (const option_page& option : d.page.options) {
      if (option.names.empty() && option.choices.empty()) continue;  // a file, or a program
      out += std::string(
                 "complete -c homing -n 'not __fish_seen_subcommand_from lab experiment; and "
                 "__fish_seen_subcommand_from ") +
             d.command->name + "'";
      for (const std::string& name : option.names) {
        out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (!option.choices.empty()) {
        out += (option.names.empty() ? " -f -a '" : " -x -a '") + joined(option.choices, " ") + "'";
      } else if (!option.value.empty() && !option.value_is_joined && !option.names.empty()) {
        out += " -r";
      }
      out += " -d " + in_quotes(short_text(option.text)) + "\n";
    }
  }
  return out;
}

}  // namespace

int completions_command(const arguments& args) {
  CLI::App app(
      "Prints the completions of a shell. `make install` puts them where the shells look by themselves;\n"
      "without it, load them in the shell's start-up file as the examples do.",
      "homing completions");
  std::string shell;
  app.add_option("shell", shell, "whose")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  shape_help(app, "homing completions bash|zsh|fish",
             "  source <(homing completions bash)\n"
             "  homing completions zsh > ~/.zfunc/_homing\n"
             "  homing completions fish > ~/.config/fish/completions/homing.fish");
  int result = exit_ok;
  if (!parse(app, args, exit_usage, result)) return result;
  const std::vector<described> pages = all_pages();
  const std::string out = shell == "bash" ? bash(pages) : shell == "zsh" ? zsh(pages) : fish(pages);
  std::fputs(out.c_str(), stdout);
  return exit_ok;
}

}  // namespace homing::cli
