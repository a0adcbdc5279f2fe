# Checks that the programs have the options that the pages mention.
#
#   cmake -DPAGES=a.md,b.md -DBIN=... -DPROGRAMS=a,b -P options.cmake
#
# Checks the commands `build/release/bin/PROGRAM --option...` on every page, and all text in backticks that starts with
# `--` on the page of a program. The page of a program is the README.md of a directory below examples/ or tools/ that
# has the program's name (`gpu` for gpu_operator, `ofed` for ofed_operator).
cmake_minimum_required(VERSION 3.23)
include(${CMAKE_CURRENT_LIST_DIR}/markdown.cmake)

string(REPLACE "," ";" PAGES "${PAGES}")
string(REPLACE "," ";" PROGRAMS "${PROGRAMS}")

# Some programs list their options only in response to an unknown option.
foreach(program IN LISTS PROGRAMS)
  execute_process(COMMAND "${BIN}/${program}" --help OUTPUT_VARIABLE out ERROR_VARIABLE err)
  execute_process(COMMAND "${BIN}/${program}" --help-all OUTPUT_VARIABLE all ERROR_QUIET)
  string(REGEX MATCHALL "--[a-z][a-z-]*" options_of_${program} "${out}${err}${all}")
  if(NOT options_of_${program})
    message(FATAL_ERROR "${program} --help names no options")
  endif()
endforeach()

set(checked 0)
# check_options(PROGRAM TEXT): checks that the program has every --option in the text.
macro(check_options program text)
  string(REGEX MATCHALL "--[a-z][a-z-]*" named "${text}")
  foreach(option IN LISTS named)
    math(EXPR checked "${checked} + 1")
    if(NOT option IN_LIST options_of_${program})
      markdown_error("${program} has no ${option}")
    endif()
  endforeach()
endmacro()

foreach(PAGE IN LISTS PAGES)
  file(READ "${PAGE}" page)
  markdown_encode("${page}" page)
  string(REPLACE "${MARKDOWN_BACKSLASH}\n" " " page "${page}")
  string(REGEX MATCHALL "build/[a-z]+/bin/[a-z_]+[^\n#|]*" commands "${page}")
  foreach(command IN LISTS commands)
    string(REGEX MATCH "bin/([a-z_]+)(.*)" command "${command}")
    if(CMAKE_MATCH_1 IN_LIST PROGRAMS)
      check_options(${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")
    endif()
  endforeach()
  set(own "")
  if(PAGE MATCHES "/(examples|examples/operators|tools)/([a-z_]+)/README\\.md$")
    set(own ${CMAKE_MATCH_2})
  endif()
  if(own MATCHES "^(gpu|ofed)$")
    set(own ${own}_operator)
  endif()
  if(own IN_LIST PROGRAMS)
    string(REGEX MATCHALL "`--[^`\n]*`" spans "${page}")
    foreach(span IN LISTS spans)
      check_options(${own} "${span}")
    endforeach()
  endif()
endforeach()
if(checked EQUAL 0)
  message(FATAL_ERROR "the pages name no options")
endif()
message(STATUS "${checked} options")
set(PAGE "the documentation")
markdown_finish()
