// Instruction set, threads, memory, speed.
#include "bindings/arguments.h"
#include "bindings/exports.h"
#include "memory.h"

namespace rfa::bindings {

namespace {

Value runtime(const CallbackInfo& info) {
  const rfa::Runtime facts = rfa::runtime();
  Object out = Object::New(info.Env());
  out.Set("isa", facts.isa);
  out.Set("available", facts.available);
  out.Set("lanes", facts.lanes);
  out.Set("forced", facts.forced);
  out.Set("error", facts.error);
  out.Set("compiler", facts.compiler);
  out.Set("build", facts.build);
  return out;
}

Value select_isa(const CallbackInfo& info) {
  return Napi::String::New(info.Env(), rfa::select_isa(info[0].As<Napi::String>().Utf8Value()));
}

void set_threads(const CallbackInfo& info) {
  rfa::set_threads(info[0].As<Napi::Number>().Int32Value());
}
Value threads(const CallbackInfo& info) { return Napi::Number::New(info.Env(), rfa::threads()); }

Value bind_threads(const CallbackInfo& info) {
  const Napi::Array processors = info[0].As<Napi::Array>();
  std::vector<int> all(processors.Length());
  for (std::uint32_t i = 0; i < all.size(); i++) {
    all[i] = processors.Get(i).As<Napi::Number>().Int32Value();
  }
  return Napi::Boolean::New(info.Env(), rfa::bind_threads(all));
}

Value fma_peak(const CallbackInfo& info) {
  return Napi::Number::New(info.Env(), rfa::fma_peak(info[0].As<Napi::Number>().DoubleValue()));
}

void advise_large_pages(const CallbackInfo& info) {
  rfa::advise_large_pages(data_of(info[0]), info[0].As<Napi::TypedArray>().ByteLength());
}

// Bytes between the start of a cache line and that of an array's memory.
// JavaScript sees no addresses: this is how TypeScript aligns arrays (storage.ts).
Value line_offset(const CallbackInfo& info) {
  constexpr std::uintptr_t kLine = 64;
  const auto address = reinterpret_cast<std::uintptr_t>(data_of(info[0]));
  return Napi::Number::New(info.Env(), static_cast<double>(address % kLine));
}

Value workspace_bytes(const CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(rfa::workspace_bytes()));
}
void release_workspace(const CallbackInfo&) { rfa::release_workspace(); }

}  // namespace

void export_runtime(Env env, Object exports) {
  export_function<runtime>(env, exports, "runtime");
  export_function<select_isa>(env, exports, "selectIsa");
  export_procedure<set_threads>(env, exports, "setThreads");
  export_function<threads>(env, exports, "threads");
  export_function<bind_threads>(env, exports, "bindThreads");
  export_function<fma_peak>(env, exports, "fmaPeak");
  export_procedure<advise_large_pages>(env, exports, "adviseLargePages");
  export_function<line_offset>(env, exports, "lineOffset");
  export_function<workspace_bytes>(env, exports, "workspaceBytes");
  export_procedure<release_workspace>(env, exports, "releaseWorkspace");
}

}  // namespace rfa::bindings
