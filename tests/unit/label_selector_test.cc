#include "driverupgrade/label_selector.h"

#include <string>
#include <vector>

#include "support/catch.h"

namespace driverupgrade {
namespace {

using Operator = LabelSelector::Operator;
using Requirement = LabelSelector::Requirement;

const std::string kName63(63, 'n');
const std::string kName64(64, 'n');

struct ParseRow {
  std::string text;
  std::string canonical;
};

TEST_CASE("selectors in the query syntax are parsed, and printed in canonical form") {
  const ParseRow row = GENERATE(values<ParseRow>({
      {"", ""},
      {" \t\r\n", ""},
      {"app=web", "app=web"},
      {"app==web", "app=web"},
      {"app!=web", "app!=web"},
      {" app = web , tier = db ", "app=web,tier=db"},
      {"tier=db,app=web", "app=web,tier=db"},
      {"a=1,a=1", "a=1"},
      {"a!=2,a", "a!=2,a"},
      {"app", "app"},
      {"!app", "!app"},
      {"! app", "!app"},
      {"nvidia.com/gpu-driver-upgrade-drain.skip!=true", "nvidia.com/gpu-driver-upgrade-drain.skip!=true"},
      // S3: empty values, duplicate values, and white space.
      {"k=", "k="},
      {"k==", "k="},
      {"k!=", "k!="},
      {"k=,j", "j,k="},
      {"k in ()", "k="},
      {"k in (a,)", "k in (,a)"},
      {"k notin ( , a)", "k notin (,a)"},
      {"k in (,)", "k="},
      {"k in (a,,b)", "k in (,a,b)"},
      {"k in (b,a,b)", "k in (a,b)"},
      {"k in(a)", "k=a"},
      {"k notin(a)", "k!=a"},
      {"k\tin\r\n( a\t,\nb )", "k in (a,b)"},
      // S2: `in` and `notin` are keywords only where an operator is expected.
      {"in in (in,notin)", "in in (in,notin)"},
      {"notin notin (in)", "notin!=in"},
      {"in", "in"},
      {"in,notin", "in,notin"},
      {"!in", "!in"},
      {"a=in", "a=in"},
      {"a>1", "a>1"},
      {"a < 007", "a<007"},
      {"a>9223372036854775807", "a>9223372036854775807"},
      {"x>1,x<5,x!=3,x notin (7,8)", "x!=3,x notin (7,8),x>1,x<5"},
  }));
  CAPTURE(row.text);
  const absl::StatusOr<LabelSelector> selector = LabelSelector::Parse(row.text);
  REQUIRE(selector.ok());
  CHECK(selector->ToString() == row.canonical);
  CHECK(*LabelSelector::Parse(row.canonical) == *selector);
}

struct ErrorRow {
  std::string text;
  std::string error;
};

TEST_CASE("selectors that Kubernetes refuses are refused with the position of the error") {
  const ErrorRow row = GENERATE(values<ErrorRow>({
      // S5: selectors that Kubernetes' own tests expect to be refused.
      {"x=a||y=b", "character 3: value \"a||y\""},
      {"x==a==b", "character 5: expected ',' or the end, found \"==\""},
      {"!x=a", "character 3: expected ',' or the end, found \"=\""},
      {"x<a", "character 3: operator < requires exactly one value, a 64-bit integer"},
      {"x,,y", "character 3: expected a label key, found \",\""},
      {",x", "character 1: expected a label key, found \",\""},
      {"x,", "character 3: expected a label key, found the end"},
      {"a in (xyz abc)", "character 11: expected ',' or ')', found \"abc\""},
      {"a in (x),", "character 10: expected a label key, found the end"},
      {"a (", "character 3: expected '=', '==', '!=', '<', '>', 'in', 'notin', ',' or the end, found \"(\""},
      {"a notin(", "character 9: expected ',' or ')', found the end"},
      {"x nott in (y)", "character 3: expected '='"},
      {"k in x", "character 6: expected '(', found \"x\""},
      {"k=\"v\"", "character 3: value \"\\\"v\\\"\""},
      {"k>-1", "character 3: value \"-1\""},
      // Other invalid selectors.
      {"!", "character 2: expected a label key, found the end"},
      {"!!x", "character 2: expected a label key, found \"!\""},
      {"=a", "character 1: expected a label key, found \"=\""},
      {"x=!y", "character 3: expected a label value, found \"!\""},
      {"x=(", "character 3: expected a label value, found \"(\""},
      {"x>", "character 3: operator > requires exactly one value, a 64-bit integer"},
      {"x>=5", "character 3: expected a label value, found \"=\""},
      {"x>9223372036854775808", "character 3: operator > requires exactly one value, a 64-bit integer"},
      {"x>1.5", "character 3: operator > requires exactly one value, a 64-bit integer"},
      {"x y", "character 3: expected '='"},
      {"x in (a", "character 8: expected ',' or ')', found the end"},
      {"x in (a))", "character 9: expected ',' or the end, found \")\""},
      {"x in (a=b)", "character 8: expected ',' or ')', found \"=\""},
      {"x notin a", "character 9: expected '(', found \"a\""},
      {"/x", "character 1: key \"/x\""},
      {"a/b/c", "character 1: key \"a/b/c\""},
      {"A.com/x", "character 1: key \"A.com/x\""},
      {"a/", "character 1: key \"a/\""},
      {"-x", "character 1: key \"-x\""},
      {"x_", "character 1: key \"x_\""},
      {"x=a,y=b_", "character 7: value \"b_\""},
      {"x=a/b", "character 3: value \"a/b\""},
      {std::string("x\0y", 3), "character 1: key \"x\\x00y\""},
      {"x=\xc3\xa4", "character 3: value \"\\xc3\\xa4\""},
      {kName64, "character 1: key"},
      {"x=" + kName64, "character 3: value"},
  }));
  CAPTURE(row.text);
  const absl::StatusOr<LabelSelector> selector = LabelSelector::Parse(row.text);
  REQUIRE(selector.status().code() == absl::StatusCode::kInvalidArgument);
  const std::string message(selector.status().message());
  CAPTURE(message);
  CHECK(message.find("label selector \"") == 0);
  CHECK(message.find(row.error) != std::string::npos);
}

TEST_CASE("keys and values may be as long as Kubernetes allows") {
  CHECK(LabelSelector::Parse(kName63 + "=" + kName63).ok());
  CHECK(LabelSelector::Parse(std::string(253, 'p') + "/" + kName63).ok());
  CHECK_FALSE(LabelSelector::Parse(std::string(254, 'p') + "/x").ok());
}

TEST_CASE("a very long selector is parsed in linear time") {
  std::string text = "k in (";
  for (int i = 0; i < 200'000; ++i) text += std::to_string(i) + ",";
  const absl::StatusOr<LabelSelector> selector = LabelSelector::Parse(text + ")");
  REQUIRE(selector.ok());
  CHECK(selector->Matches({{"k", "199999"}}));
  CHECK_FALSE(selector->Matches({{"k", "200000"}}));
}

struct MatchRow {
  std::string text;
  StringMap labels;
  bool expected;
};

TEST_CASE("selectors match the expected labels") {
  const MatchRow row = GENERATE(values<MatchRow>({
      {"", {}, true},
      {"", {{"a", "1"}}, true},
      {"a=1", {{"a", "1"}}, true},
      {"a=1", {{"a", "2"}}, false},
      {"a=1", {}, false},
      {"a=", {{"a", ""}}, true},
      {"a=", {}, false},
      {"a in (1,2)", {{"a", "2"}}, true},
      {"a in (1,2)", {{"a", "3"}}, false},
      {"a in (1,2)", {}, false},
      {"a in ()", {{"a", ""}}, true},
      {"a!=1", {{"a", "2"}}, true},
      {"a!=1", {{"a", "1"}}, false},
      {"a!=1", {}, true},
      {"a!=", {{"a", ""}}, false},
      {"a notin (1,2)", {{"a", "3"}}, true},
      {"a notin (1,2)", {{"a", "2"}}, false},
      {"a notin (1,2)", {}, true},
      {"a", {{"a", ""}}, true},
      {"a", {{"b", "1"}}, false},
      {"!a", {{"b", "1"}}, true},
      {"!a", {{"a", ""}}, false},
      {"a>5", {{"a", "6"}}, true},
      {"a>5", {{"a", "5"}}, false},
      {"a>5", {{"a", "x"}}, false},
      {"a>5", {{"a", "6x"}}, false},
      {"a>5", {{"a", ""}}, false},
      {"a>5", {{"a", "99999999999999999999"}}, false},
      {"a>5", {}, false},
      {"a<5", {{"a", "4"}}, true},
      {"a<5", {{"a", "5"}}, false},
      {"a<5", {{"a", "-7"}}, true},
      {"a<010", {{"a", "9"}}, true},
      {"a<5", {}, false},
      {"a=1,b", {{"a", "1"}, {"b", ""}}, true},
      {"a=1,b", {{"a", "1"}}, false},
      {"a=1,a=2", {{"a", "1"}}, false},
  }));
  CAPTURE(row.text, row.labels);
  CHECK(LabelSelector::Parse(row.text)->Matches(row.labels) == row.expected);
}

TEST_CASE("the empty selector selects everything and is the default") {
  CHECK(LabelSelector().empty());
  CHECK(*LabelSelector::Parse("") == LabelSelector());
  CHECK(LabelSelector::FromMatchLabels({}) == LabelSelector());
  CHECK(*LabelSelector::FromRequirements({}) == LabelSelector());
  CHECK_FALSE(LabelSelector::Parse("a")->empty());
}

TEST_CASE("after a round trip through its text, LabelSelector::Nothing still rejects all labels") {
  const LabelSelector nothing = LabelSelector::Nothing();
  CHECK_FALSE(nothing.empty());
  CHECK_FALSE(nothing.Matches({}));
  CHECK_FALSE(nothing.Matches({{"a", "1"}}));
  CHECK_FALSE(nothing == LabelSelector());
  const LabelSelector text = *LabelSelector::Parse(nothing.ToString());
  CHECK_FALSE(text.Matches({}));
  CHECK_FALSE(text.Matches({{"nothing", ""}}));
}

TEST_CASE("matchLabels become equality requirements") {
  const LabelSelector selector = LabelSelector::FromMatchLabels({{"b", "2"}, {"a", "1"}});
  CHECK(selector == *LabelSelector::Parse("a=1,b=2"));
  CHECK(selector.ToString() == "a=1,b=2");
}

TEST_CASE("requirements are sorted, and duplicate values are removed") {
  const absl::StatusOr<LabelSelector> selector = LabelSelector::FromRequirements({
      {.key = "z", .op = Operator::kExists},
      {.key = "a", .op = Operator::kNotIn, .values = {"2", "1", "2"}},
  });
  REQUIRE(selector.ok());
  const std::vector<Requirement> expected = {
      {.key = "a", .op = Operator::kNotIn, .values = {"1", "2"}},
      {.key = "z", .op = Operator::kExists},
  };
  CHECK(selector->requirements() == expected);
  CHECK(selector->ToString() == "a notin (1,2),z");
}

TEST_CASE("And returns a selector that matches only what both selectors match") {
  const LabelSelector web = *LabelSelector::Parse("app=web");
  const LabelSelector not_skipped = *LabelSelector::Parse("skip!=true");
  CHECK(web.And(not_skipped).ToString() == "app=web,skip!=true");
  CHECK(not_skipped.And(web) == web.And(not_skipped));
  CHECK(web.And(web) == web);
  CHECK(web.And({}) == web);
  CHECK(web.And(LabelSelector::Nothing()) == LabelSelector::Nothing());
  CHECK(LabelSelector::Nothing().And(web) == LabelSelector::Nothing());
}

struct RequirementRow {
  std::string name;
  Requirement requirement;
  std::string error;
};

TEST_CASE("a requirement is refused if it has the wrong number of values or an invalid value") {
  const RequirementRow row = GENERATE(values<RequirementRow>({
      {"in without a value", {.key = "k", .op = Operator::kIn}, "operator in needs a value"},
      {"notin without a value", {.key = "k", .op = Operator::kNotIn}, "operator notin needs a value"},
      {"exists with a value",
       {.key = "k", .op = Operator::kExists, .values = {"v"}},
       "operator exists takes no values, got 1"},
      {"does not exist with values",
       {.key = "k", .op = Operator::kDoesNotExist, .values = {"v", "w"}},
       "operator does not exist takes no values, got 2"},
      {"greater than two values",
       {.key = "k", .op = Operator::kGreaterThan, .values = {"1", "2"}},
       "operator > requires exactly one value, a 64-bit integer"},
      {"less than a word",
       {.key = "k", .op = Operator::kLessThan, .values = {"v"}},
       "operator < requires exactly one value, a 64-bit integer"},
      {"a key that is none", {.key = "a,b"}, "key \"a,b\""},
      {"an empty key", {}, "key \"\""},
      {"a value that is none", {.key = "k", .op = Operator::kIn, .values = {"a)"}}, "value \"a)\""},
  }));
  CAPTURE(row.name);
  const absl::StatusOr<LabelSelector> selector = LabelSelector::FromRequirements({row.requirement});
  REQUIRE(selector.status().code() == absl::StatusCode::kInvalidArgument);
  const std::string message(selector.status().message());
  CAPTURE(message);
  CHECK(message.find("label selector, requirement on") == 0);
  CHECK(message.find(row.error) != std::string::npos);
}

}  // namespace
}  // namespace driverupgrade
