/// Parses a command line with CLI11.
///
/// Defines ParseArguments.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_PARSE_ARGUMENTS_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_PARSE_ARGUMENTS_H_

#include <list>
#include <string>
#include <string_view>
#include <vector>

#include "CLI/CLI.hpp"

namespace examples {

/// Parses the arguments. Throws the exceptions of CLI::App::parse. `--option=` sets the option to an empty value; CLI11
/// alone would use the next argument as the value.
inline void ParseArguments(CLI::App& app, int argc, const char* const* argv) {
  std::list<std::string> names;
  std::vector<const char*> words;
  for (int i = 0; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (i == 0 || !word.starts_with("--") || word.find('=') != word.size() - 1) {
      words.push_back(argv[i]);
      continue;
    }
    names.emplace_back(word.substr(0, word.size() - 1));
    words.push_back(names.back().c_str());
    words.push_back("");
  }
  app.parse(static_cast<int>(words.size()), words.data());
}

}  // namespace examples

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_PARSE_ARGUMENTS_H_
