# SPDX-License-Identifier: MIT
# Compiler settings of the whole project, sanitizers, and the two helpers every folder uses:
#   ks_library(NAME SOURCES ... [DEPS ...])   a static library with the project's warnings
#   ks_test(NAME SOURCES ... [DEPS ...] [LABELS ...])  a GoogleTest program registered with CTest
set(KEYSIEVE_SANITIZE "" CACHE STRING "Sanitizers for the project's own objects, e.g. address,undefined")
option(KEYSIEVE_THREAD_SAFETY "clang -Wthread-safety as errors" OFF)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

add_library(ks_flags INTERFACE)
target_compile_options(ks_flags INTERFACE -Wall -Wextra -Wno-missing-field-initializers)
target_include_directories(ks_flags INTERFACE ${CMAKE_SOURCE_DIR})
if(KEYSIEVE_SANITIZE)
  target_compile_options(ks_flags INTERFACE -fsanitize=${KEYSIEVE_SANITIZE}
    -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${KEYSIEVE_SANITIZE})
endif()
if(KEYSIEVE_THREAD_SAFETY)
  target_compile_options(ks_flags INTERFACE -Wthread-safety -Werror=thread-safety)
endif()

function(ks_library name)
  cmake_parse_arguments(A "" "" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
  add_library(${name} STATIC ${A_SOURCES})
  target_link_libraries(${name} PUBLIC ks_flags ${A_DEPS} PRIVATE ${A_PRIVATE_DEPS})
endfunction()

function(ks_test name)
  cmake_parse_arguments(A "" "TIMEOUT" "SOURCES;DEPS;LABELS" ${ARGN})
  add_executable(${name} ${A_SOURCES})
  target_link_libraries(${name} PRIVATE ks_flags ${A_DEPS} GTest::gmock GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name})
  if(NOT A_TIMEOUT)
    set(A_TIMEOUT 300)
  endif()
  if(name IN_LIST KEYSIEVE_THREAD_TESTS)
    add_dependencies(ks_thread_tests ${name})
    list(APPEND A_LABELS threads)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${A_TIMEOUT} LABELS "${A_LABELS}")
endfunction()
