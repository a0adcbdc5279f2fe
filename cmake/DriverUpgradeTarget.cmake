# driverupgrade_add_library(<name> HEADERS <public headers below include/>... SOURCES <sources>...)
# One installable component: target driverupgrade_<name>, used by everyone as driverupgrade::<name>.
function(driverupgrade_add_library name)
  cmake_parse_arguments(ARG "" "" "HEADERS;SOURCES" ${ARGN})
  set(target driverupgrade_${name})
  add_library(${target} ${ARG_SOURCES})
  add_library(driverupgrade::${name} ALIAS ${target})
  list(TRANSFORM ARG_HEADERS PREPEND ${PROJECT_SOURCE_DIR}/include/)
  target_sources(${target} PUBLIC
    FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${ARG_HEADERS})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES
    EXPORT_NAME ${name}
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    POSITION_INDEPENDENT_CODE ON
    VERIFY_INTERFACE_HEADER_SETS ${PROJECT_IS_TOP_LEVEL})
  driverupgrade_compile_options(${target})
  set_property(GLOBAL APPEND PROPERTY DRIVERUPGRADE_COMPONENTS ${name})
endfunction()

# Warnings and sanitizers, for our own code only: nothing of this reaches a consumer.
function(driverupgrade_compile_options target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic
    $<$<BOOL:${DRIVERUPGRADE_WARNINGS_AS_ERRORS}>:-Werror>)
  if(DRIVERUPGRADE_SANITIZE)
    # vptr: cpprestsdk is built without RTTI data that this check needs.
    target_compile_options(${target} PRIVATE -fsanitize=${DRIVERUPGRADE_SANITIZE} -fno-sanitize=vptr
      -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${DRIVERUPGRADE_SANITIZE})
  endif()
endfunction()
