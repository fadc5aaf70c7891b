import {join} from 'node:path'
import {expect, it} from 'vitest'
import type {ErrorSweepPlan} from '../../../../src/experiments/error-sweep/schema.js'
import {pinInput} from '../../../../src/inputs/digest.js'
import {writeArrays} from '../../../../src/inputs/files/index.js'
import {cellsOf} from '../../../helpers/cells.js'
import {temporaryFolder} from '../../../helpers/folders.js'

const path = join(temporaryFolder(), 'qkv.npz')

/** Queries, keys and values that are all `value`. */
async function save(value: number): Promise<void> {
  const array = {
    shape: [2, 5, 3],
    dtype: 'float32',
    data: new Float32Array(30).fill(value),
  } as const
  const own = {...array, shape: [...array.shape]}
  await writeArrays(path, {q: own, k: own, v: own})
}

it('a cell on a file that was replaced since the plan was made fails; earlier cells stand', async () => {
  await save(0.5)
  const input = await pinInput({
    kind: 'file',
    paths: [path],
    names: {query: 'q', key: 'k', value: 'v'},
  })
  const [first, second] = await cellsOf<ErrorSweepPlan>({
    experiment: 'error-sweep',
    input,
    methods: [{method: 'elu', preset: 'exact', options: {}}],
    projections: ['iid'],
    orth_sign: 'haar',
    num_features: [4],
    seq_lens: [4, 5],
    scales: [1],
    targets: ['raw'],
    replicates: 1,
    causal: false,
    row_metrics: false,
    seed: 0,
    backend: 'cpu',
  })
  expect(await first!()).toMatchObject({status: 'completed'})
  await save(0.25)
  const refused = {code: 'FILE_CHANGED', message: expect.stringContaining('qkv.npz: expected')}
  await expect(second!()).rejects.toMatchObject(refused)
  expect(await first!()).toMatchObject({status: 'completed'}) // its data is still in memory
  await save(0.5)
  expect(await second!()).toMatchObject({status: 'completed'})
})
