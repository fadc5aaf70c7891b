import {beforeAll, describe, expect, it} from 'vitest'
import {loadEstimators, METHOD_NAMES, type PresetName} from '../../src/attention/index.js'
import {attendInputs, givesRows, hostData, rowWeightsOf} from '../../src/attention/internal.js'
import {estimatorNamed} from '../../src/attention/resolve.js'
import {useBackend} from '../../src/backends/index.js'
import type {tf} from '../../src/tf.js'
import {maskTensor, namedTensors, SMALL, toTensors} from '../helpers/arrays.js'
import {casesOn, runnableBackends} from '../helpers/backends.js'
import {
  caseName,
  type EstimatorCase,
  FORMS,
  hostCase,
  optionsOf,
  toProjection,
  twinOfCase,
  unsupportedReason,
} from '../helpers/estimator-case.js'
import {assertWithin} from '../helpers/rounding.js'

const backends = await runnableBackends()
await loadEstimators()

const CASES: EstimatorCase[] = METHOD_NAMES.flatMap(method => {
  const {presets, options} = estimatorNamed(method)
  const epsilon = 'normalizerEpsilon' in options.shape ? [{options: {normalizerEpsilon: 0.25}}] : []
  const variants = [
    {},
    ...epsilon,
    ...Object.keys(presets).map(preset => ({preset: preset as PresetName})),
  ]
  return variants.flatMap(variant =>
    FORMS.map(form => ({method, ...variant, sizes: SMALL, inputScale: 0.5, ...form})),
  )
}).filter(
  given =>
    unsupportedReason(given) === undefined &&
    givesRows(estimatorNamed(given.method), optionsOf(given)),
)

/** Places of three queries of every head, other ones in each. */
function placesOf({batch, heads, queryLen}: typeof SMALL): Int32Array {
  const rows = Array.from({length: batch * heads}, (_, head) =>
    [0, 1 + (head % (queryLen - 2)), queryLen - 1].sort((a, b) => a - b),
  )
  return Int32Array.from(rows.flat())
}

/** Weights of these queries, `[B, H, n, S]`. */
function weightsOf(given: EstimatorCase, places: Int32Array): Float32Array {
  const {inputs, projection, keyMask, noise} = hostCase(given)
  const {method, preset = 'exact', options, sizes, causal = false} = given
  const {weights} = hostData(() => {
    const call = attendInputs(...toTensors(inputs), {
      ...{method, preset, causal, numFeatures: sizes.numFeatures},
      noise: namedTensors<tf.Tensor4D>(noise),
      ...(projection && {projection: toProjection(projection, sizes.headDim)}),
      ...(keyMask && {keyMask: maskTensor(keyMask, sizes.batch)}),
      ...options,
    })
    return {weights: rowWeightsOf(call.estimator, call.inputs, {places, count: 3})}
  })
  return weights as Float32Array
}

describe.each(backends)('weights of single queries on %s', backend => {
  beforeAll(() => useBackend(backend))

  it.each(casesOn(backend, CASES).map(given => [nameOf(given), given] as const))(
    '%s: give with the values what attention gives',
    (name, given) => {
      const {batch, heads, queryLen, keyLen, valueDim} = SMALL
      const places = placesOf(SMALL)
      const weights = weightsOf(given, places)
      expect(weights).toHaveLength(batch * heads * 3 * keyLen)
      const {value, error} = twinOfCase(given).out
      const values = hostCase(given).inputs.value.data
      const [actual, expected, bound] = [[], [], []] as [number[], number[], number[]]
      places.forEach((place, row) => {
        const head = Math.floor(row / 3)
        for (let d = 0; d < valueDim; d++) {
          let [sum, size] = [0, 0]
          for (let j = 0; j < keyLen; j++) {
            const term = weights[row * keyLen + j]! * values[(head * keyLen + j) * valueDim + d]!
            sum += term
            size += Math.abs(term)
          }
          const at = (head * queryLen + place) * valueDim + d
          actual.push(sum)
          expected.push(value[at]!)
          // the same features, summed over themselves in another order: as far off as the twin allows attention to be. A
          // weight is rounded again where it is divided, and where logarithms (of at most 32 here) are added and taken back
          bound.push(2 * error[at]! + (4 + 2 * 32) * 2 ** -24 * size)
        }
      })
      const {decidable} = assertWithin(name, actual, expected, bound)
      expect(2 * decidable).toBeGreaterThanOrEqual(actual.length)
    },
  )

  it('are there for methods that are their features', () => {
    const names = new Set(CASES.map(({method}) => method))
    for (const name of ['favor-pos', 'rfa', 'elu', 'oprf', 'mean-value'])
      expect(names).toContain(name)
    for (const name of ['softmax', 'lara', 'nystrom', 'rfa-gate']) expect(names).not.toContain(name)
  })
})

function nameOf(given: EstimatorCase): string {
  return `${caseName(given)} ${JSON.stringify(given.options ?? {})}`
}
