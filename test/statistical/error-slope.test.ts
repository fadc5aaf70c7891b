import {beforeAll, describe, expect, it} from 'vitest'
import {attention, exactAttention, loadEstimators, METHOD_NAMES} from '../../src/attention/index.js'
import {estimatorNamed} from '../../src/attention/resolve.js'
import {useBackend} from '../../src/backends/index.js'
import {dot} from '../../src/theory/kernels.js'
import {compute, hostInputs, type Sizes, toTensors} from '../helpers/arrays.js'
import {EFFORT, moments, Z} from '../helpers/statistics.js'
import {factsOf, optionsOf} from './kernel-estimates.js'

await loadEstimators()
beforeAll(() => useBackend('cpu'))

const METHODS = METHOD_NAMES.filter(name => estimatorNamed(name).kernel)
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
function errors(method: (typeof METHODS)[number], numFeatures: number): Float64Array {
  const inputs = hostInputs(SIZES, INPUT_SCALE)
  const target = factsOf(method).target(optionsOf(method))!
  const logitScale = SIZES.headDim ** -0.5
  const {query, key, value} = inputs
  const exact = exactAttention(query, key, value, {target, logitScale, causal: false})
  return Float64Array.from({length: REPLICATES}, (_, replicate) => {
    const out = compute(() =>
      attention(...toTensors(inputs), {
        method,
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
function curvature(method: (typeof METHODS)[number]): number {
  const {kernel} = factsOf(method)
  const options = optionsOf(method)
  const {query, key} = hostInputs(SIZES, INPUT_SCALE)
  const factor = SIZES.headDim ** -0.25
  const unit = factsOf(method).target(options)!.inputs === 'unit'
  const row = (data: ArrayLike<number>, i: number) => {
    const raw = Float64Array.from({length: SIZES.headDim}, (_, d) => data[i * SIZES.headDim + d]!)
    return raw.map(x => (unit ? x / Math.hypot(...raw) : x * factor))
  }
  let largest = 0
  for (let i = 0; i < SIZES.queryLen; i++) {
    // a denominator averages over keys: its relative variance is at most the mean one
    let variance = 0
    let sum = 0
    for (let j = 0; j < SIZES.keyLen; j++) {
      const [x, y] = [row(query.data, i), row(key.data, j)]
      variance += Math.sqrt(kernel.variance(x, y, COUNTS[0]!, options))
      sum += kernel.expectation(x, y, options)
    }
    largest = Math.max(largest, (variance / sum) ** 2)
  }
  return (4 * largest) / Math.log(COUNTS.at(-1)! / COUNTS[0]!)
}

describe('squared error against the declared target', () => {
  it.each(METHODS)('%s: falls like 1 / M at small norms', method => {
    const points = COUNTS.map(count => {
      const {mean, standardError} = moments(errors(method, count))
      return {x: Math.log(count), y: Math.log(mean), weight: (mean / standardError) ** 2}
    })
    const total = points.reduce((sum, {weight}) => sum + weight, 0)
    const middle = points.reduce((sum, {x, weight}) => sum + weight * x, 0) / total
    const spread = points.reduce((sum, {x, weight}) => sum + weight * (x - middle) ** 2, 0)
    const slope =
      points.reduce((sum, {x, y, weight}) => sum + weight * (x - middle) * y, 0) / spread
    const allowed = Z * spread ** -0.5 + curvature(method)
    expect(allowed, 'an interval this wide says nothing').toBeLessThan(0.5)
    expect(Math.abs(slope + 1), `slope ${slope}, allowed ${allowed}`).toBeLessThanOrEqual(allowed)
  })
})
