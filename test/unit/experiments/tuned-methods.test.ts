/** Cells with learned parameters: with those that change nothing they are what they are without. */
import {join} from 'node:path'
import {afterEach, beforeAll, beforeEach, describe, expect, it} from 'vitest'
import {projectionTensor} from '../../../src/attention/internal.js'
import {useBackend} from '../../../src/backends/index.js'
import type {MethodSpec} from '../../../src/experiments/axes.js'
import {checkErrorSweep, errorSweepGrid} from '../../../src/experiments/error-sweep/grid.js'
import {runErrorSweepCell} from '../../../src/experiments/error-sweep/measure/cell.js'
import {type ErrorSweepPlan, errorSweepResult} from '../../../src/experiments/error-sweep/schema.js'
import {runSwapCell} from '../../../src/experiments/swap/measure/cell.js'
import {type SwapCell, swapResult} from '../../../src/experiments/swap/schema.js'
import {assertTuned} from '../../../src/experiments/tuned-methods.js'
import {prepareRun} from '../../../src/runner/preparation.js'
import {tf} from '../../../src/tf.js'
import {
  hasLearnedRows,
  readTuned,
  type Tuned,
  type TunedParameters,
  tunedSpecOf,
  writeTuned,
} from '../../../src/tuned/index.js'
import {newFolder} from '../../helpers/folders.js'
import {method, sweep} from '../../helpers/plans.js'
import {swapCellOf} from '../../helpers/swap-cells.js'
import {exampleTuned} from '../../helpers/tuned.js'

beforeAll(() => useBackend('cpu'))
beforeEach(() => tf.engine().startScope())
afterEach(() => tf.engine().endScope())

const M = 8
const DRAWS = 3

/** `[heads, dim, dim]`: identities times a factor. */
function identities(heads: number, dim: number, factor = 1): Float32Array<ArrayBuffer> {
  return Float32Array.from({length: heads * dim * dim}, (_, i) =>
    Math.floor(i / dim) % dim === i % dim ? factor : 0,
  )
}

/** Random vectors as they are drawn for a replicate. */
function drawnRows({heads, headDim, seed = 0}: Made, replicate: number) {
  const request = {name: 'orth' as const, heads, numFeatures: M, headDim, seed, replicate}
  return Float32Array.from(projectionTensor({...request, orthSign: 'haar'}).dataSync())
}

interface Made {
  heads: number
  headDim: number
  learned: Tuned['learned']
  layers?: (number | undefined)[]
  factor?: number
  /** Which replicate a draw of a layer is. */
  place?: (layer: number, draw: number) => number
  /** Of the random vectors. */
  seed?: number
}

/** The spec of a method with parameters that change nothing, or scale queries and keys. */
async function tunedMethod(made: Made): Promise<MethodSpec> {
  const {heads, headDim, learned, layers = [undefined], factor = 1} = made
  const {place = (_, draw) => draw} = made
  const facts = exampleTuned({heads, keyHeads: heads, headDim, learned, numFeatures: M})
  const setOf = (layer: number, draw: number): TunedParameters => ({
    queryMap: identities(heads, headDim, factor),
    keyMap: identities(heads, headDim, factor),
    ...(hasLearnedRows(facts) && {
      projection: drawnRows(made, place(layer, draw)),
    }),
  })
  const path = join(await newFolder(), 'tuned.safetensors')
  await writeTuned(path, {
    ...facts,
    layers: layers.map(layer => ({
      ...{layer, scale: headDim ** -0.5, heldOut: null},
      sets: Array.from({length: hasLearnedRows(facts) ? DRAWS : 1}, (_, draw) =>
        setOf(layer ?? 0, draw),
      ),
    })),
  })
  return {...method('favor-pos'), tuned: tunedSpecOf(await readTuned(path))}
}

const planOf = (methods: MethodSpec[], more: Partial<ErrorSweepPlan> = {}) =>
  sweep({
    methods,
    ...{projections: ['orth'], num_features: [M], scales: [1], targets: ['raw'], replicates: 5},
    ...more,
  })

async function resultsOf(plan: ErrorSweepPlan) {
  const cells = (await errorSweepGrid(plan)).cells()
  const outcomes = await Promise.all(cells.map(cell => runErrorSweepCell(cell)))
  return outcomes.map(outcome => {
    if (outcome.status !== 'completed') throw new Error(outcome.reason)
    return errorSweepResult.parse(outcome.result)
  })
}

/** Heads and head dimension of the input of the plans. */
const INPUT = {heads: 3, headDim: 7}

describe('a sweep', () => {
  it('with maps that change nothing has the errors of the method without, and no prediction', async () => {
    const tuned = await tunedMethod({...INPUT, learned: 'maps'})
    for (const row_metrics of [false, true]) {
      const plan = planOf([method('favor-pos'), tuned], {row_metrics})
      const [plain, own] = await resultsOf(plan)
      expect(own!.replicate_metrics).toEqual(plain!.replicate_metrics)
      expect(own!.row_kl_nats).toEqual(plain!.row_kl_nats)
      expect(own!.predicted_relative_variance).toBeNull()
      expect(own!.limit_distance).toBeNull()
      expect(plain!.predicted_relative_variance).not.toBeNull()
      const moved = await tunedMethod({...INPUT, learned: 'temperature', factor: 0.5})
      const [other] = await resultsOf(planOf([moved], {row_metrics}))
      expect(other!.rel_l2.median).not.toBe(plain!.rel_l2.median)
      expect(other!.mean_value_mse).toBe(plain!.mean_value_mse)
      if (row_metrics) expect(other!.row_kl_nats).not.toEqual(plain!.row_kl_nats)
    }
  })

  it('takes draw r of learned random vectors for replicate r', async () => {
    const place = (_: number, draw: number) => DRAWS - 1 - draw
    const tuned = await tunedMethod({...INPUT, learned: 'rows', place})
    const [plain, own] = await resultsOf(planOf([method('favor-pos'), tuned]))
    // the method without makes 5 draws in one call, each of them rounded as by itself
    const first = plain!.replicate_metrics!.rel_l2.slice(0, DRAWS)
    expect(own!.replicate_metrics!.rel_l2).toEqual(first.toReversed())
  })

  it('has one cell of the projection and M of the file, with no more replicates than draws', async () => {
    const tuned = await tunedMethod({...INPUT, learned: 'maps,rows'})
    const until_ci = {metric: 'rel_l2' as const, relative_half_width: 0.05, max_replicates: 40}
    const plan = planOf([method('favor-pos'), tuned], {
      ...{projections: ['iid'], num_features: [16, 32], targets: ['raw', 'matched'], until_ci},
    })
    const cells = (await errorSweepGrid(plan)).cells()
    expect(cells).toHaveLength(3)
    expect(cells[2]).toMatchObject({
      ...{projection: 'orth', num_features: M, replicates: DRAWS, target: 'raw'},
      until_ci: {max_replicates: DRAWS},
    })
    expect(cells[0]).toMatchObject({replicates: 5, until_ci: {max_replicates: 40}})
  })

  it('refuses parameters of another input before it runs', async () => {
    const tuned = await tunedMethod({heads: 2, headDim: 7, learned: 'maps'})
    await expect(checkErrorSweep(planOf([tuned]))).rejects.toMatchObject({
      code: 'SHAPE_MISMATCH',
      message: expect.stringContaining('got 3 of queries and 3 of keys'),
    })
    const others = await tunedMethod({...INPUT, learned: 'maps', layers: [0, 1]})
    const places = async () => [{layer: 2, keyHeads: 3, ...INPUT}]
    await expect(assertTuned([others], places)).rejects.toMatchObject({code: 'ARRAY_MISSING'})
  })

  it('is not prepared with a file that was changed since its plan was made', async () => {
    const tuned = await tunedMethod({...INPUT, learned: 'maps'})
    const plan = planOf([tuned])
    await expect(prepareRun(plan)).resolves.toMatchObject({jobs: [{}]})
    const {path} = tuned.tuned!
    const {sets, ...layer} = (await readTuned(path)).layers[0]!
    await writeTuned(path, {...(await readTuned(path)), seed: 9, layers: [{...layer, sets}]})
    // another file is kept in the meantime
    const other = await tunedMethod({...INPUT, learned: 'temperature'})
    await expect(prepareRun(planOf([other]))).resolves.toBeDefined()
    await expect(prepareRun(plan)).rejects.toMatchObject({code: 'FILE_CHANGED'})
  })
})

describe('a swap', () => {
  async function resultOf(cell: SwapCell) {
    const outcome = await runSwapCell(cell)
    if (outcome.status !== 'completed') throw new Error(outcome.reason)
    const {causal_effects, hidden_error, attention_errors} = swapResult.parse(outcome.result)
    return {causal_effects, hidden_error, attention_errors}
  }

  it('takes in each layer its own parameters, and of learned random vectors draw r for replicate r', async () => {
    const whole = await swapCellOf('favor-pos', {M, count: 1})
    const cell = {...whole, layers: [2, 3], max_tokens: 12}
    const [count, seed] = [whole.layers.length, 5]
    const place = (layer: number, draw: number) => draw * count + layer
    const parameters = async (made: Pick<Made, 'learned' | 'factor'>) => {
      const {tuned} = await tunedMethod({
        heads: 4,
        headDim: 32,
        layers: [2, 3],
        place,
        seed,
        ...made,
      })
      return {...cell, ...(tuned && {tuned})}
    }
    const plain = await resultOf(cell)
    expect(await resultOf(await parameters({learned: 'maps'}))).toEqual(plain)
    const drawn = await resultOf({...cell, seed})
    expect(drawn).not.toEqual(plain)
    expect(await resultOf(await parameters({learned: 'maps,rows'}))).toEqual(drawn)
    const moved = await resultOf(await parameters({learned: 'temperature', factor: 0.5}))
    expect(moved).not.toEqual(plain)
  })
})
