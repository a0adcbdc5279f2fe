/// Generates docs/state-machine.svg and the sections of docs/state-machine.md that contain the transition table.
#ifndef DRIVERUPGRADE_TESTS_SCENARIOS_STATE_MACHINE_PAGE_H_
#define DRIVERUPGRADE_TESTS_SCENARIOS_STATE_MACHINE_PAGE_H_

#include <string>
#include <string_view>

namespace driverupgrade::tests {

/// Returns one row for each entry of the table.
std::string TransitionTableMarkdown();
/// Returns a fenced Mermaid state diagram with one labeled arrow for each pair of states.
std::string MermaidDiagram();
/// Returns the diagram as a picture with a fixed layout. Throws std::logic_error if the layout has no position or text
/// for an edge of the table, or contains an edge that is not in the table.
std::string SvgDiagram();

/// Returns `page` with `text` between `<!-- generated: NAME -->` and `<!-- end of generated: NAME -->`. Throws
/// std::logic_error if the markers are missing.
std::string WithGenerated(const std::string& page, std::string_view name, const std::string& text);

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_SCENARIOS_STATE_MACHINE_PAGE_H_
