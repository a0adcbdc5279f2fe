// Shared helpers of the fuzz targets: a check that ends the run, and a class that splits an input.
#ifndef DRIVERUPGRADE_TESTS_FUZZ_FUZZ_H_
#define DRIVERUPGRADE_TESTS_FUZZ_FUZZ_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace driverupgrade::tests {

// Ends the run, in every type of build, if a guarantee of the target does not hold.
inline void Require(bool holds, std::string_view what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

// Reads numbers and strings from the start of an input. Returns zeros and empty strings once the input is used up.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}
  bool empty() const { return rest_.empty(); }
  std::uint64_t Number(int bytes) {
    std::uint64_t number = 0;
    for (int i = 0; i < bytes; ++i) number |= static_cast<std::uint64_t>(Byte()) << (8 * i);
    return number;
  }
  // Returns a number below `bound`.
  int Below(int bound) { return static_cast<int>(Number(2) % static_cast<std::uint64_t>(bound)); }
  // Returns the text up to the next line break.
  std::string_view Line() {
    const std::string_view line = rest_.substr(0, rest_.find('\n'));
    rest_.remove_prefix(line.size() < rest_.size() ? line.size() + 1 : rest_.size());
    return line;
  }
  std::string_view Rest() const { return rest_; }

 private:
  std::uint8_t Byte() {
    if (rest_.empty()) return 0;
    const auto byte = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return byte;
  }
  std::string_view rest_;
};

// Returns `text` as a JSON string. Bytes that are not UTF-8 stay unchanged.
inline std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof(escaped), "\\u%04x", static_cast<unsigned>(c));
      quoted += escaped;
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

// A template, because std::string_view and absl::string_view are different types on Debian.
template <typename Text>
bool HasControlCharacter(const Text& text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return true;
  }
  return false;
}

}  // namespace driverupgrade::tests

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

#endif  // DRIVERUPGRADE_TESTS_FUZZ_FUZZ_H_
