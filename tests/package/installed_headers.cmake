# cmake -DINCLUDE=FOLDER -DLIBRARY=FOLDER -P installed_headers.cmake
# Below INCLUDE lie the public headers of LIBRARY, all of them, and nothing else: a folder detail/ is nobody's interface.

file(GLOB_RECURSE installed RELATIVE "${INCLUDE}" "${INCLUDE}/*")
file(GLOB_RECURSE public RELATIVE "${LIBRARY}" "${LIBRARY}/quern/*.hpp")
list(FILTER public EXCLUDE REGEX "/detail/")
if(NOT public)
    message(SEND_ERROR "There is no public header in ${LIBRARY}.")
endif()

set(too_many ${installed})
list(REMOVE_ITEM too_many ${public})
foreach(file IN LISTS too_many)
    message(SEND_ERROR "${file} is installed, and is no public header.")
endforeach()

set(missing ${public})
list(REMOVE_ITEM missing ${installed})
foreach(file IN LISTS missing)
    message(SEND_ERROR "${file} is a public header, and is not installed.")
endforeach()
