// Compiled when CMake configures: stores the properties of this abseil as text that can be found in the object file.
#include <string_view>
#include <type_traits>

#include "absl/strings/string_view.h"

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

#ifndef ABSL_LTS_RELEASE_VERSION
#define ABSL_LTS_RELEASE_VERSION 0
#endif
#if ABSL_OPTION_USE_INLINE_NAMESPACE
#define INLINE_NAMESPACE TEXT(ABSL_OPTION_INLINE_NAMESPACE_NAME)
#else
#define INLINE_NAMESPACE "none"
#endif

extern const char kRelease[];
extern const char kNamespace[];
template <bool>
struct StringView;
template <>
struct StringView<true> {
  static constexpr char kText[] = "driverupgrade_abseil_string_view=true.";
};
template <>
struct StringView<false> {
  static constexpr char kText[] = "driverupgrade_abseil_string_view=false.";
};
extern const char* const kStringView;

const char kRelease[] = "driverupgrade_abseil_release=" TEXT(ABSL_LTS_RELEASE_VERSION) ".";
const char kNamespace[] = "driverupgrade_abseil_namespace=" INLINE_NAMESPACE ".";
const char* const kStringView = StringView<std::is_same_v<absl::string_view, std::string_view>>::kText;
