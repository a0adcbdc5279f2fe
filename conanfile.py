"""Conan 2 package of driverupgrade. docs/packaging.md describes how to use it, and packaging/conan/check.sh tests it."""

import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir

required_conan_version = ">=2.0.9"


class DriverupgradeConan(ConanFile):
    name = "driverupgrade"
    description = "Rolls containerized drivers across the nodes of a Kubernetes cluster"
    license = "Apache-2.0"
    topics = ("kubernetes", "operator", "driver", "upgrade", "gpu")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {
        "shared": [True, False],
        "fPIC": [True, False],
        "with_cpprest": [True, False],
        "with_curl": [True, False],
        "with_prometheus": [True, False],
        "with_service": [True, False],
    }
    default_options = {
        "shared": False,
        "fPIC": True,
        "with_cpprest": True,
        "with_curl": True,
        "with_prometheus": True,
        "with_service": True,
        # The page of the rollout is served with TLS.
        "cpp-httplib/*:with_openssl": True,
    }
    implements = ["auto_shared_fpic"]
    exports_sources = "CMakeLists.txt", "LICENSE", "README.md", "CHANGELOG.md", "cmake/*", "docs/*", "include/*", "src/*"

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, "include", "driverupgrade", "version.h"))
        self.version = re.search(r'DRIVERUPGRADE_VERSION_STRING "([^"]+)"', header).group(1)

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        # Public headers use abseil, also in inline functions. Therefore consumers also compile and link abseil.
        self.requires("abseil/[>=20220623.0]", transitive_headers=True, transitive_libs=True)
        self.requires("fmt/[>=9 <13]")
        self.requires("rapidjson/cci.20230929")
        self.requires("yaml-cpp/[>=0.7 <0.10]")
        if self.options.with_cpprest:
            self.requires("cpprestsdk/[>=2.10.18 <3]")
        if self.options.with_curl:
            self.requires("libcurl/[>=7.87 <9]")
        if self.options.with_cpprest or self.options.with_curl or self._has_service:
            self.requires("openssl/[>=1.1 <4]")
        if self.options.with_prometheus:
            self.requires("prometheus-cpp/[>=1.0.1 <2]")
        if self._has_service:
            self.requires("cpp-httplib/[>=0.11 <1]")

    @property
    def _has_service(self):
        return self.options.with_service and self.options.with_prometheus

    def build_requirements(self):
        self.tool_requires("cmake/[>=3.23 <5]")

    def validate(self):
        check_min_cppstd(self, 20)
        if self.settings.os == "Windows":
            raise ConanInvalidConfiguration("driverupgrade runs on POSIX systems only")

    def generate(self):
        toolchain = CMakeToolchain(self)
        for part in ("TESTS", "EXAMPLES", "BENCH"):
            toolchain.cache_variables[f"DRIVERUPGRADE_BUILD_{part}"] = False
        toolchain.cache_variables["DRIVERUPGRADE_BUILD_TRANSPORT_CPPREST"] = bool(self.options.with_cpprest)
        toolchain.cache_variables["DRIVERUPGRADE_BUILD_TRANSPORT_CURL"] = bool(self.options.with_curl)
        toolchain.cache_variables["DRIVERUPGRADE_BUILD_PROMETHEUS"] = bool(self.options.with_prometheus)
        toolchain.cache_variables["DRIVERUPGRADE_BUILD_SERVICE"] = bool(self._has_service)
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()
        # Conan generates these files for each consumer.
        rmdir(self, os.path.join(self.package_folder, "lib", "cmake"))
        rmdir(self, os.path.join(self.package_folder, "lib", "pkgconfig"))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "driverupgrade")
        abseil = [f"abseil::absl_{library}" for library in ("status", "statusor", "strings", "time")]
        tls = ["openssl::ssl", "openssl::crypto"]
        self._component("core", abseil + ["fmt::fmt", "rapidjson::rapidjson", "yaml-cpp::yaml-cpp"])
        if self.settings.os in ("Linux", "FreeBSD"):
            self.cpp_info.components["core"].system_libs = ["pthread"]
        self._component("testing", ["core"])
        self._component("wire", ["core"])
        # A shared library that contains everything that it needs.
        self._component("c", [])
        self._component("kubernetes", ["wire", "abseil::absl_cord"])
        if self.options.with_cpprest or self.options.with_curl:
            self._component("transport_support", ["kubernetes"] + tls)
        if self.options.with_cpprest:
            self._component("transport_cpprest", ["transport_support", "cpprestsdk::cpprest"])
        if self.options.with_curl:
            self._component("transport_curl", ["transport_support", "libcurl::libcurl"])
        if self.options.with_prometheus:
            self._component("prometheus", ["core", "prometheus-cpp::prometheus-cpp-core"])
        if self._has_service:
            self._component("service", ["core", "prometheus", "cpp-httplib::cpp-httplib"] + tls)

    def _component(self, name, requires):
        component = self.cpp_info.components[name]
        component.set_property("cmake_target_name", f"driverupgrade::{name}")
        component.set_property("pkg_config_name", f"driverupgrade-{name}")
        component.libs = [f"driverupgrade_{name}"]
        component.requires = requires
