import {beforeAll, describe, expect, it} from 'vitest'
import {
  attention,
  type ExactTarget,
  exactAttention,
  loadEstimators,
  METHOD_NAMES,
  type MethodName,
} from '../../src/attention/index.js'
import {estimatorNamed} from '../../src/attention/resolve.js'
import {useBackend} from '../../src/backends/index.js'
import {dot} from '../../src/theory/kernels.js'
import {averaged} from '../../src/theory/moments.js'
import {fourierRow, rectifiedRow} from '../../src/theory/rows.js'
import {
  compute,
  type HostArrays,
  hostInputs,
  namedTensors,
  type Sizes,
  toTensors,
} from '../helpers/arrays.js'
import {EFFORT, moments, Z} from '../helpers/statistics.js'
import {factsOf, momentsOf, optionsOf} from './kernel-estimates.js'

await loadEstimators()
beforeAll(() => useBackend('cpu'))

/** A method, and learned arrays for it. */
interface Case {
  method: MethodName
  parameters: HostArrays
}

const METHODS = METHOD_NAMES.filter(name => estimatorNamed(name).kernel)
const SIGMA: HostArrays = {sigma: {shape: [1, 5], data: Float32Array.of(0.5, 1.25, 0.75, 1, 0.25)}}
const CASES: (readonly [string, Case])[] = [
  ...METHODS.map(method => [method, {method, parameters: {}}] as const),
  ...(['rfa', 'rfa-arccos'] as const).map(
    method => [`${method} with sigma`, {method, parameters: SIGMA}] as const,
  ),
]
const SIZES: Sizes = {
  batch: 1,
  heads: 1,
  queryLen: 11,
  keyLen: 13,
  headDim: 5,
  valueDim: 3,
  numFeatures: 0,
}
const COUNTS = [64, 128, 256, 512, 1024]
const REPLICATES = 48 * EFFORT
/** Small norms: canonical |x|^2 is about 5 * 0.3^2 / sqrt(5) = 0.2. */
const INPUT_SCALE = 0.3

/** Mean squared error against the declared target, one number per replicate. */
function errors({method, parameters}: Case, numFeatures: number): Float64Array {
  const inputs = hostInputs(SIZES, INPUT_SCALE)
  const target = targetOf({method, parameters})
  const logitScale = SIZES.headDim ** -0.5
  const {query, key, value} = inputs
  const exact = exactAttention(query, key, value, {target, logitScale, causal: false})
  return Float64Array.from({length: REPLICATES}, (_, replicate) => {
    const out = compute(() =>
      attention(...toTensors(inputs), {
        method,
        parameters: namedTensors(parameters),
        numFeatures,
        projection: 'iid',
        seed: 41,
        replicate,
      }),
    )
    const difference = Float64Array.from(out, (x, at) => x - exact[at]!)
    return dot(difference, difference) / out.length
  })
}

/**
 * Largest relative variance of a kernel entry at the smallest M. A ratio of estimates has squared error
 * `a / M (1 + O(relative variance))`: between the ends of the range that bends the line by less than
 * four times this, divided by the length of the range in logarithms.
 */
function curvature(given: Case): number {
  const {query, key} = hostInputs(SIZES, INPUT_SCALE)
  const factor = SIZES.headDim ** -0.25
  const {inputs, dimensionScale} = targetOf(given)
  const row = (data: ArrayLike<number>, i: number) => {
    const raw = Float64Array.from({length: SIZES.headDim}, (_, d) => data[i * SIZES.headDim + d]!)
    const plain = inputs === 'unit' ? 1 / Math.hypot(...raw) : factor
    return raw.map((x, d) => x * plain * (dimensionScale?.[d] ?? 1))
  }
  let largest = 0
  for (let i = 0; i < SIZES.queryLen; i++) {
    // a denominator averages over keys: its relative variance is at most the mean one
    let variance = 0
    let sum = 0
    for (let j = 0; j < SIZES.keyLen; j++) {
      const [x, y] = [row(query.data, i), row(key.data, j)]
      const found = entryMoments(given, x, y)
      variance += Math.sqrt(found.variance)
      sum += found.mean
    }
    largest = Math.max(largest, (variance / sum) ** 2)
  }
  return (4 * largest) / Math.log(COUNTS.at(-1)! / COUNTS[0]!)
}

/** Of one estimate at the smallest M. Learned deviations make vectors that are no unit vectors any more. */
function entryMoments({method, parameters}: Case, x: Float64Array, y: Float64Array) {
  if (!parameters.sigma) return momentsOf(method, x, y, COUNTS[0]!)
  return averaged((method === 'rfa' ? fourierRow : rectifiedRow)(x, y), COUNTS[0]!)
}

function targetOf({method, parameters}: Case): ExactTarget {
  const learned = Object.entries(parameters).map(([name, {data}]) => [name, data] as const)
  return factsOf(method).target(optionsOf(method), Object.fromEntries(learned))!
}

describe('squared error against the declared target', () => {
  it.each(CASES)('%s: falls like 1 / M at small norms', (_name, given) => {
    const points = COUNTS.map(count => {
      const {mean, standardError} = moments(errors(given, count))
      return {x: Math.log(count), y: Math.log(mean), weight: (mean / standardError) ** 2}
    })
    const total = points.reduce((sum, {weight}) => sum + weight, 0)
    const middle = points.reduce((sum, {x, weight}) => sum + weight * x, 0) / total
    const spread = points.reduce((sum, {x, weight}) => sum + weight * (x - middle) ** 2, 0)
    const slope =
      points.reduce((sum, {x, y, weight}) => sum + weight * (x - middle) * y, 0) / spread
    const allowed = Z * spread ** -0.5 + curvature(given)
    expect(allowed, 'an interval this wide says nothing').toBeLessThan(0.5)
    expect(Math.abs(slope + 1), `slope ${slope}, allowed ${allowed}`).toBeLessThanOrEqual(allowed)
  })
})
