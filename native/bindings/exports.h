// What each file of this folder adds to the addon.
#pragma once

#include <napi.h>

namespace rfa::bindings {

void export_codes(Napi::Env env, Napi::Object exports);
void export_attention(Napi::Env env, Napi::Object exports);
void export_features(Napi::Env env, Napi::Object exports);
void export_decoders(Napi::Env env, Napi::Object exports);
void export_draws(Napi::Env env, Napi::Object exports);
void export_judge(Napi::Env env, Napi::Object exports);
void export_tensor(Napi::Env env, Napi::Object exports);
void export_runtime(Napi::Env env, Napi::Object exports);

}  // namespace rfa::bindings
