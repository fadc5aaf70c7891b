// The Node addon: what it exports stands in bindings/.
#include <napi.h>

#include "bindings/exports.h"
#include "memory.h"

namespace {

Napi::Object init(Napi::Env env, Napi::Object exports) {
  rfa::keep_freed_memory();
  rfa::bindings::export_codes(env, exports);
  rfa::bindings::export_attention(env, exports);
  rfa::bindings::export_features(env, exports);
  rfa::bindings::export_decoders(env, exports);
  rfa::bindings::export_draws(env, exports);
  rfa::bindings::export_judge(env, exports);
  rfa::bindings::export_tensor(env, exports);
  rfa::bindings::export_runtime(env, exports);
  return exports;
}

NODE_API_MODULE(rfa, init)

}  // namespace
