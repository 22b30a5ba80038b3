# What `cpack` makes in the folder of a release build: two Debian packages, quern (the program) and libquern-dev.
# `./dev package` builds what goes into them.

find_package(Python3 COMPONENTS Interpreter QUIET)
if(QUERN_APPS AND Python3_FOUND)
    # Man pages, and completions for the shells: made of what --help says.
    set(shell_files "${PROJECT_BINARY_DIR}/shell_files")
    add_custom_target(quern_shell_files
        COMMAND Python3::Interpreter -B "${PROJECT_SOURCE_DIR}/tools/make_shell_files.py" $<TARGET_FILE:app_quern> "${shell_files}"
        DEPENDS app_quern VERBATIM)
    install(DIRECTORY "${shell_files}/man1" DESTINATION "${CMAKE_INSTALL_MANDIR}" COMPONENT quern OPTIONAL)
    install(FILES "${shell_files}/bash/quern" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions"
        COMPONENT quern OPTIONAL)
    install(FILES "${shell_files}/zsh/_quern" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions" COMPONENT quern OPTIONAL)
    install(FILES "${shell_files}/fish/quern.fish" DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d"
        COMPONENT quern OPTIONAL)
endif()

if(QUERN_APPS)
    install(FILES "${PROJECT_SOURCE_DIR}/docs/examples/quern-relay@.service" DESTINATION lib/systemd/system COMPONENT quern)
    install(FILES "${PROJECT_SOURCE_DIR}/docs/examples/grafana-dashboard.json" DESTINATION "${CMAKE_INSTALL_DATADIR}/quern"
        COMPONENT quern)
endif()

# Debian wants its own form of changelog, and of who holds which rights. The date is that of the last commit, so that two
# builds of a commit make the same package.
execute_process(COMMAND git -C "${PROJECT_SOURCE_DIR}" log -1 --format=%cD OUTPUT_VARIABLE changed_at ERROR_QUIET
    OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT changed_at)
    set(changed_at "Thu, 01 Jan 1970 00:00:00 +0000")
endif()
set(maintainer "The Quern developers <developers@quern.example>")
find_program(QUERN_GZIP gzip)
mark_as_advanced(QUERN_GZIP)
foreach(package IN ITEMS quern libquern-dev)
    set(folder "${PROJECT_BINARY_DIR}/debian/${package}")
    file(WRITE "${folder}/changelog"
        "quern (${PROJECT_VERSION}) unstable; urgency=medium\n\n  * CHANGELOG.md tells what is new.\n\n -- ${maintainer}  ${changed_at}\n")
    if(QUERN_GZIP)
        execute_process(COMMAND "${QUERN_GZIP}" -9nf "${folder}/changelog")
        install(FILES "${folder}/changelog.gz" DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${package}" COMPONENT ${package})
    endif()
    install(FILES "${PROJECT_SOURCE_DIR}/packaging/copyright" DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${package}"
        COMPONENT ${package})
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME quern)
set(CPACK_PACKAGE_CONTACT "${maintainer}")
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL quern libquern-dev)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_QUERN_PACKAGE_NAME quern)
set(CPACK_DEBIAN_QUERN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_QUERN_PACKAGE_DEPENDS ca-certificates)
set(CPACK_COMPONENT_QUERN_DESCRIPTION "The program quern runs a command, or asks a web service, for each message of a
queue; sends the messages of dead-letter queues back; and is an SQS for one
machine.")
set(CPACK_DEBIAN_LIBQUERN-DEV_PACKAGE_NAME libquern-dev)
set(CPACK_DEBIAN_LIBQUERN-DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBQUERN-DEV_PACKAGE_SHLIBDEPS OFF)
set(boost_number)
if(EXISTS /usr/share/doc/libboost1.81-dev) # Debian 12, whose libboost-dev is too old
    set(boost_number 1.81)
endif()
set(CPACK_DEBIAN_LIBQUERN-DEV_PACKAGE_DEPENDS
    "libboost${boost_number}-dev, libboost-json${boost_number}-dev, libssl-dev, libsimdjson-dev")
set(CPACK_COMPONENT_LIBQUERN-DEV_DESCRIPTION "Libraries, headers, and what CMake and pkg-config need to find them.")
include(CPack)
