import type * as tf from '@tensorflow/tfjs-core'
import {logHyperbolic} from './hyperbolic.js'
import {logPositive} from './positive.js'
import {rectified} from './relu.js'
import {trigonometric} from './trigonometric.js'

/** Nonlinearities by name: projected `[N, L, M]` and |x|^2/2 `[N, L, 1]` to features `[N, L, F]`. */
export const NONLINEARITIES = {
  'log-positive': logPositive,
  'log-hyperbolic': logHyperbolic,
  trigonometric,
  relu: rectified,
} as const satisfies Record<string, (p: tf.Tensor3D, halfNorm: tf.Tensor3D) => tf.Tensor3D>

/** What `featureMap` computes; a `log-` kind returns logarithms of positive features. */
export type FeatureKind = keyof typeof NONLINEARITIES
