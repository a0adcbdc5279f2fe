# Writes driverupgrade/abseil_abi.h. If a consumer's abseil differs from the abseil with which the library was built,
# this header causes a compiler error, instead of missing symbols or undefined behavior. Sets
# DRIVERUPGRADE_GENERATED_INCLUDE_DIR.
if(NOT DRIVERUPGRADE_ABSEIL_RELEASE)
  set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
  try_compile(driverupgrade_abseil_probed ${CMAKE_CURRENT_BINARY_DIR}/abseil_probe
    SOURCES ${CMAKE_CURRENT_LIST_DIR}/abseil_probe.cc
    COMPILE_DEFINITIONS -fno-lto  # LTO objects do not contain text verbatim
    LINK_LIBRARIES absl::strings
    CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON
    COPY_FILE ${CMAKE_CURRENT_BINARY_DIR}/abseil_probe.bin
    OUTPUT_VARIABLE output)
  unset(CMAKE_TRY_COMPILE_TARGET_TYPE)
  if(NOT driverupgrade_abseil_probed)
    message(FATAL_ERROR "driverupgrade: cannot compile a file that includes abseil:\n${output}")
  endif()
  foreach(fact IN ITEMS release namespace string_view)
    set(pattern "driverupgrade_abseil_${fact}=([^.]+)[.]")
    file(STRINGS ${CMAKE_CURRENT_BINARY_DIR}/abseil_probe.bin found REGEX "${pattern}" LIMIT_COUNT 1)
    if(NOT found MATCHES "${pattern}")
      message(FATAL_ERROR "driverupgrade: cannot tell the ${fact} of abseil")
    endif()
    string(TOUPPER ${fact} name)
    set(DRIVERUPGRADE_ABSEIL_${name} ${CMAKE_MATCH_1} CACHE INTERNAL "What abseil is")
  endforeach()
endif()

# The path is the same in every build, so that a compiler cache shares results between builds.
set(DRIVERUPGRADE_GENERATED_INCLUDE_DIR ${CMAKE_BINARY_DIR}/driverupgrade_generated)
configure_file(${CMAKE_CURRENT_LIST_DIR}/abseil_abi.h.in
  ${DRIVERUPGRADE_GENERATED_INCLUDE_DIR}/driverupgrade/abseil_abi.h @ONLY)
