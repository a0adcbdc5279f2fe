/// Generates the parts of docs/state-machine.md and docs/state-machine.svg that show the transition table.
#ifndef DRIVERUPGRADE_TESTS_SCENARIOS_STATE_MACHINE_PAGE_H_
#define DRIVERUPGRADE_TESTS_SCENARIOS_STATE_MACHINE_PAGE_H_

#include <string>
#include <string_view>

namespace driverupgrade::tests {

/// Returns one row for each entry of the table.
std::string TransitionTableMarkdown();
/// Returns a fenced Mermaid state diagram with one labelled arrow for each pair of states.
std::string MermaidDiagram();
/// Returns the same as a picture with a fixed layout. Throws std::logic_error if the table has an edge without a place
/// or words in the layout, or the other way round.
std::string SvgDiagram();

/// Returns `page` with `text` between `<!-- generated: NAME -->` and `<!-- end of generated: NAME -->`. Throws
/// std::logic_error if the markers are missing.
std::string WithGenerated(const std::string& page, std::string_view name, const std::string& text);

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_SCENARIOS_STATE_MACHINE_PAGE_H_
