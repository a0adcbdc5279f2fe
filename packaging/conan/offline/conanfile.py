"""Replaces one of our dependencies with the distribution's own package: a recipe with the same name and targets, but
without files. Used only by packaging/conan/check.sh, which selects the dependency with `conan export --name`."""

from conan import ConanFile

# Maps each dependency to its version, the name of its CMake package, and its CMake targets: one per component, or one
# for the whole package.
STAND_INS = {
    "abseil": ("20220623.1", "absl", {f"absl_{c}": f"absl::{c}" for c in ("cord", "status", "statusor", "strings", "time")}),
    "cpp-httplib": ("0.11.4", "httplib", "httplib::httplib"),
    "cpprestsdk": ("2.10.18", "cpprestsdk", {"cpprest": "cpprestsdk::cpprest"}),
    "fmt": ("9.1.0", "fmt", "fmt::fmt"),
    "libcurl": ("7.88.1", "CURL", "CURL::libcurl"),
    "openssl": ("3.0.22", "OpenSSL", {"ssl": "OpenSSL::SSL", "crypto": "OpenSSL::Crypto"}),
    "prometheus-cpp": ("1.0.1", "prometheus-cpp", {"prometheus-cpp-core": "prometheus-cpp::core"}),
    # Conan's RapidJSON is newer. Its target is `rapidjson`; Debian's package has no such target, and driverupgrade does
    # not export the target.
    "rapidjson": ("cci.20230929", "RapidJSON", "rapidjson"),
    "yaml-cpp": ("0.7.0", "yaml-cpp", "yaml-cpp"),
}


class StandIn(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    # The recipe of driverupgrade sets this option of cpp-httplib.
    options = {"with_openssl": [True]}
    default_options = {"with_openssl": True}

    def set_version(self):
        self.version = STAND_INS[self.name][0]

    def configure(self):
        self.package_type = "header-library" if self.name == "rapidjson" else "shared-library"

    def package_id(self):
        self.info.clear()

    def package_info(self):
        _, package, targets = STAND_INS[self.name]
        if self.name == "cpp-httplib":
            # The distribution provides only a pkg-config file, so Conan writes the CMake files from the output of
            # `pkg-config`.
            self.cpp_info.system_libs = ["cpp-httplib"]
            self.cpp_info.defines = [f"CPPHTTPLIB_{part}_SUPPORT" for part in ("OPENSSL", "ZLIB", "BROTLI")]
        else:
            self.cpp_info.set_property("cmake_find_mode", "none")  # use the distribution's own files
        self.cpp_info.set_property("cmake_file_name", package)
        parts = [(self.cpp_info, targets)]
        if isinstance(targets, dict):
            parts = [(self.cpp_info.components[name], target) for name, target in targets.items()]
        for part, target in parts:
            part.set_property("cmake_target_name", target)
            part.includedirs = part.libdirs = part.bindirs = []
