"""conan create packaging/conan --build=missing: the tree that it stands in, as a package."""

import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load


class Quern(ConanFile):
    name = "quern"
    description = "Consume Amazon SQS queues with C++20 coroutines"
    license = "Apache-2.0"
    topics = ("sqs", "aws", "queue", "coroutines", "asio")
    package_type = "library"
    settings = "os", "compiler", "build_type", "arch"
    options = {"shared": [True, False], "fPIC": [True, False], "broker": [True, False]}
    default_options = {"shared": False, "fPIC": True, "broker": True}
    implements = ["auto_shared_fpic"]

    @property
    def _tree(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        self.version = re.search(r"VERSION (\d+\.\d+\.\d+)", load(self, os.path.join(self._tree, "CMakeLists.txt")))[1]

    def export_sources(self):
        for part in ("CMakeLists.txt", "LICENSE", "cmake/*", "lib/*", "tools/check_coroutines.py", "tools/coroutine*.py", "packaging/*"):
            copy(self, part, self._tree, self.export_sources_folder)

    def requirements(self):
        self.requires("boost/[>=1.81]", transitive_headers=True)
        self.requires("openssl/[>=3.0 <4]", transitive_headers=True)
        self.requires("simdjson/[>=3.0]")

    def validate(self):
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        for option in ("TESTS", "APPS", "BENCH", "PCH"):
            toolchain.cache_variables["QUERN_" + option] = False
        for option in ("BROKER", "SIM"):
            toolchain.cache_variables["QUERN_" + option] = bool(self.options.broker)
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()

    def package_info(self):
        # Its own CMake package says what its targets are.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "quern")]
        self.cpp_info.includedirs, self.cpp_info.libdirs = ["include"], ["lib"]
