#include <quern/core/detail/text/prometheus_page.hpp>

#include <utility>

namespace quern::detail::text {
namespace {

void append_escaped(std::string& to, std::string_view value, bool in_quotes)
{
    for (char const c : value) {
        if (c == '\\')
            to += "\\\\";
        else if (c == '\n')
            to += "\\n";
        else if (c == '"' && in_quotes)
            to += "\\\"";
        else
            to += c;
    }
}

} // namespace

void append_label(std::string& to, std::string_view name, std::string_view value)
{
    if (!to.empty()) to += ',';
    to.append(name) += "=\"";
    append_escaped(to, value, true);
    to += '"';
}

void prometheus_page::family(std::string_view name, std::string_view type, std::string_view help)
{
    name_ = name;
    bool const open = how_ == form::openmetrics;
    if (open && type == "counter") name.remove_suffix(std::string_view("_total").size()); // its samples alone have it
    out_.append("# HELP ").append(name) += ' ';
    append_escaped(out_, help, open);
    out_.append("\n# TYPE ").append(name).append(" ").append(type) += '\n';
    if (!open) return;
    for (std::string_view const unit : {"seconds", "bytes", "ratio"})
        if (name.ends_with(unit)) out_.append("# UNIT ").append(name).append(" ").append(unit) += '\n';
}

void prometheus_page::sample(std::string_view labels, std::string_view value, std::string_view ending)
{
    out_.append(name_).append(ending);
    if (!labels.empty()) out_.append("{").append(labels) += '}';
    out_.append(" ").append(value) += '\n';
}

std::string prometheus_page::bound(std::string number) const
{
    if (how_ == form::openmetrics && number.find('.') == number.npos) number += ".0";
    return number;
}

std::string prometheus_page::take()
{
    if (how_ == form::openmetrics) out_ += "# EOF\n";
    return std::move(out_);
}

} // namespace quern::detail::text
