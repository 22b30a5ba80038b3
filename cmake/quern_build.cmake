# How this project compiles its own code. Nothing here reaches those who link with it.
#
# quern_build is an interface target with the flags of every target of ours; it is never exported.
# quern_outputs(target) sends a program to <build>/bin.

add_library(quern_build INTERFACE)
target_compile_options(quern_build INTERFACE
    -Wall -Wextra -Wpedantic
    -Wno-missing-field-initializers) # options and requests are aggregates; what isn't named keeps its default

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # All of them speak up where nothing is wrong: the first one about results and optionals that were inlined, the second one
    # about the frames of coroutines, the others about std::string once -O2 has inlined it (GCC's bugs 105329 and 105651), which
    # a precompiled header no longer hides as a system header's own affair. The sanitizers, and clang, watch over the same ground.
    target_compile_options(quern_build INTERFACE
        -Wno-maybe-uninitialized -Wno-mismatched-new-delete
        -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread)
endif()

if(NOT QUERN_UNITY)
    target_compile_options(quern_build INTERFACE -Wshadow)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Names of one file may shadow those of another one that is compiled with it. And a coroutine's frame may hold what is of
    # its own file; g++ cannot know that no other unit has that file.
    target_compile_options(quern_build INTERFACE -Wshadow=local -Wno-subobject-linkage)
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # It looks for memory to use again from 128 MB on, which are there once the precompiled header is: a tenth of the time for
    # a tenth of the memory.
    target_compile_options(quern_build INTERFACE --param=ggc-min-heapsize=1048576)
    if(QUERN_UNITY) # else the sources of a unit share what one may inline
        target_compile_options(quern_build INTERFACE --param=large-unit-insns=100000)
    endif()
endif()

# What is built does not depend on where.
target_compile_options(quern_build INTERFACE "-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=")

if(QUERN_WERROR)
    target_compile_options(quern_build INTERFACE -Werror)
endif()

if(QUERN_SANITIZE)
    target_compile_options(quern_build INTERFACE
        -fsanitize=${QUERN_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(quern_build INTERFACE -fsanitize=${QUERN_SANITIZE})
    if(QUERN_SANITIZE MATCHES "address" AND QUERN_SANITIZE MATCHES "undefined")
        # Four of the undefined-behaviour checks stand at each access through a pointer, and without them the build takes half
        # the time (g++ 12.2, Asio's templates). The address sanitizer notices most of what they are for; misaligned access
        # and wrong casts between classes go unnoticed.
        target_compile_options(quern_build INTERFACE -fno-sanitize=null,alignment,object-size,vptr)
        if(CMAKE_CXX_COMPILER_ID MATCHES "Clang") # 14 cannot assemble a coroutine with this check
            target_compile_options(quern_build INTERFACE -fno-sanitize=function)
        endif()
    endif()
    if(QUERN_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        # Asio's fences are always beside a mutex; without this each one is a warning.
        target_compile_options(quern_build INTERFACE -Wno-tsan)
    endif()
endif()

if(QUERN_FUZZ) # libFuzzer counts the edges that its inputs reach; its main() comes with tests/fuzz
    target_compile_options(quern_build INTERFACE -fsanitize=fuzzer-no-link)
endif()

# A hundred programs are linked, each from 40 MB: mold takes a tenth of the time.
if(PROJECT_IS_TOP_LEVEL AND NOT QUERN_STATIC)
    find_program(QUERN_MOLD mold)
    mark_as_advanced(QUERN_MOLD)
    if(QUERN_MOLD)
        add_link_options(-fuse-ld=mold)
    endif()
endif()

# ccache, when it is there. The two kinds of sloppiness are what it asks for before it will store anything that was
# compiled with a precompiled header. Paths count from the root of the tree, so that every clone shares what one has
# compiled; a precompiled header has the path of its tree inside, so it is known by the sum that quern_pch() writes.
if(PROJECT_IS_TOP_LEVEL AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
    find_program(QUERN_CCACHE ccache)
    mark_as_advanced(QUERN_CCACHE)
    if(QUERN_CCACHE)
        set(CMAKE_CXX_COMPILER_LAUNCHER
            "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros
            "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=true CCACHE_PCH_EXTSUM=true "${QUERN_CCACHE}")
        if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang") # CMake's own ends in a path behind -Xclang, which ccache can't shorten
            set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -Xclang -include-pch -Xclang <PCH_FILE>)
        endif()
    endif()
endif()

# quern_pch(<target> <header> [<included>...]) gives the target a precompiled header, and ccache its sum: the text of the header
# and of the headers of this tree that it includes, and the versions of the other ones, which are the compiler's and Debian's.
function(quern_pch target header)
    target_precompile_headers(${target} PRIVATE ${header})
    set(sum "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} Boost ${Boost_VERSION} CLI11 ${CLI11_VERSION} fmt ${fmt_VERSION}\n")
    foreach(part IN ITEMS ${header} ${ARGN})
        cmake_path(ABSOLUTE_PATH part OUTPUT_VARIABLE path)
        file(READ "${path}" text)
        string(APPEND sum "${text}")
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${path}")
    endforeach()
    foreach(kind IN ITEMS gch pch)
        file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${target}.dir/cmake_pch.hxx.${kind}.sum" "${sum}")
    endforeach()
endfunction()

# quern_reuse_pch(<target>) gives the target the precompiled header of the libraries.
function(quern_reuse_pch target)
    if(QUERN_PCH)
        target_precompile_headers(${target} REUSE_FROM quern_sqs)
    endif()
endfunction()

# quern_cold(<target>): nothing of it runs for each message. g++ takes the level of optimisation from the precompiled header,
# whatever the command says, so cold targets share one of their own.
set(quern_cold_pch quern_services)
function(quern_cold target)
    if(NOT QUERN_QUICK)
        quern_reuse_pch(${target})
        return()
    endif()
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release,RelWithDebInfo>:-Og>)
    if(QUERN_PCH AND NOT target STREQUAL quern_cold_pch)
        target_precompile_headers(${target} REUSE_FROM ${quern_cold_pch})
    endif()
endfunction()

function(quern_outputs target)
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
endfunction()
