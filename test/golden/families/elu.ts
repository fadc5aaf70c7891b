import * as tf from '@tensorflow/tfjs-core'
import type {PresetName} from '../../../src/attention/index.js'
import {eluPlusOne, linearAttention} from '../../../src/attention/index.js'
import {normalize, parseGuard} from '../../../src/attention/kernels/guard.js'
import {compute, toTensors} from '../../helpers/arrays.js'
import {eluPlusOne as eluFeatures} from '../../helpers/twins/feature-builders.js'
import {TWINS} from '../../helpers/twins/index.js'
import type {CaseArrays, GoldenCase} from '../cases.js'
import {numberField} from '../cases.js'
import {assertCase, checkAttention, checkDecoder, type Request, twinInputs} from '../check.js'
import type {Family} from './family.js'

const PEERS: readonly [RegExp, PresetName][] = [
  [/^idiap\//, 'fast-transformers'],
  [/^fla-org\//, 'fla'],
  [/^google-research/, 'google-slim'],
]

/** elu(x) + 1. Here `eps` is what is added to the denominator. */
export const elu: Family = {
  name: 'elu + 1',
  methods: ['linear elu+1', 'slim performer elu+1'],
  request: requestOf,
  check(golden, arrays) {
    const request = requestOf(golden)
    checkAttention(golden, arrays, request)
    if (golden.causal === true) checkDecoder(golden, arrays, request, eluFeatures)
    if (arrays.has('out_from_state')) checkContinued(golden, arrays, request)
  },
}

function requestOf(golden: GoldenCase): Request {
  const preset = PEERS.find(([pattern]) => pattern.test(golden.peer))?.[1]
  if (!preset) throw new Error(`${golden.name}: no preset reproduces ${golden.peer}`)
  const epsilon = numberField(golden, 'eps')
  return {method: 'elu', preset, options: epsilon === undefined ? {} : {denGuard: `add:${epsilon}`}}
}

/** The chunked form continued from given sums. */
function checkContinued(golden: GoldenCase, arrays: CaseArrays, request: Request): void {
  const inputs = {
    ...twinInputs(golden, arrays, request),
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
  assertCase(golden, arrays, 'out_from_state', out, TWINS.elu!(inputs).out)
}

function tensorOf(arrays: CaseArrays, name: string): tf.Tensor {
  return tf.tensor(Float32Array.from(arrays.numbers(name)), arrays.shape(name))
}
