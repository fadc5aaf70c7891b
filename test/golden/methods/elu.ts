import * as tf from '@tensorflow/tfjs-core'
import {eluPlusOne, linearAttention} from '../../../src/attention/index.js'
import {normalize, parseGuard} from '../../../src/attention/kernels/guard.js'
import {compute, toTensors} from '../../helpers/arrays.js'
import {TWINS} from '../../helpers/twins/index.js'
import type {CaseArrays, GoldenCase} from '../cases.js'
import {assertCase, type Call, twinInputs} from '../check.js'
import type {MethodCheck} from './types.js'

/** elu(x) + 1: sums carried in. */
export const elu: MethodCheck = (golden, arrays, call) => {
  if (arrays.has('out_from_state')) checkContinued(golden, arrays, call)
}

/** The chunked form continued from given sums. */
function checkContinued(golden: GoldenCase, arrays: CaseArrays, call: Call): void {
  const inputs = {
    ...twinInputs(golden, arrays, call),
    initialState: {state: arrays.numbers('S0'), normalizer: arrays.numbers('z0')},
  }
  const {denGuard, queryScale} = inputs.options as {denGuard: string; queryScale: string}
  const out = compute(() => {
    const [query, key, value] = toTensors(inputs)
    const scale = queryScale === 'none' ? 1 : query.shape[3] ** -0.5
    const initialState = {
      state: tensorOf(arrays, 'S0') as tf.Tensor4D,
      normalizer: tensorOf(arrays, 'z0') as tf.Tensor3D,
    }
    const sums = linearAttention(tf.mul(eluPlusOne(query), scale), eluPlusOne(key), value, {
      causal: true,
      initialState,
    })
    return normalize(sums, parseGuard(denGuard)).out
  })
  assertCase(golden, arrays, 'out_from_state', out, TWINS.elu(inputs).out)
}

function tensorOf(arrays: CaseArrays, name: string): tf.Tensor {
  return tf.tensor(Float32Array.from(arrays.numbers(name)), arrays.shape(name))
}
