#pragma once

#include <quern/aws/config/files.hpp>

#include <map>
#include <set>
#include <string>

namespace quern::test {

/// Files that are on no disk.
class paper_files final : public aws::file_system {
public:
    std::map<std::string, std::string> text; ///< by path
    std::set<std::string> locked;            ///< paths that cannot be read or written

    result<std::string> read(std::string const& path) override
    {
        if (locked.contains(path)) return refused(std::errc::permission_denied, path);
        auto const at = text.find(path);
        if (at == text.end()) return refused(std::errc::no_such_file_or_directory, path);
        return at->second;
    }

    result<void> replace(std::string const& path, std::string_view with) override
    {
        if (locked.contains(path)) return refused(std::errc::permission_denied, path);
        text[path] = with;
        return {};
    }

private:
    static failure refused(std::errc code, std::string const& path)
    {
        failure why;
        why.code = make_error_code(code);
        why.message = path;
        return why;
    }
};

} // namespace quern::test
