/// What docs/state-machine.md and docs/state-machine.svg show of the transition table.
#ifndef DRIVERUPGRADE_TESTS_SCENARIOS_STATE_MACHINE_PAGE_H_
#define DRIVERUPGRADE_TESTS_SCENARIOS_STATE_MACHINE_PAGE_H_

#include <string>
#include <string_view>

namespace driverupgrade::tests {

/// One row for each entry of the table.
std::string TransitionTableMarkdown();
/// A fenced Mermaid state diagram; one arrow for each pair of states, with what happens on it.
std::string MermaidDiagram();
/// The same as a picture with a fixed layout. Throws std::logic_error if the table has an edge that the layout has no
/// place or no words for, or the other way round.
std::string SvgDiagram();

/// `page` with the text between `<!-- generated: NAME -->` and `<!-- end of generated: NAME -->` replaced by `text`.
/// Throws std::logic_error if the markers are missing.
std::string WithGenerated(const std::string& page, std::string_view name, const std::string& text);

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_SCENARIOS_STATE_MACHINE_PAGE_H_
