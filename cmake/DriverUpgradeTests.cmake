# Compiler options of test programs, and the tests of the quick tier.

# Makes a ctest fail if no TEST_CASE has the name of the ctest. Catch2 2 would report success; Catch2 3 fails by
# default. Names that contain a `;` never match, because CMake splits them there.
set(driverupgrade_catch_arguments "")
if(Catch2_VERSION VERSION_LESS 3)
  set(driverupgrade_catch_arguments EXTRA_ARGS --warn NoTests)
endif()

# Everything that `scripts/test.sh` builds without --full.
add_custom_target(quick_tests)

# The headers that every test includes, compiled once. All test programs have the same options, so they can share the
# result.
add_executable(driverupgrade_test_headers ${CMAKE_CURRENT_LIST_DIR}/test_headers.cc)
target_link_libraries(driverupgrade_test_headers PRIVATE driverupgrade::testing Catch2::Catch2 fmt::fmt)
target_include_directories(driverupgrade_test_headers PRIVATE ${PROJECT_SOURCE_DIR}/tests)

# driverupgrade_test_options(<target>): compiler options for code that only tests run. Optimized builds compile this
# code faster and without debug information, because test code is not measured.
function(driverupgrade_test_options target)
  driverupgrade_compile_options(${target})
  if(NOT DRIVERUPGRADE_SANITIZE)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release,RelWithDebInfo>:-O1;-g0>)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Suppresses warnings that g++ 12 reports wrongly about std::string at -O1.
    target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
  endif()
endfunction()
driverupgrade_test_options(driverupgrade_test_headers)
target_precompile_headers(driverupgrade_test_headers PRIVATE
  <algorithm> <functional> <map> <memory> <optional> <set> <string> <string_view> <utility> <vector>
  <absl/status/statusor.h> <absl/time/time.h> <fmt/format.h> <support/catch.h>
  <driverupgrade/testing/fake_cluster.h> <driverupgrade/upgrade_engine.h>)

# driverupgrade_add_test(<name> [QUICK] SOURCES <files>... LIBRARIES <targets>...): adds one executable, with one ctest
# for each TEST_CASE. QUICK: the test belongs to the quick tier. The sources are not compiled in batches, because tests
# reuse short names such as World and kPolicy.
function(driverupgrade_add_test name)
  cmake_parse_arguments(ARG "QUICK" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} Catch2::Catch2WithMain fmt::fmt)
  driverupgrade_test_options(${name})
  target_precompile_headers(${name} REUSE_FROM driverupgrade_test_headers)
  set(labels "")
  if(ARG_QUICK)
    add_dependencies(quick_tests ${name})
    set(labels PROPERTIES LABELS quick)
  endif()
  catch_discover_tests(${name} TEST_PREFIX "${name}: " ${driverupgrade_catch_arguments} ${labels})
endfunction()

# driverupgrade_quick(TESTS <names>... [PROGRAMS <targets>...]): assigns these tests to the quick tier. The tests need
# those of the listed programs that this configuration builds.
function(driverupgrade_quick)
  cmake_parse_arguments(ARG "" "" "TESTS;PROGRAMS" ${ARGN})
  set_property(TEST ${ARG_TESTS} APPEND PROPERTY LABELS quick)
  foreach(program ${ARG_PROGRAMS})
    if(TARGET ${program})
      add_dependencies(quick_tests ${program})
    endif()
  endforeach()
endfunction()
