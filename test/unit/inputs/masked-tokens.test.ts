/** A padded batch is judged as its sequences are without their padding. */
import {join} from 'node:path'
import {beforeAll, describe, expect, it} from 'vitest'
import {useBackend} from '../../../src/backends/index.js'
import {checkErrorSweep} from '../../../src/experiments/error-sweep/grid.js'
import type {ErrorSweepPlan, ErrorSweepResult} from '../../../src/experiments/error-sweep/schema.js'
import {planRun} from '../../../src/experiments/planned-run.js'
import {writeArrays} from '../../../src/inputs/files/index.js'
import type {NdArray} from '../../../src/inputs/nd-array.js'
import type {InputSpec} from '../../../src/inputs/spec.js'
import {hostNormals} from '../../helpers/arrays.js'
import {cellsOf} from '../../helpers/cells.js'
import {temporaryFolder} from '../../helpers/folders.js'
import {method, sweep} from '../../helpers/plans.js'

beforeAll(() => useBackend('cpu'))

const folder = temporaryFolder()
const [H, L, D, DV] = [3, 13, 7, 5]

/** Which tokens of two sequences take part. */
const MASKS = {
  'padding at the end': [
    [1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0],
    [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
  ],
  'padding at the beginning, and holes': [
    [0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
    [0, 1, 1, 0, 1, 1, 1, 0, 1, 1, 0, 1, 0],
  ],
}

type Rows = readonly (readonly number[])[]
const places = (row: readonly number[]) => row.flatMap((bit, place) => (bit ? [place] : []))

let files = 0
async function save(arrays: Record<string, NdArray>, metadata = {}): Promise<InputSpec> {
  const path = join(folder, `${files++}.safetensors`)
  await writeArrays(path, arrays, metadata)
  return {kind: 'file', paths: [path], names: {query: 'q', key: 'k', value: 'v'}}
}

/** Random `[2, H, length, dim]`, a thousand times as large where `rows` has no token. */
function padded(name: string, dim: number, rows: Rows): NdArray {
  const length = rows[0]!.length
  const shape = [rows.length, H, length, dim] as [number, number, number, number]
  const data = Float32Array.from(hostNormals(name, shape).data, (x, i) => {
    const token = Math.floor(i / dim) % length
    return rows[Math.floor(i / (dim * length * H))]![token] ? x : 1000 * x
  })
  return {shape, dtype: 'float32', data}
}

/** One sequence of an array with some of its tokens. */
function picked({shape, data}: NdArray, sequence: number, tokens: readonly number[]): NdArray {
  const [, heads = 1, length = 1, dim = 1] = shape
  const rows = Array.from({length: heads}, (_, head) =>
    tokens.flatMap(token => {
      const start = ((sequence * heads + head) * length + token) * dim
      return Array.from(data.subarray(start, start + dim) as Float32Array)
    }),
  )
  return {
    shape: [1, heads, tokens.length, dim],
    dtype: 'float32',
    data: Float32Array.from(rows.flat()),
  }
}

const maskOf = (rows: Rows): NdArray => ({
  shape: [rows.length, rows[0]!.length],
  dtype: 'int64',
  data: BigInt64Array.from(rows.flat(), BigInt),
})

/** The padded batch, and each of its sequences in a file of its own. */
async function bothWays(rows: Rows) {
  const arrays = {q: padded('q', D, rows), k: padded('k', D, rows), v: padded('v', DV, rows)}
  const alone = rows.map((row, sequence) => {
    const own = Object.entries(arrays).map(([name, array]) => [
      name,
      picked(array, sequence, places(row)),
    ])
    return save(Object.fromEntries(own) as Record<string, NdArray>)
  })
  return {batch: await save({...arrays, key_mask: maskOf(rows)}), alone: await Promise.all(alone)}
}

async function resultsOf(plan: Partial<ErrorSweepPlan>): Promise<ErrorSweepResult[]> {
  const whole = {scales: [1], seq_lens: null, targets: ['raw' as const], replicates: 1}
  const results: ErrorSweepResult[] = []
  for (const run of await cellsOf(sweep({...whole, ...plan}))) {
    const outcome = await run()
    if (outcome.status !== 'completed') throw new Error(outcome.reason)
    results.push(outcome.result as ErrorSweepResult)
  }
  return results
}

/**
 * What float32 may do to an output of `elu`: sums of positive terms, L of them and D in each, in numerator and
 * denominator, so that each entry errs by this share of the largest value.
 */
const ROUNDING = 2 * (L + D + 4) * 2 ** -24
const LARGEST_VALUE = 5 // of 390 normals: beyond it with probability 2e-4; the seed is fixed

describe.each(Object.entries(MASKS))('%s', (_, rows) => {
  it.each([false, true])('is left out of every number, causal: %s', async causal => {
    const counts = rows.map(row => places(row).length)
    const total = counts.reduce((sum, count) => sum + count, 0)
    const weighted = (numbers: readonly number[]) =>
      numbers.reduce((sum, x, i) => sum + (x * counts[i]!) / total, 0)
    const {batch, alone} = await bothWays(rows)
    const plan = {methods: [method('elu')], causal, row_metrics: true}
    const [own] = await resultsOf({...plan, input: batch})
    const parts = await Promise.all(
      alone.map(async input => (await resultsOf({...plan, input}))[0]!),
    )
    expect(own).toMatchObject({
      batch: 2,
      query_len: L,
      hidden_keys: 2 * L - total,
      judged_queries: total,
    })
    // what is computed in doubles on what is left is the same, or a mean of two
    expect(own!.mean_value_mse).toMatchReference(
      weighted(parts.map(part => part.mean_value_mse)),
      14,
    )
    own!.per_head.forEach(({statistics}, head) => {
      for (const [name, value] of Object.entries(statistics)) {
        const means = parts.map(
          part => part.per_head[head]!.statistics[name as keyof typeof statistics],
        )
        expect(value, name).toBe((means[0]! + means[1]!) / 2)
      }
    })
    // float32 rounds two calls of other sizes otherwise
    const near = (value: number, wanted: number, tolerance: number) =>
      expect(Math.abs(value - wanted)).toBeLessThan(tolerance)
    const rms = (results: readonly (number | null)[]) => Math.sqrt(weighted(results.map(Number)))
    near(
      rms([own!.mse.mean, own!.mse.mean]),
      rms(parts.map(part => part.mse.mean)),
      2 * ROUNDING * LARGEST_VALUE,
    )
    near(
      own!.row_total_variation!.mean!,
      weighted(parts.map(p => p.row_total_variation!.mean!)),
      2 * ROUNDING,
    )
    near(own!.row_sum_deviation.mean!, 0, 2 * ROUNDING)
    expect(own!.mse_over_mean_value).toMatchReference(own!.mse.mean! / own!.mean_value_mse, 12)
    expect(own!.not_finite_pct.mean).toBe(0)
  })

  it('leaves softmax exact, and averaging V the yardstick', async () => {
    const {batch} = await bothWays(rows)
    const plan = {input: batch, methods: [method('softmax'), method('mean-value')]}
    const [softmax, mean] = await resultsOf(plan)
    expect(softmax!.max_abs.mean).toBeLessThan(1e-5)
    expect(softmax!.cosine.mean).toMatchReference(1, 6)
    expect(mean!.mse_over_mean_value).toMatchReference(1, 5)
  })
})

describe('keys of another text than queries', () => {
  const rows = [
    [1, 0, 1, 1, 0, 1, 1, 1, 1, 1, 1],
    Array.from({length: 11}, (_, i) => Number(i < 7)),
  ]
  const allQueries = [0, 1].map(() => Array.from({length: L}, () => 1))
  const cross = (keys: Rows) =>
    save({
      q: padded('q', D, allQueries),
      k: padded('k', D, keys),
      v: padded('v', DV, keys),
      key_mask: maskOf(keys),
    })

  it('hide no query', async () => {
    const [own] = await resultsOf({input: await cross(rows), methods: [method('softmax')]})
    expect(own).toMatchObject({hidden_keys: 6, judged_queries: 2 * L})
    expect(own!.max_abs.mean).toBeLessThan(1e-5)
  })

  it('may be hidden at the end where attention is causal, not in between', async () => {
    const plan = {methods: [method('softmax')], causal: true}
    const [own] = await resultsOf({...plan, input: await cross([rows[1]!, rows[1]!])})
    expect(own!.max_abs.mean).toBeLessThan(1e-5)
    await expect(resultsOf({...plan, input: await cross(rows)})).rejects.toMatchObject({
      code: 'UNSUPPORTED',
    })
  })
})

it('a mask that leaves a sequence no key at a length of the plan is reported before the run', async () => {
  const {batch: input} = await bothWays(MASKS['padding at the beginning, and holes'])
  const plan = sweep({input, methods: [method('elu')]})
  await expect(checkErrorSweep({...plan, seq_lens: [L, 3]})).resolves.toBeUndefined()
  await expect(checkErrorSweep({...plan, seq_lens: [L, 2]})).rejects.toMatchObject({
    code: 'BAD_OPTION',
    message: expect.stringMatching(
      /key mask of sequence 0: expected a key that takes part, got none among the first 2 of 13$/,
    ),
  })
})

it('a method that takes no mask is skipped for that reason', async () => {
  const {batch: input} = await bothWays(MASKS['padding at the end'])
  const [run] = await cellsOf(sweep({input, seq_lens: null, methods: [method('identity')]}))
  expect(await run!()).toEqual({status: 'skipped', reason: 'takes no key mask'})
})

describe('layers of one file', () => {
  const rows = [Array.from({length: L}, () => 1)]
  const layer = (name: string) => ({
    q: padded(`${name}.q`, D, rows),
    k: padded(`${name}.k`, D, rows),
    v: padded(`${name}.v`, DV, rows),
  })
  const prefixed = (n: number, arrays: Record<string, NdArray>) =>
    Object.fromEntries(
      Object.entries(arrays).map(([name, array]) => [`layers.${n}.${name}`, array]),
    )

  it('come to what files of one layer come to, and their cells say which', async () => {
    const [a, b] = [layer('a'), layer('b')]
    const input = await save({...prefixed(10, a), ...prefixed(9, b)})
    const plan = {methods: [method('favor-pos'), method('elu')], seq_lens: [L, 5]}
    const {jobs} = await planRun(sweep({...plan, input, layers: [10, 9]}))
    const cells = jobs.map(({cell}) => cell as {layer?: number; seq_len: number})
    expect([...new Set(cells.map(({seq_len, layer: n}) => `${seq_len} ${n}`))]).toEqual([
      '13 10',
      '13 9',
      '5 10',
      '5 9',
    ])
    expect(jobs[0]!.label).toBe('favor-pos iid M=11 layer 10 L=13 raw')
    expect(new Set(jobs.map(({key}) => key)).size).toBe(cells.length)
    const together = await resultsOf({...plan, input, layers: [10, 9], seq_lens: [L]})
    const apart = [
      ...(await resultsOf({...plan, input: await save(a), seq_lens: [L]})),
      ...(await resultsOf({...plan, input: await save(b), seq_lens: [L]})),
    ]
    expect(together).toEqual(apart)
  })

  it('are all held against their masks at each length, before the run', async () => {
    const late = {...layer('late'), key_mask: maskOf([rows[0]!.map((_, i) => Number(i > 4))])}
    const input = await save({...prefixed(0, layer('whole')), ...prefixed(1, late)})
    const plan = sweep({input, layers: [0, 1]})
    await expect(checkErrorSweep({...plan, seq_lens: [6, L]})).resolves.toBeUndefined()
    await expect(checkErrorSweep({...plan, seq_lens: [L, 5]})).rejects.toMatchObject({
      message: expect.stringMatching(/layer 1, key mask of sequence 0: .*the first 5 of 13$/),
    })
  })

  it('leave cells of other files as they were', async () => {
    const [job] = (await planRun(sweep({input: await save(layer('a')), seq_lens: null}))).jobs
    expect(job!.cell).not.toHaveProperty('layer')
    expect(job!.cell).not.toHaveProperty('logit_scale')
  })
})

describe('the scale of logits', () => {
  const rows = [Array.from({length: L}, () => 1)]
  const arrays = {q: padded('q', D, rows), k: padded('k', D, rows), v: padded('v', DV, rows)}
  const plan = {methods: [method('favor-pos'), method('softmax')], row_metrics: true}
  const usual = D ** -0.5

  it('of four times the usual one is that of twice the queries and keys, to the bit', async () => {
    const doubled = await resultsOf({...plan, input: await save(arrays), scales: [2]})
    const stated = await resultsOf({...plan, input: await save(arrays, {scale: String(4 * usual)})})
    const given = await resultsOf({...plan, input: await save(arrays), logit_scale: 4 * usual})
    expect(stated).toEqual(doubled.map(result => ({...result, logit_scale: 4 * usual})))
    expect(given).toEqual(stated)
  })

  it('that is given goes before that of the file', async () => {
    const input = await save(arrays, {scale: '17'})
    const given = await resultsOf({...plan, input, logit_scale: usual})
    expect(given).toEqual(await resultsOf({...plan, input: await save(arrays)}))
  })
})
