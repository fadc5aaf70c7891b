import estimator from '../../../src/attention/estimators/rfa-arccos.js'
import {deviated} from '../../../src/attention/forms/unit-features.js'
import {namedTensors} from '../../helpers/arrays.js'
import {arcCosine} from '../../helpers/twins/unit-features.js'
import {checkFeatures, resolved} from '../check.js'
import {NO_DRAW} from './rfa.js'
import type {MethodCheck} from './types.js'

/** Rectified features of unit vectors. */
export const rfaArccos: MethodCheck = (golden, arrays, call) => {
  const options = resolved(call) as Parameters<typeof estimator.target>[0]
  checkFeatures(golden, arrays, call, arcCosine, (x, projection, side) => {
    const rows = deviated(projection, namedTensors(call.parameters))
    return estimator.kernel!.features(x, rows, options, {side, ...NO_DRAW})
  })
}
