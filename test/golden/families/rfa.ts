import {rfaFeatures} from '../../../src/attention/estimators/rfa.js'
import {rfa as features} from '../../helpers/twins/feature-builders.js'
import {type CaseArrays, type GoldenCase, guardOfNote, numberField, textField} from '../cases.js'
import {checkAttention, checkDecoder, checkFeatures, type Request, resolved} from '../check.js'
import type {Family} from './family.js'

/** sin/cos features of unit vectors. */
export const rfa: Family = {
  name: 'random feature attention',
  methods: ['RFA sin/cos', 'RFA sincos'],
  request: requestOf,
  check(golden, arrays) {
    const request = requestOf(golden, arrays)
    checkAttention(golden, arrays, request)
    const options = resolved(request) as Parameters<typeof rfaFeatures>[2]
    checkFeatures(golden, arrays, request, features, (x, projection) =>
      rfaFeatures(x, projection, options),
    )
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
  if (golden.method === 'RFA sin/cos') return {method: 'rfa', preset: 'noahs-ark', options}
  // this peer's factor on features is D^-1/2; it cancels from the output
  const featureScale = arrays.shape('q')[3]! ** -0.5
  return {method: 'rfa', options: {...options, featureScale}}
}
