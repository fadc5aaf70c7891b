/** Features and parts of sums that cases of some methods hold beside the output. */
import type {MethodName} from '../../../src/attention/index.js'
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

export const METHOD_CHECKS: Partial<Record<MethodName, MethodCheck>> = {
  elu,
  'favor-pos': positiveFeatures,
  'favor-hyp': hyperbolicFeatures,
  'favor-trig': trigonometricFeatures,
  'favor-relu': rectifiedFeatures,
  oprf,
  rfa,
  'rfa-arccos': rfaArccos,
  'rfa-gate': rfaGate,
}
