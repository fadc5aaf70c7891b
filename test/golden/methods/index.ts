/** Features, running sums and parts of sums that cases of some methods hold beside the output. */
import type {MethodName} from '../../../src/attention/index.js'
import {exponentials} from '../../helpers/twins/efficient.js'
import {squared} from '../../helpers/twins/elementwise.js'
import type {FeatureBuilder} from '../../helpers/twins/weighted.js'
import {checkDecoder} from '../check.js'
import {elu} from './elu.js'
import {hyperbolicFeatures} from './favor-hyperbolic.js'
import {positiveFeatures} from './favor-positive.js'
import {rectifiedFeatures} from './favor-relu.js'
import {trigonometricFeatures} from './favor-trigonometric.js'
import {oprf} from './oprf.js'
import {rfa} from './rfa.js'
import {rfaArccos} from './rfa-arccos.js'
import {rfaGate} from './rfa-gate.js'
import type {MethodCheck} from './types.js'

const decoding =
  (build: FeatureBuilder): MethodCheck =>
  (golden, arrays, call) => {
    const inBuckets = Number(call.options.bucket ?? 1) > 1
    if (golden.causal === true && !inBuckets) checkDecoder(golden, arrays, call, build)
  }

export const METHOD_CHECKS: Partial<Record<MethodName, MethodCheck>> = {
  elu,
  'squared-relu': decoding(squared),
  efficient: decoding(exponentials),
  'favor-pos': positiveFeatures,
  'favor-hyp': hyperbolicFeatures,
  'favor-trig': trigonometricFeatures,
  'favor-relu': rectifiedFeatures,
  'favor-sigmoid': rectifiedFeatures,
  oprf,
  rfa,
  'rfa-arccos': rfaArccos,
  'rfa-gate': rfaGate,
}
