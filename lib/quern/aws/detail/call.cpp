#include <quern/aws/detail/call_steps.hpp>

namespace quern::aws {

template class signed_service<json_signer>;

} // namespace quern::aws
