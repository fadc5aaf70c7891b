import rfaEstimator from '../../../src/attention/estimators/rfa.js'
import {deviated} from '../../../src/attention/forms/unit-features.js'
import {type HostArrays, namedTensors} from '../../helpers/arrays.js'
import {rfa as features} from '../../helpers/twins/unit-features.js'
import {type CaseArrays, type GoldenCase, guardOfNote, numberField, textField} from '../cases.js'
import {checkAttention, checkDecoder, checkFeatures, type Request, resolved} from '../check.js'
import type {Family} from './family.js'

/** Unit vectors need no arrays beside the projection, and no statistics. */
export const NO_DRAW = {noise: {}, calibration: {query: [], key: []}}

/** sin/cos features of unit vectors. */
export const rfa: Family = {
  name: 'random feature attention',
  methods: ['RFA sin/cos', 'RFA sincos'],
  request: requestOf,
  check(golden, arrays) {
    const request = requestOf(golden, arrays)
    checkAttention(golden, arrays, request)
    checkUnitFeatures(golden, arrays, request)
    if (golden.causal === true || arrays.has('state_S')) {
      checkDecoder(golden, arrays, request, features)
    }
  },
}

function requestOf(golden: GoldenCase, arrays: CaseArrays): Request {
  const note = textField(golden, 'denom_note')
  const guard = note === '' ? undefined : guardOfNote(note)
  const tau = numberField(golden, 'tau') ?? 1
  const options = {tau, ...(guard && {denGuard: guard, causalDenGuard: guard})}
  const parameters = learnedDeviation(arrays)
  if (golden.method === 'RFA sin/cos')
    return {method: 'rfa', preset: 'noahs-ark', options, parameters}
  // this peer's factor on features is D^-1/2; it cancels from the output
  const featureScale = arrays.shape('q')[3]! ** -0.5
  return {method: 'rfa', options: {...options, featureScale}, parameters}
}

/** `sigma` of the case, `[d]` or one row per head, as `[H, d]`. */
export function learnedDeviation(arrays: CaseArrays): HostArrays {
  if (!arrays.has('sigma')) return {}
  const [, heads, , headDim] = arrays.shape('q') as [number, number, number, number]
  const sigma = arrays.numbers('sigma')
  const data = Float64Array.from({length: heads * headDim}, (_, at) => sigma[at % sigma.length]!)
  return {sigma: {shape: [heads, headDim], data}}
}

/** `phi_q` and `phi_k` of sin/cos features. */
export function checkUnitFeatures(golden: GoldenCase, arrays: CaseArrays, request: Request): void {
  const options = resolved(request) as Parameters<typeof rfaEstimator.target>[0]
  checkFeatures(golden, arrays, request, features, (x, projection, side) => {
    const rows = deviated(projection, namedTensors(request.parameters ?? {}))
    return rfaEstimator.kernel!.features(x, rows, options, {side, ...NO_DRAW})
  })
}
