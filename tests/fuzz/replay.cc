// Runs a fuzz target on every file in the given directories, without a fuzzer: `fuzz_NAME_replay DIRECTORY...`.
#include <filesystem>
#include <fstream>
#include <iterator>

#include "fuzz/fuzz.h"

int main(int argc, char** argv) {
  int count = 0;
  for (int i = 1; i < argc; ++i) {
    for (const auto& file : std::filesystem::recursive_directory_iterator(argv[i])) {
      if (!file.is_regular_file()) continue;
      std::ifstream stream(file.path(), std::ios::binary);
      const std::string input{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
      std::printf("%s\n", file.path().c_str());
      std::fflush(stdout);
      LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
      ++count;
    }
  }
  // Fails for an empty corpus, because such a run would prove nothing.
  return count > 0 ? 0 : 1;
}
