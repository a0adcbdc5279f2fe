/// The test framework: Catch2 version 2 (Debian) or 3 (Conan, vcpkg). Tests use only features that both versions have.
#ifndef DRIVERUPGRADE_TESTS_SUPPORT_CATCH_H_
#define DRIVERUPGRADE_TESTS_SUPPORT_CATCH_H_

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif

#endif  // DRIVERUPGRADE_TESTS_SUPPORT_CATCH_H_
