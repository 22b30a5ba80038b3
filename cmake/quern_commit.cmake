# QUERN_COMMIT: the commit that is built, for `quern --version`. An archive made by git has it in cmake/commit.txt.

file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/commit.txt" QUERN_COMMIT LIMIT_COUNT 1)
if(QUERN_COMMIT MATCHES "Format")
    execute_process(COMMAND git -C "${PROJECT_SOURCE_DIR}" rev-parse --short=9 HEAD OUTPUT_VARIABLE QUERN_COMMIT ERROR_QUIET
        OUTPUT_STRIP_TRAILING_WHITESPACE)
    execute_process(COMMAND git -C "${PROJECT_SOURCE_DIR}" rev-parse --git-path logs/HEAD OUTPUT_VARIABLE log ERROR_QUIET
        OUTPUT_STRIP_TRAILING_WHITESPACE)
    get_filename_component(log "${log}" ABSOLUTE BASE_DIR "${PROJECT_SOURCE_DIR}")
    if(EXISTS "${log}") # grows with each commit
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${log}")
    endif()
endif()
if(NOT QUERN_COMMIT)
    set(QUERN_COMMIT "commit unknown")
endif()
