# One static library per instruction set, each with its own flags, behind one addon that chooses at
# load. Never -march=native: the addon must run on other machines than the one that built it.
{
  "target_defaults": {
    "default_configuration": "Release",
    "include_dirs": ["native"],
    # contraction is off so that only explicit multiply-adds round once: the same bits everywhere
    "cflags": ["-fPIC"],
    "cflags_cc": ["-std=c++17", "-fno-math-errno", "-ffp-contract=off", "-fvisibility=hidden", "-Wno-ignored-attributes"],
    "cflags_cc!": ["-fno-exceptions", "-fno-rtti", "-std=gnu++17", "-std=gnu++20"],
    "configurations": {
      "Release": {"defines": ["NDEBUG"], "cflags_cc": ["-O3"]}
    },
    "xcode_settings": {
      "CLANG_CXX_LANGUAGE_STANDARD": "c++17",
      "GCC_ENABLE_CPP_EXCEPTIONS": "YES",
      "GCC_ENABLE_CPP_RTTI": "YES",
      "GCC_OPTIMIZATION_LEVEL": "3",
      "GCC_SYMBOLS_PRIVATE_EXTERN": "YES",
      "MACOSX_DEPLOYMENT_TARGET": "11.0",
      "OTHER_CPLUSPLUSFLAGS": ["-fno-math-errno", "-ffp-contract=off"]
    }
  },
  "targets": [
    {
      "target_name": "rfa_scalar",
      "type": "static_library",
      "sources": ["native/kernels/isa-scalar.cc"]
    },
    {
      "target_name": "rfa_neon",
      "type": "static_library",
      "sources": ["native/kernels/isa-neon.cc"]
    },
    {
      "target_name": "rfa_avx2",
      "type": "static_library",
      "sources": ["native/kernels/isa-avx2.cc"],
      "conditions": [
        ["target_arch=='x64'", {
          "cflags_cc": ["-mavx2", "-mfma"],
          "xcode_settings": {"OTHER_CPLUSPLUSFLAGS": ["-mavx2", "-mfma"]}
        }]
      ]
    },
    {
      "target_name": "rfa_avx512",
      "type": "static_library",
      "sources": ["native/kernels/isa-avx512.cc"],
      "conditions": [
        ["target_arch=='x64'", {
          "cflags_cc": [
            "-mavx512f", "-mavx512vl", "-mavx512dq", "-mfma", "-mprefer-vector-width=512",
            # gcc 12 warns about its own headers (PR 105593)
            "-Wno-uninitialized", "-Wno-maybe-uninitialized"
          ],
          "xcode_settings": {
            "OTHER_CPLUSPLUSFLAGS": ["-mavx512f", "-mavx512vl", "-mavx512dq", "-mfma", "-mprefer-vector-width=512"]
          }
        }]
      ]
    },
    {
      "target_name": "rfa",
      "dependencies": ["rfa_scalar", "rfa_neon", "rfa_avx2", "rfa_avx512"],
      "include_dirs": ["<!(node -p \"require('node-addon-api').include_dir\")"],
      "defines": ["NAPI_VERSION=8", "NAPI_CPP_EXCEPTIONS", "NODE_ADDON_API_CPP_EXCEPTIONS_ALL"],
      "sources": [
        "<!@(node -p \"['native', 'native/bindings'].flatMap(d => require('fs').readdirSync(d).filter(f => f.endsWith('.cc')).sort().map(f => d + '/' + f)).join(' ')\")"
      ]
    }
  ]
}
