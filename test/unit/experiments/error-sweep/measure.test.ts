/** Sweeps over several files: each layer is what its file is alone, each text of a batch what it is alone. */
import {join} from 'node:path'
import {beforeAll, expect, it} from 'vitest'
import {useBackend} from '../../../../src/backends/index.js'
import {errorSweepGrid} from '../../../../src/experiments/error-sweep/grid.js'
import type {
  ErrorSweepPlan,
  ErrorSweepResult,
} from '../../../../src/experiments/error-sweep/schema.js'
import {pinnedInput} from '../../../../src/inputs/digest.js'
import {writeArrays} from '../../../../src/inputs/files/index.js'
import type {FileSpec} from '../../../../src/inputs/input-files.js'
import type {NdArray} from '../../../../src/inputs/nd-array.js'
import {hostNormals} from '../../../helpers/arrays.js'
import {cellsOf} from '../../../helpers/cells.js'
import {temporaryFolder} from '../../../helpers/folders.js'
import {method, sweep} from '../../../helpers/plans.js'

beforeAll(() => useBackend('cpu'))

const folder = temporaryFolder()
const [H, D, DV] = [3, 7, 5]

async function save(name: string, length: number, factor = 1): Promise<string> {
  const path = join(folder, name)
  const array = (role: string, dim: number): NdArray => {
    const shape: [number, number, number, number] = [1, H, length, dim]
    const data = hostNormals(`${role}-${name}`, shape).data.map(x => factor * x)
    return {shape, dtype: 'float32', data: Float32Array.from(data)}
  }
  await writeArrays(path, {q: array('q', D), k: array('k', D), v: array('v', DV)}, {})
  return path
}

async function resultsOf(
  paths: string[],
  changes: Partial<ErrorSweepPlan> = {},
): Promise<ErrorSweepResult[]> {
  const names = {query: 'q', key: 'k', value: 'v'}
  const input: FileSpec = {kind: 'file', paths, names}
  const plan = sweep({
    ...{methods: [method('favor-pos')], projections: ['orth'], num_features: [11]},
    ...{scales: [1], seq_lens: null, targets: ['raw'], ...changes},
    ...(await pinnedInput(input)),
  })
  const outcomes = await Promise.all((await cellsOf(plan)).map(run => run()))
  return outcomes.map(outcome => {
    if (outcome.status !== 'completed') throw new Error(outcome.reason)
    return outcome.result as ErrorSweepResult
  })
}

it('layers in files of their own are what these are alone', async () => {
  const paths = [await save('layer1.npz', 13), await save('layer0.npz', 17, 0.5)]
  const both = await resultsOf(paths)
  const alone = [...(await resultsOf([paths[1]!])), ...(await resultsOf([paths[0]!]))]
  expect(both).toEqual(alone)
  expect(both.map(({query_len}) => query_len)).toEqual([17, 13])
})

it('texts of one layer have the errors that they have alone, and an interval over them and draws', async () => {
  const paths = [await save('a.npz', 13), await save('b.npz', 17, 0.5), await save('c.npz', 17)]
  const [all] = (await resultsOf(paths)) as [ErrorSweepResult]
  expect(all.batch).toBe(3)
  const sequences = all.replicate_metrics!.sequence_rel_l2!
  for (const [at, path] of paths.entries()) {
    const [alone] = (await resultsOf([path])) as [ErrorSweepResult]
    const errors = alone.replicate_metrics!.rel_l2
    // padded attention sums in another order
    sequences[at]!.forEach((error, draw) => {
      expect(Math.abs(error! - errors[draw]!)).toBeLessThan(1e-4 * errors[draw]!)
    })
    expect(alone.rel_l2_over_texts).toBeNull()
    expect(alone.replicate_metrics!.sequence_rel_l2).toBeNull()
  }
  const {mean, low, high} = all.rel_l2_over_texts!
  const flat = sequences.flat() as number[]
  expect(mean).toMatchReference(flat.reduce((sum, x) => sum + x, 0) / flat.length, 6)
  const means = sequences.map(own => own.reduce<number>((sum, x) => sum + x!, 0) / own.length)
  // it is no narrower than what Student's t says of the means of texts alone: 4.303 for two degrees of freedom
  const center = means.reduce((sum, x) => sum + x, 0) / 3
  const sd = Math.sqrt(means.reduce((sum, x) => sum + (x - center) ** 2, 0) / 2)
  expect(high! - low!).toBeGreaterThan((2 * 4.302 * sd) / Math.sqrt(3))
})

it('errors of queries have quantiles, by position where attention is causal', async () => {
  const path = await save('d.npz', 16)
  const [causal] = (await resultsOf([path], {causal: true})) as [ErrorSweepResult]
  const [bidirectional] = (await resultsOf([path])) as [ErrorSweepResult]
  for (const result of [causal, bidirectional]) {
    const {query_error_p50, query_error_p90, query_error_p99} = result
    expect(query_error_p50!.median!).toBeGreaterThan(0)
    expect(query_error_p90!.median!).toBeGreaterThan(query_error_p50!.median!)
    expect(query_error_p99!.median!).toBeGreaterThanOrEqual(query_error_p90!.median!)
  }
  expect(bidirectional.query_errors_by_position).toBeNull()
  const parts = causal.query_errors_by_position!
  expect(parts.map(({position}) => position)).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
  // the first query sees one key, and copies its value
  expect(parts.slice(1).every(({query_error}) => query_error.median! > 0)).toBe(true)
})

it('how far a limit is off softmax stands with errors against it: 0 for what estimates softmax', async () => {
  const path = await save('e.npz', 13)
  const methods = ['favor-pos', 'rfa', 'elu'].map(name => method(name))
  const changes = {methods, targets: ['raw', 'matched'] as ('raw' | 'matched')[]}
  const results = await resultsOf([path], {...changes, num_features: [512]})
  const [favor, raw, matched, elu] = results as [ErrorSweepResult, ...ErrorSweepResult[]]
  expect([favor, raw, elu].map(own => own!.limit_distance)).toEqual([0, null, null])
  // by the triangle of estimate, limit and softmax, the norm of the limit being at most 1 + floor of that of softmax
  const floor = matched!.limit_distance!
  const noise = matched!.rel_l2.max! * (1 + floor)
  expect(floor).toBeGreaterThan(2 * noise)
  expect(floor).toBeLessThanOrEqual(raw!.rel_l2.min! + noise)
  expect(floor).toBeGreaterThanOrEqual(raw!.rel_l2.max! - noise)
})

it('fewer causal queries than keys are refused before any cell, until a corner is named', async () => {
  const plan = sweep({
    ...{methods: [method('elu')], seq_lens: [8], causal: true, targets: ['raw']},
    input: {
      ...{kind: 'generator', name: 'gaussian', batch: 1, heads: 2, head_dim: 4, value_dim: 3},
      key_len: 24,
    },
  })
  await expect((await errorSweepGrid(plan)).jobs()).rejects.toThrow(/24 keys/)
  const [run] = await cellsOf({...plan, causal_align: 'end'})
  const outcome = await run!()
  expect(outcome).toMatchObject({status: 'completed', result: {query_len: 8, key_len: 24}})
})
