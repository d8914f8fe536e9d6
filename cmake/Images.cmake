# SPDX-License-Identifier: MIT
# Kernel images travel inside the libraries that load them:
#   ks_spirv(TARGET NAME FILE [DEFINES])   GLSL -> SPIR-V words in images/NAME.spv.inc
#   ks_fatbin(TARGET NAME FILE)            CUDA -> fat binary, symbols NAME_begin and NAME_end
function(ks_spirv target name source)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/images/${name}.spv.inc)
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/images)
  set(defines "")
  foreach(d ${ARGN})
    list(APPEND defines -D${d})
  endforeach()
  file(GLOB_RECURSE bodies CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/megakernel/*.inl
       ${CMAKE_SOURCE_DIR}/megakernel/*.glsl)
  add_custom_command(OUTPUT ${out}
    COMMAND Vulkan::glslc --target-env=vulkan1.2 -O -fshader-stage=compute -I ${CMAKE_SOURCE_DIR}
            ${defines} -mfmt=num -o ${out} ${CMAKE_CURRENT_SOURCE_DIR}/${source}
    DEPENDS ${source} ${bodies} VERBATIM)
  target_sources(${target} PRIVATE ${out})
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
endfunction()

function(ks_fatbin target name source)
  set(fatbin ${CMAKE_CURRENT_BINARY_DIR}/images/${name}.fatbin)
  set(asm ${CMAKE_CURRENT_BINARY_DIR}/images/${name}.S)
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/images)
  file(GLOB_RECURSE bodies CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/megakernel/*.inl
       ${CMAKE_SOURCE_DIR}/megakernel/*.cuh)
  add_custom_command(OUTPUT ${fatbin}
    COMMAND ${CUDAToolkit_NVCC_EXECUTABLE} -fatbin -std=c++20 -O3 -lineinfo -I ${CMAKE_SOURCE_DIR}
            -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90
            -gencode arch=compute_90,code=compute_90
            -o ${fatbin} ${CMAKE_CURRENT_SOURCE_DIR}/${source}
    DEPENDS ${source} ${bodies} VERBATIM)
  file(WRITE ${asm}.in "    .section .rodata\n    .balign 64\n    .global ${name}_begin\n${name}_begin:\n"
       "    .incbin \"${fatbin}\"\n    .global ${name}_end\n${name}_end:\n    .byte 0\n"
       "    .section .note.GNU-stack,\"\",@progbits\n")
  configure_file(${asm}.in ${asm} COPYONLY)
  set_source_files_properties(${asm} PROPERTIES OBJECT_DEPENDS ${fatbin} LANGUAGE ASM)
  target_sources(${target} PRIVATE ${asm})
endfunction()
