# A shared library exports only symbols of our namespace, even if it instantiates templates from other libraries. The
# linker enforces this, so public headers need no macros. Symbol versions keep two releases apart in one process.
include(CheckLinkerFlag)
set(driverupgrade_exports ${PROJECT_BINARY_DIR}/driverupgrade.map)
configure_file(${PROJECT_SOURCE_DIR}/cmake/driverupgrade.map.in ${driverupgrade_exports} @ONLY)
check_linker_flag(CXX LINKER:--version-script=${driverupgrade_exports} driverupgrade_has_version_script)

# driverupgrade_add_library(<name> DESCRIPTION <what it is> HEADERS <public headers below include/>... SOURCES <sources>...)
# Adds an installable component with the target driverupgrade_<name>. The target is always used as driverupgrade::<name>.
function(driverupgrade_add_library name)
  cmake_parse_arguments(ARG "" "DESCRIPTION" "HEADERS;SOURCES" ${ARGN})
  set(target driverupgrade_${name})
  add_library(${target} ${ARG_SOURCES})
  add_library(driverupgrade::${name} ALIAS ${target})
  list(TRANSFORM ARG_HEADERS PREPEND ${PROJECT_SOURCE_DIR}/include/)
  if(name STREQUAL "core")
    list(APPEND ARG_HEADERS ${DRIVERUPGRADE_GENERATED_INCLUDE_DIR}/driverupgrade/abseil_abi.h)
  endif()
  target_sources(${target} PUBLIC
    FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include ${DRIVERUPGRADE_GENERATED_INCLUDE_DIR} FILES ${ARG_HEADERS})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES
    EXPORT_NAME ${name}
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION}
    POSITION_INDEPENDENT_CODE ON
    VISIBILITY_INLINES_HIDDEN ON
    DEFINE_SYMBOL ""
    DRIVERUPGRADE_DESCRIPTION "${ARG_DESCRIPTION}"
    VERIFY_INTERFACE_HEADER_SETS ${PROJECT_IS_TOP_LEVEL})
  driverupgrade_shared_library_options(${target})
  driverupgrade_compile_options(${target})
  set_property(GLOBAL APPEND PROPERTY DRIVERUPGRADE_COMPONENTS ${name})
endfunction()

# driverupgrade_add_objects(<name> SOURCES <sources>... LIBRARIES <targets>...): adds objects that several libraries
# share. Each source is compiled once for all of them.
function(driverupgrade_add_objects name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  set(target driverupgrade_${name})
  add_library(${target} OBJECT ${ARG_SOURCES})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${target} PRIVATE driverupgrade_pure_headers ${ARG_LIBRARIES})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON VISIBILITY_INLINES_HIDDEN ON)
  driverupgrade_compile_options(${target})
endfunction()

function(driverupgrade_shared_library_options target)
  get_target_property(type ${target} TYPE)
  if(NOT type STREQUAL "SHARED_LIBRARY")
    return()
  endif()
  if(driverupgrade_has_version_script)
    target_link_options(${target} PRIVATE LINKER:--version-script=${driverupgrade_exports})
    set_target_properties(${target} PROPERTIES LINK_DEPENDS ${driverupgrade_exports})
  endif()
  if(driverupgrade_has_version_script AND NOT DRIVERUPGRADE_SANITIZE)
    target_link_options(${target} PRIVATE LINKER:-z,defs)  # sanitizers leave undefined symbols to the program
  endif()
  if(NOT DEFINED CMAKE_INSTALL_RPATH)
    # The libraries are in the same directory, and some of them need other libraries that the program does not link.
    set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN")
  endif()
endfunction()

# Hardening: stack and control flow protection, checked buffer functions, programs at random addresses, and relocation
# tables that are read-only after loading.
set(driverupgrade_hardening_options "")
if(DRIVERUPGRADE_HARDENING)
  include(CheckCXXCompilerFlag)
  include(CheckPIESupported)
  check_pie_supported(LANGUAGES CXX)
  # Not every processor supports every flag. clang only warns about an unsupported flag, but with -Werror that
  # warning would break our build.
  set(CMAKE_REQUIRED_FLAGS -Werror)
  foreach(flag IN ITEMS -fstack-protector-strong -fstack-clash-protection -fcf-protection -mbranch-protection=standard)
    string(MAKE_C_IDENTIFIER "driverupgrade_has${flag}" known)
    check_cxx_compiler_flag(${flag} ${known})
    if(${known})
      list(APPEND driverupgrade_hardening_options ${flag})
    endif()
  endforeach()
  unset(CMAKE_REQUIRED_FLAGS)
  if(NOT DRIVERUPGRADE_SANITIZE)
    # _FORTIFY_SOURCE needs optimization, and sanitizers have their own checks.
    foreach(flag IN ITEMS -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
      list(APPEND driverupgrade_hardening_options "$<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:${flag}>")
    endforeach()
  endif()
endif()

# Warnings, hardening and sanitizers, only for our own code. These options do not affect consumers.
function(driverupgrade_compile_options target)
  if(DRIVERUPGRADE_HARDENING)
    target_compile_options(${target} PRIVATE ${driverupgrade_hardening_options})
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "EXECUTABLE" OR type STREQUAL "SHARED_LIBRARY")
      set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
      target_link_options(${target} PRIVATE LINKER:-z,relro LINKER:-z,now)
    endif()
  endif()
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic
    $<$<BOOL:${DRIVERUPGRADE_WARNINGS_AS_ERRORS}>:-Werror>)
  if(DRIVERUPGRADE_SANITIZE)
    # vptr: cpprestsdk is built without the RTTI data that this check needs.
    # pointer-overflow: RapidJSON's stack.h adds to a null pointer when its stack is empty.
    target_compile_options(${target} PRIVATE -fsanitize=${DRIVERUPGRADE_SANITIZE} -fno-sanitize=vptr,pointer-overflow
      -fno-sanitize-recover=all -fno-omit-frame-pointer)
    # ThreadSanitizer does not support fences, which cpprestsdk's headers use through Boost.Asio.
    if(DRIVERUPGRADE_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(${target} PRIVATE -Wno-tsan)
    endif()
    target_link_options(${target} PUBLIC -fsanitize=${DRIVERUPGRADE_SANITIZE})
  endif()
endfunction()
