# Functions shared by the documentation checks. CMake treats `;`, `[`, `]` and `\` in lists specially, so text is passed
# through markdown_encode before it is split, and through markdown_decode before it is shown.
string(ASCII 28 MARKDOWN_BACKSLASH)
string(ASCII 29 MARKDOWN_OPEN)
string(ASCII 30 MARKDOWN_SEMICOLON)
string(ASCII 31 MARKDOWN_CLOSE)
string(ASCII 1 MARKDOWN_PIPE)

# Encodes text. An escaped pipe does not end a table cell.
function(markdown_encode text result)
  string(REPLACE "\\|" "${MARKDOWN_PIPE}" text "${text}")
  string(REPLACE "\\" "${MARKDOWN_BACKSLASH}" text "${text}")
  string(REPLACE ";" "${MARKDOWN_SEMICOLON}" text "${text}")
  string(REPLACE "[" "${MARKDOWN_OPEN}" text "${text}")
  string(REPLACE "]" "${MARKDOWN_CLOSE}" text "${text}")
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

function(markdown_decode text result)
  string(REPLACE "${MARKDOWN_PIPE}" "|" text "${text}")
  string(REPLACE "${MARKDOWN_CLOSE}" "]" text "${text}")
  string(REPLACE "${MARKDOWN_OPEN}" "[" text "${text}")
  string(REPLACE "${MARKDOWN_SEMICOLON}" ";" text "${text}")
  string(REPLACE "${MARKDOWN_BACKSLASH}" "\\" text "${text}")
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

# Returns the lines of a file, encoded.
function(markdown_lines path result)
  file(READ "${path}" text)
  markdown_encode("${text}" text)
  string(REPLACE "\n" ";" lines "${text}")
  set(${result} "${lines}" PARENT_SCOPE)
endfunction()

# Reports all mistakes in one run.
set(MARKDOWN_ERRORS 0)
macro(markdown_error text)
  markdown_decode("${text}" MARKDOWN_ERROR_TEXT)
  message("${PAGE}: ${MARKDOWN_ERROR_TEXT}")
  math(EXPR MARKDOWN_ERRORS "${MARKDOWN_ERRORS} + 1")
endmacro()

macro(markdown_finish)
  if(MARKDOWN_ERRORS)
    message(FATAL_ERROR "${MARKDOWN_ERRORS} mistakes in ${PAGE}")
  endif()
endmacro()
