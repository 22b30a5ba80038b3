#include <quern/aws/detail/call_steps.hpp>

namespace quern::aws::detail {

template class signed_service<json_signer>;
template class signed_service<rest_signer>;

} // namespace quern::aws::detail
