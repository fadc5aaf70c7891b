// The numbers that enumerations travel as.
#include "bindings/arguments.h"
#include "bindings/exports.h"

namespace rfa::bindings {

namespace {

template <class Enum>
Object names(Env env, std::initializer_list<std::pair<const char*, Enum>> entries) {
  Object out = Object::New(env);
  for (const auto& [name, code] : entries) out.Set(name, static_cast<int>(code));
  return out;
}

// The numbers of every enumeration, by the names that TypeScript uses.
// TypeScript looks numbers up here: the order of an enumeration in rfa.h may change with no other
// change.
Object codes(Env env) {
  using rfa::Activation;
  using rfa::Binary;
  using rfa::FeatureKind;
  using rfa::Guard;
  using rfa::Reduction;
  using rfa::Unary;
  Object out = Object::New(env);
  out.Set("feature", names<FeatureKind>(env, {{"explicit", FeatureKind::kExplicit},
                                              {"elu-plus-one", FeatureKind::kEluPlusOne},
                                              {"trigonometric", FeatureKind::kTrigonometric},
                                              {"relu", FeatureKind::kRelu},
                                              {"log-positive", FeatureKind::kLogPositive},
                                              {"log-hyperbolic", FeatureKind::kLogHyperbolic}}));
  out.Set("guard", names<Guard>(env, {{"none", Guard::kNone},
                                      {"add", Guard::kAdd},
                                      {"clamp", Guard::kClamp},
                                      {"abs-clamp", Guard::kAbsClamp},
                                      {"nudge", Guard::kNudge}}));
  out.Set("activation", names<Activation>(env, {{"linear", Activation::kNone},
                                                {"relu", Activation::kRelu},
                                                {"relu6", Activation::kRelu6},
                                                {"elu", Activation::kElu},
                                                {"gelu", Activation::kGelu},
                                                {"gelu-tanh", Activation::kGeluTanh},
                                                {"silu", Activation::kSilu}}));
  out.Set("unary", names<Unary>(env, {{"Exp", Unary::kExp},
                                      {"Log", Unary::kLog},
                                      {"Sin", Unary::kSin},
                                      {"Cos", Unary::kCos},
                                      {"Relu", Unary::kRelu},
                                      {"Elu", Unary::kElu},
                                      {"Square", Unary::kSquare},
                                      {"Neg", Unary::kNegate},
                                      {"Abs", Unary::kAbs},
                                      {"Sqrt", Unary::kSqrt},
                                      {"Rsqrt", Unary::kRsqrt},
                                      {"Reciprocal", Unary::kReciprocal},
                                      {"Sign", Unary::kSign},
                                      {"Step", Unary::kStep},
                                      {"Sigmoid", Unary::kSigmoid}}));
  out.Set("binary", names<Binary>(env, {{"Add", Binary::kAdd},
                                        {"Sub", Binary::kSubtract},
                                        {"Multiply", Binary::kMultiply},
                                        {"RealDiv", Binary::kDivide},
                                        {"Maximum", Binary::kMaximum},
                                        {"Minimum", Binary::kMinimum},
                                        {"SquaredDifference", Binary::kSquaredDifference},
                                        {"Pow", Binary::kPower},
                                        {"Equal", Binary::kEqual},
                                        {"NotEqual", Binary::kNotEqual},
                                        {"Less", Binary::kLess},
                                        {"LessEqual", Binary::kLessEqual},
                                        {"Greater", Binary::kGreater},
                                        {"GreaterEqual", Binary::kGreaterEqual}}));
  out.Set("reduction", names<Reduction>(env, {{"Sum", Reduction::kSum},
                                              {"Max", Reduction::kMax},
                                              {"LogSumExp", Reduction::kLogSumExp},
                                              {"Mean", Reduction::kMean},
                                              {"Min", Reduction::kMin},
                                              {"Prod", Reduction::kProduct},
                                              {"SquareSum", Reduction::kSquareSum}}));
  return out;
}

}  // namespace

void export_codes(Env env, Object exports) {
  exports.Set("codes", codes(env));
  exports.Set("maxRank", rfa::kMaxRank);
}

}  // namespace rfa::bindings
