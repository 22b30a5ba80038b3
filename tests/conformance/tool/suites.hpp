#pragma once

#include "files.hpp"
#include "report.hpp"

namespace quern::conformance {

// One function a suite, each in a file of its own. The path exists. They throw std::exception where the data cannot
// be read at all.

void run_sigv4(fs::path const&, report&);
void run_md5(fs::path const&, report&);
void run_retry(fs::path const&, report&);
void run_protocol(fs::path const&, report&);
void run_profile(fs::path const&, report&);
void run_file_location(fs::path const&, report&);
void run_assume_role(fs::path const&, report&);
void run_default_chain(fs::path const&, report&);
void run_profile_provider(fs::path const&, report&);
void run_ecs(fs::path const&, report&);
void run_imds(fs::path const&, report&);
void run_endpoints(fs::path const&, report&);
void run_endpoint_url(fs::path const&, report&);

} // namespace quern::conformance
