/** Errors that are nearer to what a model loses: over means of tokens, and after the output projection. */
import {join} from 'node:path'
import {beforeAll, describe, expect, it} from 'vitest'
import {useBackend} from '../../../../../src/backends/index.js'
import {checkErrorSweep} from '../../../../../src/experiments/error-sweep/grid.js'
import {OutputMoments} from '../../../../../src/experiments/error-sweep/measure/moments.js'
import {TokenMeans} from '../../../../../src/experiments/error-sweep/measure/token-means.js'
import type {
  ErrorSweepPlan,
  ErrorSweepResult,
  PrecisionMetric,
} from '../../../../../src/experiments/error-sweep/schema.js'
import {planRun} from '../../../../../src/experiments/planned-run.js'
import {writeArrays} from '../../../../../src/inputs/files/index.js'
import {type NdArray, toFloat32} from '../../../../../src/inputs/nd-array.js'
import {normals, randomStream} from '../../../../../src/random/index.js'
import {FLOAT32_ROUNDOFF} from '../../../../../src/theory/rounding.js'
import {firstOutcome} from '../../../../helpers/cells.js'
import {temporaryFolder} from '../../../../helpers/folders.js'
import {method, sweep} from '../../../../helpers/plans.js'

beforeAll(() => useBackend('cpu'))

const folder = temporaryFolder()
const [B, H, SHARED, L, D, DV, WIDTH] = [2, 6, 2, 13, 7, 5, 11]
const GROUP = H / SHARED
const NORM = 3.5
/** Keys and queries of the second sequence that are no padding. */
const LENGTHS = [L, 9]

function normal(name: string, shape: number[], of = (x: number) => x): NdArray {
  const count = shape.reduce((a, b) => a * b, 1)
  const data = Float32Array.from(normals(randomStream(2, name), count), of)
  return {shape, dtype: 'float32', data}
}

const numbers = (values: number[]): NdArray => ({
  shape: [values.length],
  dtype: 'float32',
  data: Float32Array.from(values),
})

const MASK: NdArray = {
  shape: [B, L],
  dtype: 'uint8',
  data: Uint8Array.from({length: B * L}, (_, i) => (i % L < LENGTHS[Math.floor(i / L)]! ? 1 : 0)),
}
/** Values are about 1, so that their mean is not what is left of a sum of both signs. */
const VALUES = normal('v', [B, SHARED, L, DV], x => x / 4 + 1)
const ARRAYS = {
  ...{q: normal('q', [B, H, L, D]), k: normal('k', [B, SHARED, L, D]), v: VALUES},
  ...{key_mask: MASK, o: normal('o', [H * DV, WIDTH]), residual_norm: numbers([NORM])},
}

async function resultOf(
  name: string,
  arrays: Record<string, NdArray>,
  changes: Partial<ErrorSweepPlan> = {},
): Promise<ErrorSweepResult> {
  const outcome = await firstOutcome(await planOn(name, arrays, changes))
  if (outcome.status !== 'completed') throw new Error(outcome.reason)
  return outcome.result as ErrorSweepResult
}

/** A cell of averaging V on a file of these arrays. */
async function planOn(
  name: string,
  arrays: Record<string, NdArray>,
  changes: Partial<ErrorSweepPlan> = {},
): Promise<ErrorSweepPlan> {
  const path = join(folder, `${name}.safetensors`)
  await writeArrays(path, arrays, {})
  return sweep({
    input: {kind: 'file', paths: [path], names: {query: 'q', key: 'k', value: 'v'}},
    ...{methods: [method('mean-value')], scales: [1], seq_lens: null, targets: ['raw']},
    ...{replicates: 1, ...changes},
  })
}

type Row = number[]
const add = (a: Row, b: Row) => a.map((x, i) => x + b[i]!)
const minus = (a: Row, b: Row) => a.map((x, i) => x - b[i]!)
const times = (a: Row, factor: number) => a.map(x => x * factor)
const dot = (a: Row, b: Row) => a.reduce((sum, x, i) => sum + x * b[i]!, 0)
const mean = (rows: Row[]) => times(rows.reduce(add), 1 / rows.length)
const sum = (values: number[]) => values.reduce((a, b) => a + b, 0)

/** A row of an array `[B, heads, L, dim]`. */
function row(array: NdArray, b: number, h: number, i: number): Row {
  const [, heads, length, dim] = array.shape as [number, number, number, number]
  const at = ((b * heads + h) * length + i) * dim
  return [...toFloat32(array).subarray(at, at + dim)]
}

/** Exact attention and averages of V, in double precision, `[B][H][tokens in view]`. */
function outputs(causal: boolean): {exact: Row; average: Row}[][][] {
  return LENGTHS.map((length, b) =>
    Array.from({length: H}, (_, h) =>
      Array.from({length}, (_, i) => {
        const shared = Math.floor(h / GROUP)
        const keys = Array.from({length: causal ? i + 1 : length}, (_, j) => j)
        const q = row(ARRAYS.q, b, h, i)
        const weights = keys.map(j => Math.exp(dot(q, row(ARRAYS.k, b, shared, j)) / Math.sqrt(D)))
        const values = keys.map(j => row(ARRAYS.v, b, shared, j))
        const mixed = values.map((v, j) => times(v, weights[j]! / sum(weights)))
        return {exact: mixed.reduce(add), average: mean(values)}
      }),
    ),
  )
}

/** Rows of all heads of a token, one after the other, times `o`. */
function projected(heads: Row[]): Row {
  const joined = heads.flat()
  return Array.from({length: WIDTH}, (_, w) =>
    sum(joined.map((x, at) => x * Number(ARRAYS.o.data[at * WIDTH + w]))),
  )
}

describe.each([false, true])('errors of averaging V, causal %s', causal => {
  const all = outputs(causal)
  // float32 leaves six digits of differences that are not small against what they are of
  const DIGITS = 5

  it('of means over the tokens of each head are those of plain sums', async () => {
    const result = await resultOf(`means ${causal}`, ARRAYS, {causal})
    const heads = all.flatMap((sequence, b) =>
      sequence.map((rows, h) => {
        const [exact, average] = [mean(rows.map(r => r.exact)), mean(rows.map(r => r.average))]
        const off = minus(average, exact)
        return {h, b, off: dot(off, off), size: dot(exact, exact)}
      }),
    )
    const over = Math.sqrt(sum(heads.map(own => own.off)) / sum(heads.map(own => own.size)))
    expect(result.token_mean_rel_l2!.median!).toMatchReference(over, DIGITS)
    for (const {head, token_mean_rel_l2: error} of result.per_head) {
      const own = heads.filter(({h}) => h === head)
      // each sequence counts by its tokens
      const weighted = own.map(({b, off, size}) => LENGTHS[b]! * Math.sqrt(off / size))
      expect(error!).toMatchReference(sum(weighted) / sum(LENGTHS), DIGITS)
    }
    expect(result.token_mean_split).toEqual({
      ...{bias_squared: result.token_mean_rel_l2!.median! ** 2, variance: 0},
      ...{bias_squared_standard_error: 0, variance_standard_error: 0},
    })
    expect(result.token_mean_rel_l2!.median).toBeLessThan(0.9 * result.rel_l2.median!)
  })

  it('after the output projection are those of plain sums', async () => {
    const result = await resultOf(`projected ${causal}`, ARRAYS, {causal})
    const tokens = all.flatMap(sequence =>
      sequence[0]!.map((_, i) => ({
        off: projected(sequence.map(rows => minus(rows[i]!.average, rows[i]!.exact))),
        exact: projected(sequence.map(rows => rows[i]!.exact)),
      })),
    )
    const [off, size] = [
      sum(tokens.map(token => dot(token.off, token.off))),
      sum(tokens.map(token => dot(token.exact, token.exact))),
    ]
    const [relative, residual] = [Math.sqrt(off / size), Math.sqrt(off / tokens.length) / NORM]
    expect(result.projected_rel_l2!.median!).toMatchReference(relative, DIGITS)
    expect(result.residual_error!.median!).toMatchReference(residual, DIGITS)
    expect(result.projected_split!.bias_squared).toBe(result.projected_rel_l2!.median! ** 2)
  })
})

it('are missing where the file has no output projection, or no norm', async () => {
  const {o, residual_norm, ...bare} = ARRAYS
  const none = await resultOf('bare', {...bare, residual_norm})
  expect([none.projected_rel_l2, none.residual_error, none.projected_split]).toEqual([
    null,
    null,
    null,
  ])
  expect(none.replicate_metrics!.projected_rel_l2).toBeNull()
  const unscaled = await resultOf('unscaled', {...bare, o})
  expect(unscaled.projected_rel_l2).not.toBeNull()
  expect([unscaled.residual_error, unscaled.residual_split]).toEqual([null, null])
})

describe('as the metric of a precision', () => {
  const until = (metric: PrecisionMetric) => ({
    ...{
      methods: [method('favor-pos')],
      num_features: [5],
      projections: ['orth'] satisfies ErrorSweepPlan['projections'],
    },
    ...{replicates: 6, until_ci: {metric, relative_half_width: 0.05, max_replicates: 9}},
  })

  it.each(['projected_rel_l2', 'residual_error', 'token_mean_rel_l2'] as const)(
    'decide when replicates are enough: %s',
    async metric => {
      const result = await resultOf(`until ${metric}`, ARRAYS, until(metric))
      const {low, high, median} = result[metric]!
      const narrow = (high! - low!) / 2 <= 0.05 * median!
      expect(result.stopped_by).toBe(narrow ? 'precision' : 'max_replicates')
    },
  )

  it.each([
    ['projected_rel_l2', 'o', 'an input with an output projection (array `o`)'],
    ['residual_error', 'o', 'an input with an output projection (array `o`)'],
    ['residual_error', 'residual_norm', 'an input with the norm of the residual stream'],
  ] as const)(
    'are refused where the file lacks what they take: %s, %s',
    async (metric, lacks, what) => {
      const {[lacks]: _, ...arrays} = ARRAYS
      const plan = await planOn(`without ${lacks}`, arrays, until(metric))
      await expect(checkErrorSweep(plan)).rejects.toThrow(
        `\`ciMetric: ${metric}\`: expected ${what}`,
      )
      await checkErrorSweep(await planOn('with all', ARRAYS, until(metric)))
      await checkErrorSweep(await planOn(`without ${lacks}`, arrays, until('token_mean_rel_l2')))
    },
  )

  it('are refused for a generated input', async () => {
    const plan = sweep({until_ci: until('residual_error').until_ci})
    await expect(checkErrorSweep(plan)).rejects.toThrow('got gaussian')
  })
})

it('take time and memory that is predicted', async () => {
  const {o, residual_norm: _, ...bare} = ARRAYS
  const predicted = async (name: string, arrays: Record<string, NdArray>) =>
    (await planRun(await planOn(name, arrays))).jobs[0]!
  const [without, having] = [await predicted('less', bare), await predicted('more', {...bare, o})]
  // weights as they are read and widened, and one product of all tokens: 2 operations for each weight at least
  const weights = H * DV * WIDTH
  expect(having.predictedBytes! - without.predictedBytes!).toBeGreaterThan(4 * 2 * weights)
  expect(having.predictedCost - without.predictedCost).toBeGreaterThan(2 * B * L * weights)
})

describe('over draws', () => {
  const identity: NdArray = {
    shape: [H * DV, H * DV],
    dtype: 'float32',
    data: Float32Array.from({length: (H * DV) ** 2}, (_, i) => (i % (H * DV + 1) === 0 ? 1 : 0)),
  }
  const drawn = {methods: [method('favor-pos')], replicates: 9}
  /** Half a unit of the last of seven digits, which records keep. */
  const KEPT = 5e-7

  it('are rel L2 where the output projection is the identity', async () => {
    const result = await resultOf('identity', {...ARRAYS, o: identity}, drawn)
    const kept = result.replicate_metrics!
    for (const [replicate, error] of kept.projected_rel_l2!.entries()) {
      // differences are rounded to float32 before the product
      const ratio = error! / kept.rel_l2[replicate]!
      expect(Math.abs(ratio - 1)).toBeLessThan(2 * KEPT + 4 * FLOAT32_ROUNDOFF)
    }
    const square = result.mse.median! / result.rel_l2.median! ** 2
    const {projected_split: split} = result
    // the mean of nine differences is kept in single precision, see OutputMoments
    const room = 9 * 4 * FLOAT32_ROUNDOFF * (split!.variance! + split!.bias_squared!)
    expect(Math.abs(split!.bias_squared! - result.bias_squared! / square)).toBeLessThan(room)
    expect(Math.abs(split!.variance! - result.variance! / square)).toBeLessThan(room)
    expect(split!.bias_squared_standard_error! * square).toMatchReference(
      result.bias_squared_standard_error!,
      4,
    )
  })

  it('have parts that add up to the mean of their squares', async () => {
    const result = await resultOf('parts', ARRAYS, drawn)
    const kept = result.replicate_metrics!
    const pairs = [
      [kept.token_mean_rel_l2, result.token_mean_split],
      [kept.projected_rel_l2, result.projected_split],
      [kept.residual_error, result.residual_split],
    ] as const
    for (const [errors, split] of pairs) {
      const squares = sum(errors!.map(error => error! ** 2)) / 9
      const together = split!.bias_squared! + split!.variance!
      expect(Math.abs(together / squares - 1)).toBeLessThan(2 * KEPT + 9 * 4 * FLOAT32_ROUNDOFF)
      expect(split!.bias_squared_standard_error).toBeGreaterThan(0)
    }
  })

  it('have no standard errors of few draws, and none where denominators change sign', async () => {
    const few = await resultOf('few', ARRAYS, {...drawn, replicates: 3})
    expect(few.token_mean_split).toMatchObject({
      bias_squared: expect.any(Number),
      bias_squared_standard_error: null,
    })
    const one = await resultOf('one', ARRAYS, {...drawn, replicates: 1})
    expect(one.projected_split).toMatchObject({bias_squared: null, variance: null})
    const loud = {...ARRAYS, q: normal('q', [B, H, L, D], x => 4 * x)}
    const signs = await resultOf('signs', loud, {
      ...drawn,
      methods: [method('favor-trig')],
    })
    expect(signs.means_unknown).toBe('sign_changes')
    expect(signs.token_mean_split!.variance_standard_error).toBeNull()
  })
})

it('bias^2 of means over tokens is the mean product of different replicates', () => {
  const [heads, rows, dim, replicates] = [3, 5, 4, 7]
  const stream = randomStream(5, 'token means')
  const exact = Array.from({length: heads}, () => ({
    ...{rows, valueDim: dim, squares: 1, absolutes: 1, meanSquares: 2},
  }))
  const means = new TokenMeans(exact, replicates)
  const moments = new OutputMoments(
    new Float64Array(heads * rows * dim),
    [{heads, queryLen: rows, valueDim: dim}],
    replicates,
  )
  const drawn = Array.from({length: replicates}, () => {
    const estimate = Float32Array.from(
      {length: heads * rows * (dim + 1)},
      () => 2 + stream.normal(),
    )
    const sums = moments.add(estimate)
    means.add(sums)
    return sums.flatMap(({rowsSum}) => Array.from(rowsSum, x => x / rows))
  })
  const products = drawn.flatMap((a, r) => drawn.slice(0, r).map(b => dot(a, b)))
  const {biasSquared, variance} = means.split()
  const of = (squares: number) => squares / (heads * 2) // |exact mean|^2 of each head is 2
  // seven updates of a mean in single precision, off by at most half a unit of the largest difference, below 8
  const room = 2 * replicates * FLOAT32_ROUNDOFF * 8 * 3
  expect(Math.abs(biasSquared.value! - of(sum(products) / products.length))).toBeLessThan(room)
  const squares = of(sum(drawn.map(a => dot(a, a))) / replicates)
  expect(Math.abs(biasSquared.value! + variance.value! - squares)).toBeLessThan(room)
  expect(biasSquared.standardError).toBeGreaterThan(0)
})
