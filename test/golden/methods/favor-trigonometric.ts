import * as tf from '@tensorflow/tfjs-core'
import favorTrigonometric from '../../../src/attention/estimators/favor-trigonometric.js'
import type {Projection} from '../../../src/attention/index.js'
import {trigonometric} from '../../helpers/twins/feature-builders.js'
import {checkFeatures, resolved} from '../check.js'
import type {MethodCheck} from './types.js'

/** sin/cos features on canonical inputs. */
export const trigonometricFeatures: MethodCheck = (golden, arrays, call) => {
  const options = resolved(call) as ReturnType<typeof favorTrigonometric.options.parse>
  if (options.norms !== 'none') return
  checkFeatures(golden, arrays, call, trigonometric, (x, projection) =>
    cosinesFirst(x, projection, options),
  )
}

/** fast-transformers puts cosines before sines. */
function cosinesFirst(
  x: tf.Tensor4D,
  projection: Projection,
  options: ReturnType<typeof favorTrigonometric.options.parse>,
): tf.Tensor4D {
  const canonical: tf.Tensor4D = tf.mul(x, x.shape[3] ** -0.25)
  const features = favorTrigonometric.kernel!.features(canonical, projection, options, {
    side: 'query',
    noise: {},
    calibration: {query: [], key: []},
  })
  const count = projection.shape.at(-2)!
  const extra = features.shape[3] - 2 * count
  return tf.concat(
    tf
      .split(features, [count, count, ...(extra > 0 ? [extra] : [])], 3)
      .map((part, n, parts) => (n < 2 ? parts[1 - n]! : part)),
    3,
  ) as tf.Tensor4D
}
