import {describe, expect, it} from 'vitest'
import {
  featureStatistics,
  type SweepContext,
} from '../../../src/experiments/error-sweep/measure/context.js'
import {errorMetrics, exactSums} from '../../../src/experiments/error-sweep/measure/metrics.js'
import {OutputMoments} from '../../../src/experiments/error-sweep/measure/moments.js'
import type {Replicate} from '../../../src/experiments/error-sweep/measure/replicates.js'
import {perHead, yardstick} from '../../../src/experiments/error-sweep/measure/summary.js'
import {computeTruth, yardsticks} from '../../../src/experiments/error-sweep/measure/truth.js'
import {matchedTarget, RAW_TARGET, resolveMethod} from '../../../src/experiments/method.js'
import {inputStatistics} from '../../../src/inputs/statistics.js'
import {normals, randomStream} from '../../../src/random/index.js'

const [HEADS, LENGTH, HEAD_DIM, VALUE_DIM] = [2, 31, 7, 5]

const random = (name: string, dim: number) => ({
  shape: [1, HEADS, LENGTH, dim] as [number, number, number, number],
  data: Float32Array.from(normals(randomStream(3, `test.${name}`), HEADS * LENGTH * dim)),
})

/** What a cell sees when the values of its first heads are the same for every token. */
function contextWith(constantHeads: number): SweepContext {
  const value = random('value', VALUE_DIM)
  value.data.fill(0.7, 0, constantHeads * LENGTH * VALUE_DIM)
  const query = random('query', HEAD_DIM)
  const key = random('key', HEAD_DIM)
  const input = {label: 'test', query, key, value, extras: new Map(), metadata: {}}
  const options = {logitScale: HEAD_DIM ** -0.5, causal: false}
  const {truth} = computeTruth(input, {...options, target: RAW_TARGET})
  return {
    input,
    logitScale: options.logitScale,
    truth,
    distance: 0,
    exactSums: exactSums(truth.output, HEADS, VALUE_DIM),
    yardsticks: yardsticks(input, truth.output, {causal: false}),
    projectedSquares: undefined,
    statistics: inputStatistics(input, {scale: 1, ...options}),
  }
}

/** One replicate whose output is the exact one in float32. */
function roundedReplicate({
  truth,
  exactSums: exact,
}: SweepContext): Pick<Replicate, 'all' | 'perHead'> {
  const rows = HEADS * LENGTH
  const estimate = new Float32Array(rows * (VALUE_DIM + 1)).fill(1)
  for (let row = 0; row < rows; row++) {
    const own = truth.output.subarray(row * VALUE_DIM, (row + 1) * VALUE_DIM)
    estimate.set(own, row * (VALUE_DIM + 1))
  }
  const sizes = {heads: HEADS, queryLen: LENGTH, valueDim: VALUE_DIM}
  const sums = new OutputMoments(truth.output, [sizes], 1).add(estimate)
  return {
    all: {...errorMetrics(sums, exact), negative_denominators_pct: 0, guarded_pct: 0},
    perHead: sums.map((sum, head) => errorMetrics([sum], [exact[head]!])),
  }
}

async function ratiosOf(context: SweepContext) {
  const replicates = [roundedReplicate(context)]
  const method = await resolveMethod({method: 'elu', preset: 'exact', options: {}})
  const cell = {num_features: null}
  const heads = perHead(
    {method, cell, context, own: context.statistics, curves: undefined},
    replicates,
  )
  return {
    all: yardstick(context, replicates),
    heads: heads.map(head => head.mse_over_mean_value),
  }
}

describe('the ratio to the yardstick', () => {
  it('does not exist for constant values, which averaging gets right up to rounding', async () => {
    const {all, heads} = await ratiosOf(contextWith(HEADS))
    expect(all.mean_value_mse).toBeLessThan(2 ** -48)
    expect(all.mse_over_mean_value).toBeNull()
    expect(heads).toEqual([null, null])
  })

  it('is judged head by head', async () => {
    const {all, heads} = await ratiosOf(contextWith(1))
    expect(all.mse_over_mean_value).toBeLessThan(2 ** -30)
    expect(heads).toEqual([null, expect.any(Number)])
  })

  it('is there for values that differ', async () => {
    const {all, heads} = await ratiosOf(contextWith(0))
    expect(all.mse_over_mean_value).toBeGreaterThan(0)
    expect(heads).toEqual([expect.any(Number), expect.any(Number)])
  })
})

describe('the target that a method is matched with', () => {
  const targetOf = async (options: Record<string, number>) =>
    matchedTarget(await resolveMethod({method: 'favor-trig', preset: 'exact', options}))

  it('is another one than softmax where a constant is added to the kernel', async () => {
    expect(await targetOf({})).toBeUndefined()
    expect(await targetOf({constantFeature: 0.5})).toMatchObject({
      kernel: 'softmax',
      constant: 0.25,
      label: 'softmax, 0.250 added to weights',
    })
  })
})

describe('statistics of what features see', () => {
  it('are those of unit vectors, whose lengths an epsilon on norms shortens', async () => {
    const context = contextWith(0)
    const largest = async (normEpsilon: number) => {
      const method = {method: 'rfa', preset: 'exact', options: {normEpsilon}} as const
      const target = matchedTarget(await resolveMethod(method))!
      return featureStatistics(context, target, {causal: false}).perHead[0]!.query_norm2
    }
    const [plain, shorter] = [await largest(0), await largest(1)]
    expect(Math.abs(plain - 1)).toBeLessThan(1e-6)
    expect(shorter).toBeLessThan(0.9)
  })
})
