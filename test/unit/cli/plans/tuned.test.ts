import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {toBenchPlan} from '../../../../src/cli/plans/bench.js'
import {toErrorSweepPlan} from '../../../../src/cli/plans/error-sweep.js'
import {toSwapPlan} from '../../../../src/cli/plans/swap.js'
import {swapFiles} from '../../../../src/cli/plans/swap-files.js'
import {fewerDraws, tunedFile, withTuned, withTunedDraws} from '../../../../src/cli/plans/tuned.js'
import {errorSweepGrid} from '../../../../src/experiments/error-sweep/grid.js'
import {variantLabel} from '../../../../src/experiments/labels.js'
import type {Tuned, TunedFile} from '../../../../src/tuned/index.js'
import {readTuned, writeTuned} from '../../../../src/tuned/index.js'
import {BENCH_FLAGS, ERROR_SWEEP_FLAGS, SWAP_FLAGS} from '../../../helpers/flags.js'
import {temporaryFolder} from '../../../helpers/folders.js'
import {method} from '../../../helpers/plans.js'
import {exampleTuned} from '../../../helpers/tuned.js'

const folder = temporaryFolder()
let files = 0

async function saved(tuned: Tuned): Promise<TunedFile> {
  const path = join(folder, `tuned-${files++}.safetensors`)
  await writeTuned(path, tuned)
  return readTuned(path)
}

describe('learned parameters on a command line', () => {
  it('are read from the file that a flag names', async () => {
    const file = await saved(exampleTuned())
    expect(await tunedFile({})).toBeUndefined()
    expect(await tunedFile({parameters: file.path})).toEqual(file)
    expect(await tunedFile({tuned: file.path})).toEqual(file)
  })

  it('put their method behind itself without them, which joins where it is missing', async () => {
    const file = await saved(exampleTuned({options: {guard: 'abs'}}))
    const {path, digest} = file
    const plain = method('favor-pos', {guard: 'abs'})
    const tuned = {path, digest, projection: 'orth', num_features: 8, draws: null}
    expect(withTuned([method('elu')], undefined)).toEqual([method('elu')])
    expect(withTuned([plain, method('elu')], file)).toEqual([
      plain,
      {...plain, tuned},
      method('elu'),
    ])
    // another variant of the method is another method
    expect(withTuned([method('favor-pos')], file)).toEqual([
      method('favor-pos'),
      plain,
      {...plain, tuned},
    ])
  })

  it('add their projection and M to the defaults, and not to what was typed', async () => {
    const file = await saved(exampleTuned({projection: 'simplex'}))
    const grid = {projections: ['iid'] as const, numFeatures: [64, 4]}
    expect(withTunedDraws(grid, file)).toEqual({
      projections: ['iid', 'simplex'],
      numFeatures: [4, 8, 64],
    })
    const flags = {...ERROR_SWEEP_FLAGS, 'num-features': [[16]], methods: ['favor-pos' as const]}
    const plan = toErrorSweepPlan({...flags, generator: 'gaussian'}, {}, file)
    expect(plan.num_features).toEqual([16])
    const labels = (await errorSweepGrid(plan)).cells().map(cell => variantLabel(cell))
    expect(labels).toEqual([
      'favor-pos iid M=16',
      'favor-pos orth M=16',
      'favor-pos simplex M=16',
      'favor-pos (tuned) simplex M=8',
    ])
  })

  it('are all that runs by default where nothing else was asked for', async () => {
    const grid = {projections: ['iid'] as const, numFeatures: [64, 4]}
    const file = await saved(exampleTuned({projection: 'simplex'}))
    expect(withTunedDraws(grid, file, true)).toEqual({projections: ['simplex'], numFeatures: [8]})
    expect(withTunedDraws(grid, undefined, true)).toEqual({...grid, numFeatures: [4, 64]})
  })

  it('say where there are fewer draws than replicates were asked for', async () => {
    const file = await saved(exampleTuned({learned: 'rows'}, {draws: 4}))
    expect(fewerDraws(undefined, file)).toBeUndefined()
    expect(fewerDraws(4, file)).toBeUndefined()
    expect(fewerDraws(9, await saved(exampleTuned()))).toBeUndefined()
    expect(fewerDraws(9, file)).toBe(
      `\`replicates: 9\`: ${file.path} has 4 draws of random vectors, so favor-pos (tuned) is measured with 4`,
    )
  })
})

describe('a benchmark with learned parameters', async () => {
  const file = await saved(exampleTuned({heads: 4, keyHeads: 2, headDim: 8}))

  it('has their heads and head dimension', () => {
    const plan = toBenchPlan({...BENCH_FLAGS, parameters: file.path}, {}, undefined, file)
    expect(plan).toMatchObject({heads: 4, kv_heads: 2, head_dim: 8, value_dim: 8})
    expect(plan.num_features).toEqual([8, 256])
    const tuned = plan.methods.filter(method => method.tuned)
    expect(tuned).toMatchObject([{method: 'favor-pos', tuned: {path: file.path}}])
  })

  it('refuses others', () => {
    const typed = (sizes: object) => () =>
      toBenchPlan({...BENCH_FLAGS, parameters: file.path, ...sizes}, {}, undefined, file)
    expect(typed({heads: 8})).toThrow(/got 8 of queries and 8 of keys/)
    expect(typed({'head-dim': 16})).toThrow(/of 8 entries each, got 16 entries/)
  })
})

describe('a swap with learned parameters', async () => {
  const pinned = await swapFiles({})
  const model = {heads: 4, keyHeads: 4, headDim: 32}
  const file = await saved(exampleTuned(model, {layers: [1, 3]}))
  const methodsOf = ({methods}: ReturnType<typeof toSwapPlan>) =>
    methods.map(({method, tuned}) => (tuned ? `${method} tuned` : method))

  it('exchanges the layers that they are of, others only where those are named', () => {
    expect(toSwapPlan({...SWAP_FLAGS, parameters: file.path}, pinned, {}, file).layer_sets).toEqual(
      [[1, 3]],
    )
    const flags = {...SWAP_FLAGS, parameters: file.path, layers: '3'}
    expect(toSwapPlan(flags, pinned, {}, file).layer_sets).toEqual([[3]])
    expect(() => toSwapPlan({...flags, layers: 'all'}, pinned, {}, file)).toThrow(
      /expected parameters of layer 0, got those of 1, 3/,
    )
  })

  it('has their method and M alone by default where they are what it is for', () => {
    const plan = toSwapPlan({...SWAP_FLAGS, tuned: file.path}, pinned, {}, file)
    expect(methodsOf(plan)).toEqual(['favor-pos', 'favor-pos tuned', 'mean-value', 'softmax'])
    expect(plan).toMatchObject({num_features: [8], projections: ['orth']})
    const more = {tuned: file.path, 'num-features': [[8], [128]]}
    expect(toSwapPlan({...SWAP_FLAGS, ...more}, pinned, {}, file).num_features).toEqual([8, 128])
    const beside = toSwapPlan({...SWAP_FLAGS, parameters: file.path}, pinned, {}, file)
    expect(methodsOf(beside).slice(0, 4)).toEqual(['favor-pos', 'favor-pos tuned', 'rfa', 'elu'])
    expect(beside.num_features).toEqual([8, 64, 256, 1024])
  })

  it('refuses parameters of another model', async () => {
    const other = await saved(exampleTuned({}, {layers: [0]}))
    expect(() => toSwapPlan({...SWAP_FLAGS, tuned: other.path}, pinned, {}, other)).toThrow(
      /expected 2 heads of queries and 2 of keys, of 4 entries each, got 4 of queries and 4 of keys/,
    )
  })
})
