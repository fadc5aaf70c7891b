import rfaEstimator from '../../../src/attention/estimators/rfa.js'
import {deviated} from '../../../src/attention/forms/unit-features.js'
import {namedTensors} from '../../helpers/arrays.js'
import {rfa as features} from '../../helpers/twins/unit-features.js'
import {checkFeatures, resolved} from '../check.js'
import type {MethodCheck} from './types.js'

/** Unit vectors need no arrays beside the projection, and no statistics. */
export const NO_DRAW = {noise: {}, calibration: {query: [], key: []}}

/** sin/cos features of unit vectors. */
export const rfa: MethodCheck = (golden, arrays, call) => {
  const options = resolved(call) as Parameters<typeof rfaEstimator.target>[0]
  checkFeatures(golden, arrays, call, features, (x, projection, side) => {
    const rows = deviated(projection, namedTensors(call.parameters))
    return rfaEstimator.kernel!.features(x, rows, options, {side, ...NO_DRAW})
  })
}
