import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import type {ExactTarget} from '../../../../../src/attention/index.js'
import {contextOf} from '../../../../../src/experiments/error-sweep/measure/context.js'
import type {ErrorSweepCell} from '../../../../../src/experiments/error-sweep/schema.js'
import {RAW_TARGET} from '../../../../../src/experiments/method.js'
import {planRun} from '../../../../../src/experiments/planned-run.js'
import {pinInput} from '../../../../../src/inputs/digest.js'
import {writeArrays} from '../../../../../src/inputs/files/index.js'
import {cellsOf} from '../../../../helpers/cells.js'
import {temporaryFolder} from '../../../../helpers/folders.js'
import {method, sweep} from '../../../../helpers/plans.js'

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
  const plan = sweep({input, methods: [method('elu')], seq_lens: [4, 5], scales: [1]})
  const [first, second] = await cellsOf(plan)
  expect(await first!()).toMatchObject({status: 'completed'})
  await save(0.25)
  const refused = {code: 'FILE_CHANGED', message: expect.stringContaining('qkv.npz: expected')}
  await expect(second!()).rejects.toMatchObject(refused)
  expect(await first!()).toMatchObject({status: 'completed'}) // its data is still in memory
  await save(0.5)
  expect(await second!()).toMatchObject({status: 'completed'})
})

describe('contexts', () => {
  const spec = {
    ...({kind: 'generator', name: 'gaussian', batch: 1, heads: 2, head_dim: 4} as const),
    ...{value_dim: 3, key_len: null},
  }
  const cell = async (changes: Partial<ErrorSweepCell> = {}) => {
    const plan = sweep({input: spec, seq_lens: [9], scales: [1], methods: [method('rfa')]})
    const {jobs} = await planRun(plan)
    return {...(jobs[0]!.cell as ErrorSweepCell), ...changes}
  }

  it('of other targets share input and statistics, those of other scales what was loaded', async () => {
    const own: ExactTarget = {...RAW_TARGET, inputs: 'unit', label: 'unit'}
    const [raw, matched] = [
      await contextOf(await cell(), RAW_TARGET),
      await contextOf(await cell(), own),
    ]
    expect(matched.input).toBe(raw.input)
    expect(matched.statistics).toBe(raw.statistics)
    expect(matched.truth.output).not.toEqual(raw.truth.output)
    const doubled = await contextOf(await cell({scale: 2}), RAW_TARGET)
    expect(doubled.input.value.data).toBe(raw.input.value.data)
    expect(doubled.input.query.data[5]).toBe(2 * raw.input.query.data[5]!)
    const other = await contextOf(await cell({seq_len: 7}), RAW_TARGET)
    expect(other.input.query.shape[2]).toBe(7)
  })
  it('of what a method converges to come first where nothing asks for softmax', async () => {
    const own: ExactTarget = {...RAW_TARGET, inputs: 'unit', label: 'unit'}
    const alone = await cell({seed: 5})
    const matched = await contextOf(alone, own)
    const raw = await contextOf(alone, RAW_TARGET)
    expect(matched.input).toBe(raw.input)
    expect(matched.distance).toBeGreaterThan(0)
    expect(raw.distance).toBe(0)
  })
})
