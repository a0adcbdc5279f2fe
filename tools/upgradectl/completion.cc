// Generates the completion scripts and the manual page from the definition of the command line, so that they always
// match.
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "CLI/CLI.hpp"
#include "driverupgrade/version.h"
#include "fmt/format.h"
#include "upgradectl/verbs.h"

namespace upgradectl {
namespace {

// Adds the options of a verb, including the options in its groups. Omits hidden options, which have no group name.
void Collect(const CLI::App& app, std::vector<const CLI::Option*>& options) {
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_group().empty()) options.push_back(option);
  }
  for (const CLI::App* group : app.get_subcommands([](const CLI::App* sub) { return sub->get_name().empty(); })) {
    Collect(*group, options);
  }
}

struct Verb {
  std::string name = {};
  std::string what = {};
  std::string footer = {};
  std::vector<const CLI::Option*> options = {};
};

std::vector<Verb> VerbsOf(const CLI::App& app) {
  std::vector<Verb> verbs;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App* each) { return !each->get_name().empty(); })) {
    Verb verb{.name = sub->get_name(), .what = sub->get_description(), .footer = sub->get_footer()};
    Collect(*sub, verb.options);
    verbs.push_back(std::move(verb));
  }
  return verbs;
}

std::string Replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string LongNames(const Verb& verb) {
  std::string names;
  for (const CLI::Option* option : verb.options) {
    for (const std::string& name : option->get_lnames()) names += fmt::format("{}--{}", names.empty() ? "" : " ", name);
  }
  return names;
}

std::string Names(const std::vector<Verb>& verbs) {
  std::string names;
  for (const Verb& verb : verbs) names += (names.empty() ? "" : " ") + verb.name;
  return names;
}

// Returns one `case` branch per verb, in the syntax of bash and zsh. A branch sets `words` to the verb's option names.
std::string Cases(const std::vector<Verb>& verbs) {
  std::string text;
  for (const Verb& verb : verbs) text += fmt::format("    {}) words=\"{}\" ;;\n", verb.name, LongNames(verb));
  return text;
}

std::string Bash(const std::vector<Verb>& verbs) {
  return fmt::format(R"(_upgradectl() {{
  local words=""
  case "${{COMP_WORDS[1]}}" in
{}  esac
  if [ "$COMP_CWORD" -eq 1 ]; then words="{}"; fi
  COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _upgradectl upgradectl kubectl-driverupgrade
)",
                     Cases(verbs), Names(verbs));
}

// Uses the variable name `candidates`, because $words contains the words of the line in zsh.
std::string Zsh(const std::vector<Verb>& verbs) {
  return fmt::format(R"(#compdef upgradectl kubectl-driverupgrade
_upgradectl() {{
  local candidates=""
  case "$words[2]" in
{}  esac
  if (( CURRENT == 2 )); then candidates="{}"; fi
  compadd -- ${{=candidates}}
  if (( CURRENT > 2 )); then _files; fi
}}
# As a file of fpath, the first TAB runs all of it as the function; sourced, it only tells zsh of the function.
if [ "$funcstack[1]" = "_upgradectl" ]; then
  _upgradectl "$@"
else
  compdef _upgradectl upgradectl kubectl-driverupgrade
fi
)",
                     Replaced(Cases(verbs), ") words=", ") candidates="), Names(verbs));
}

// kubectl runs the script with the words after `driverupgrade`, the last of which the user is still typing. kubectl
// expects one candidate per line, and then a directive. Directive 0 offers files if there are no candidates.
std::string Kubectl(const std::vector<Verb>& verbs) {
  return fmt::format(R"(#!/bin/sh
words=""
case "$1" in
{}esac
if [ $# -le 1 ]; then words="{}"; fi
typed=""
for typed; do :; done
for word in $words; do
  case "$word" in "$typed"*) echo "$word" ;; esac
done
echo ":0"
)",
                     Cases(verbs), Names(verbs));
}

std::string Fish(const std::vector<Verb>& verbs) {
  std::string text;
  const auto quoted = [](const std::string& what) { return Replaced(what, "'", "\\'"); };
  for (const char* program : {"upgradectl", "kubectl-driverupgrade"}) {
    for (const Verb& verb : verbs) {
      text += fmt::format("complete -c {} -f -n __fish_use_subcommand -a {} -d '{}'\n", program, verb.name,
                          quoted(verb.what));
      for (const CLI::Option* option : verb.options) {
        for (const std::string& name : option->get_lnames()) {
          text += fmt::format("complete -c {} -n '__fish_seen_subcommand_from {}' -l {} -d '{}'\n", program, verb.name,
                              name, quoted(option->get_description()));
        }
      }
    }
  }
  return text;
}

std::string Manual(const std::string& description, const std::vector<Verb>& verbs) {
  // In roff, a line that starts with a dot or a quote is a command, and a hyphen would be typeset.
  const auto plain = [](const std::string& text) {
    return Replaced(Replaced(Replaced(text, "\\", "\\e"), "-", "\\-"), "\n", "\n.br\n");
  };
  std::string text = fmt::format(
      ".TH UPGRADECTL 1 \"\" \"driverupgrade {}\"\n.SH NAME\nupgradectl \\- driver upgrades of a Kubernetes cluster\n"
      ".SH SYNOPSIS\n.B upgradectl\n.I VERB\n[OPTION...]\n.SH DESCRIPTION\n{}\n",
      DRIVERUPGRADE_VERSION_STRING, plain(description));
  for (const Verb& verb : verbs) {
    text += fmt::format(".SH {}\n{}.\n", verb.name, plain(verb.what));
    for (const CLI::Option* option : verb.options) {
      text += fmt::format(".TP\n.B {}\n{}\n", plain(option->get_name(false, true)), plain(option->get_description()));
    }
    text += fmt::format(".PP\n{}\n", plain(verb.footer));
  }
  return text;
}

}  // namespace

absl::StatusOr<int> RunCompletion(const Options& options, const Streams& streams) {
  Options ignored;
  CLI::App app{"Shows the progress of a driver upgrade, why a node waits, and what would happen next."};
  Describe(app, ignored);
  const std::vector<Verb> verbs = VerbsOf(app);
  if (options.shell == "bash") streams.out << Bash(verbs);
  if (options.shell == "zsh") streams.out << Zsh(verbs);
  if (options.shell == "fish") streams.out << Fish(verbs);
  if (options.shell == "kubectl") streams.out << Kubectl(verbs);
  if (options.shell == "man") streams.out << Manual(app.get_description(), verbs);
  return kExitDone;
}

}  // namespace upgradectl
