import * as tf from '@tensorflow/tfjs-core'
import {beforeAll, describe, expect, it} from 'vitest'
import {z} from 'zod'
import type {AttendInputs, DecoderInputs} from '../../../../src/attention/forms/estimator.js'
import {defineFeatureMap} from '../../../../src/attention/forms/feature-map.js'
import {guardOptions} from '../../../../src/attention/forms/options.js'
import {useBackend} from '../../../../src/backends/index.js'
import {hostNormals, toTensor} from '../../../helpers/arrays.js'

const [batch, heads, length, headDim, valueDim] = [2, 3, 5, 7, 11]

const facts = {
  name: 'cube',
  title: 'Cubed entries',
  citation: 'none',
  formula: 'phi(x) = relu(x)^3',
  advice: 'for this test',
  nonNegative: true,
  inputs: () => 'canonical' as const,
}

/** All that a new feature map has to say. */
const cube = defineFeatureMap({
  ...facts,
  options: z.object(guardOptions),
  featureDim: (_numFeatures, headDim) => headDim,
  phi:
    ({inputScale}) =>
    q =>
      tf.pow(tf.relu(tf.mul(q, inputScale)), 3) as tf.Tensor4D,
})

/** One whose features are made of a tensor of its own, with a scale per token and one map for each side. */
const scaled = defineFeatureMap({
  ...facts,
  options: z.object({}),
  featureDim: (_numFeatures, headDim) => headDim,
  make: () => tf.fill([1, 1, 1, headDim], 0.5),
  phi: (_inputs, half) => {
    const side = {
      scaled: (x: tf.Tensor4D) => ({
        features: tf.mul(tf.relu(x), half) as tf.Tensor4D,
        logScale: tf.sum(x, 3) as tf.Tensor3D,
      }),
    }
    return {query: side, key: side}
  },
})

beforeAll(() => useBackend('cpu'))

const tokens = () => {
  const [query, key] = ['q', 'k'].map(name =>
    toTensor(hostNormals(`map.${name}`, [batch, heads, length, headDim])),
  ) as [tf.Tensor4D, tf.Tensor4D]
  return {query, key, value: toTensor(hostNormals('map.v', [batch, heads, length, valueDim]))}
}

const shared = {inputScale: 0.5, numFeatures: 256, noise: {}, parameters: {}}

function attend(map: typeof cube, causal: boolean, options = {}): number[] {
  return tf.tidy(() => {
    const inputs = {...tokens(), ...shared, causal, options: map.options.parse(options)}
    return Array.from(map.attend(inputs as AttendInputs<never>).out.dataSync())
  })
}

function decodeAll(map: typeof cube): number[] {
  return tf.tidy(() => {
    const steps = map.decoder!({
      ...{batch, heads, headDim, valueDim, ...shared, logitScale: 0.25},
      options: map.options.parse({}),
    } as unknown as DecoderInputs<never>)
    const {query, key, value} = tokens()
    const at = (x: tf.Tensor4D, t: number): tf.Tensor4D =>
      tf.slice(x, [0, 0, t, 0], [batch, heads, 1, x.shape[3]])
    const rows = Array.from({length}, (_, t) =>
      steps.next(at(query, t), at(key, t), at(value as tf.Tensor4D, t)),
    )
    const out = Array.from(tf.concat(rows, 2).dataSync())
    steps.dispose()
    return out
  })
}

/** The ratio in double precision. */
function ratio(weightOf: (x: ArrayLike<number>, y: ArrayLike<number>) => number, causal: boolean) {
  return tf.tidy(() => {
    const {query, key, value} = tokens()
    const [q, k, v] = [query, key, value].map(x => x.dataSync()) as Float32Array[]
    const row = (x: Float32Array, at: number, n: number) => x.subarray(at * n, (at + 1) * n)
    return Array.from({length: batch * heads * length * valueDim}, (_, at) => {
      const place = Math.floor(at / valueDim)
      const head = Math.floor(place / length) * length
      let [sum, total] = [0, 0]
      for (let j = 0; j < length && (!causal || j <= place % length); j++) {
        const w = weightOf(row(q!, place, headDim), row(k!, head + j, headDim))
        sum += w * row(v!, head + j, valueDim)[at % valueDim]!
        total += w
      }
      return total === 0 ? 0 : sum / total
    })
  })
}

const dot = (x: ArrayLike<number>, y: ArrayLike<number>, f: (a: number) => number) =>
  Array.from(x).reduce((sum, a, d) => sum + f(a) * f(y[d]!), 0)
const cubes = (x: ArrayLike<number>, y: ArrayLike<number>) =>
  dot(x, y, a => Math.max(0, 0.5 * a) ** 3)
const weighted = (x: ArrayLike<number>, y: ArrayLike<number>) =>
  Math.exp(Array.from(y).reduce((sum, a) => sum + a, 0)) * dot(x, y, a => Math.max(0, a) / 2)

/** Nonnegative weights: F products and S terms in numerator and denominator, and a handful for phi, on values below 4. */
const BOUND = 2 * (headDim + length + 32) * 2 ** -24 * 4

function expectClose(actual: number[], wanted: number[]) {
  expect(actual).toHaveLength(wanted.length)
  const worst = Math.max(...actual.map((x, at) => Math.abs(x - wanted[at]!)))
  expect(worst).toBeLessThan(BOUND)
}

describe('a feature map', () => {
  it.each([false, true])('gives attention, causal %s', causal => {
    expectClose(attend(cube, causal), ratio(cubes, causal))
    expectClose(attend(scaled as never, causal), ratio(weighted, causal))
  })

  it('gives the recurrent form, which frees what it was made of', () => {
    const before = tf.memory().numTensors
    expectClose(decodeAll(cube), ratio(cubes, true))
    expectClose(decodeAll(scaled as never), ratio(weighted, true))
    expect(tf.memory().numTensors).toBe(before)
  })

  it('reads its guard from the options', () => {
    const guarded = attend(cube, false, {denGuard: 'clamp:1e6'})
    expect(Math.max(...guarded.map(Math.abs))).toBeLessThan(1e-3)
    const causal = attend(cube, true, {denGuard: 'none', causalDenGuard: 'clamp:1e6'})
    expect(Math.max(...causal.map(Math.abs))).toBeLessThan(1e-3)
  })

  it('tells its sizes from the length of phi', () => {
    const options = cube.options.parse({})
    expect(cube.stateBytes!({headDim, valueDim, numFeatures: 3, length: 9}, options)).toBe(
      4 * headDim * (valueDim + 1),
    )
    expect(cube.supports.decode).toBe(true)
    expect(cube.target(options)).toBeUndefined()
  })

  it('counts the rows of a projection once', () => {
    const shape = {
      ...{batch, heads, queryLen: length, keyLen: length, headDim, valueDim},
      ...{numFeatures: 13, causal: false},
    }
    const projected = defineFeatureMap({
      ...{...facts, options: z.object({}), projection: {default: 'iid' as const}},
      featureDim: numFeatures => numFeatures,
      phi: ({projection, inputScale}) => ({kind: 'relu', projection, inputScale}),
    })
    const flops = (map: {cost: typeof projected.cost}) => map.cost(shape, {}).flops
    const unprojected = defineFeatureMap({
      ...{...facts, options: z.object({})},
      featureDim: numFeatures => numFeatures,
      phi: () => x => x,
    })
    // a multiply-add for every entry of W and every token
    expect(flops(projected) - flops(unprojected)).toBe(
      2 * batch * heads * 2 * length * 13 * headDim,
    )
  })
})
