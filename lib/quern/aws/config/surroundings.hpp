#pragma once

#include <quern/aws/config/environment.hpp>
#include <quern/aws/config/files.hpp>
#include <quern/aws/web.hpp>
#include <quern/core/clock.hpp>

namespace quern::aws {

/// Everything that credentials are found through; a test puts its own in each place. All of it outlives what it is
/// given to.
struct surroundings {
    web& http;
    environment variable = process_environment;
    file_system& files = real_files();
    clock& time = real_clock();
};

} // namespace quern::aws
