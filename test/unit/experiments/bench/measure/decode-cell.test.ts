import * as tf from '@tensorflow/tfjs-core'
import {afterEach, describe, expect, it, vi} from 'vitest'
import {estimatorNamed, loadEstimators} from '../../../../../src/attention/names.js'
import {useBackend} from '../../../../../src/backends/index.js'
import {runBenchCell} from '../../../../../src/experiments/bench/measure/cell.js'
import type {BenchPlan} from '../../../../../src/experiments/bench/schema.js'
import {benchPlan, benchResult} from '../../../../../src/experiments/bench/schema.js'
import {benchCells, benchJobs} from '../../../../helpers/cells.js'
import {bench, method} from '../../../../helpers/plans.js'

const decode = (changes: Partial<BenchPlan> = {}) =>
  benchPlan.parse(bench({mode: 'decode', seq_lens: [7, 20, 3], ...changes}))

const cellsOf = async (changes: Partial<BenchPlan> = {}) => await benchCells(decode(changes))

/** What the only cell of a plan gives. */
async function outcome(changes: Partial<BenchPlan>) {
  const [cell] = await cellsOf(changes)
  return runBenchCell(cell!)
}

afterEach(() => vi.restoreAllMocks())

describe('cells of a decode', () => {
  it('are one for all lengths, causal, with projections that last', async () => {
    const cells = await cellsOf({methods: [method('softmax'), method('rfa')], redraw: 'call'})
    expect(cells).toHaveLength(2)
    for (const cell of cells) {
      expect(cell).toMatchObject({
        mode: 'decode',
        seq_len: 20,
        lengths: [3, 7, 20],
        causal: true,
        redraw: 'fixed',
      })
    }
  })

  it('leave those of forward passes as they are', async () => {
    const [cell] = await benchCells(bench())
    expect(cell).not.toHaveProperty('mode')
    expect(cell).not.toHaveProperty('lengths')
  })

  it('are predicted by their tokens and their state', async () => {
    const predicted = async (changes: Partial<BenchPlan>) => await benchJobs(decode(changes))
    const [short] = await predicted({methods: [method('softmax')], seq_lens: [1000]})
    const [long] = await predicted({methods: [method('softmax')], seq_lens: [100_000]})
    const [linear] = await predicted({methods: [method('elu')], seq_lens: [100_000]})
    // keys and values of 8 floats each, twice while they are copied
    expect(long!.predictedBytes - short!.predictedBytes).toBe(2 * 99_000 * 2 * 8 * 4)
    // a hundred times the tokens, with a hundred times the keys
    expect(long!.predictedCost / short!.predictedCost).toBeGreaterThan(1000)
    expect(linear!.predictedCost).toBeLessThan(long!.predictedCost / 10)
    expect(linear!.label).toBe('elu decode L=100000')
  })
})

describe('a decode', () => {
  it.each([
    ['softmax', [3, 7, 20].map(t => t * (8 + 8) * 4)],
    ['elu', Array(3).fill(8 * (8 + 1) * 4)],
    ['favor-pos', Array(3).fill(16 * (8 + 2) * 4)],
    ['cosformer', Array(3).fill(16 * (8 + 1) * 4)],
  ] as const)('of %s is checked, timed, and told by its marks', async (name, states) => {
    const before = await useBackend('cpu').then(() => tf.memory().numTensors)
    const {status, ...rest} = await outcome({methods: [method(name)]})
    expect(status).toBe('completed')
    const {result} = rest as {result: unknown}
    const {marks = [], gate, runs, samples_ns, live_bytes} = benchResult.parse(result)
    expect(gate!.max_abs_error).toBeLessThanOrEqual(gate!.bound)
    expect(gate!.rows).toBe(20)
    expect(marks.map(({tokens}) => tokens)).toEqual([2, 3, 4, 7, 8, 16, 20])
    expect(marks.at(-1)!.total_samples_ns).toEqual(samples_ns)
    expect(samples_ns).toHaveLength(runs)
    const wanted = [3, 7, 20]
    const held = marks.filter(({tokens}) => wanted.includes(tokens))
    expect(held.map(({state_bytes}) => state_bytes)).toEqual(states)
    expect(live_bytes).toBe(states.at(-1))
    // the tokens and the projection stay for the life of the process, nothing of each decode does
    expect(tf.memory().numTensors - before).toBeLessThanOrEqual(3 * 16 + 1)
  })

  it('is not timed where it differs from the causal forward', async () => {
    await loadEstimators()
    const elu = estimatorNamed('elu')
    const make = elu.decoder!
    vi.spyOn(elu, 'decoder').mockImplementation(inputs => {
      const inner = make(inputs)
      const next: typeof inner.next = (query, key, value) =>
        tf.tidy(() => tf.mul(inner.next(query, key, value), 1.01))
      return {next, stateBytes: 0, state: {}, dispose: () => inner.dispose()}
    })
    await expect(outcome({methods: [method('elu')]})).rejects.toMatchObject({code: 'GATE_FAILED'})
  })

  it.each([
    ['identity', {}, 'has no recurrent form'],
    ['elu', {seq_lens: [1]}, 'needs at least 2 tokens'],
  ] as const)('of %s with %o is skipped with the reason', async (name, changes, reason) => {
    const plan = {methods: [method(name)], ...changes} as Partial<BenchPlan>
    expect(await outcome(plan)).toEqual({status: 'skipped', reason})
  })

  it('is skipped where options leave no recurrent form, with the reason of the method', async () => {
    const methods = [{...method('favor-pos'), preset: 'performer-pytorch' as const}]
    expect(await outcome({methods})).toMatchObject({
      status: 'skipped',
      reason: expect.stringContaining('stabilizer "log"'),
    })
  })
})
