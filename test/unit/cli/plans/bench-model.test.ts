import {describe, expect, it} from 'vitest'
import {type BenchFlags, toBenchPlan} from '../../../../src/cli/plans/bench.js'
import {timedModel} from '../../../../src/cli/plans/bench-model.js'
import {benchGrid} from '../../../../src/experiments/bench/grid.js'
import {packagedFile} from '../../../../src/inputs/packaged.js'
import {BENCH_FLAGS} from '../../../helpers/flags.js'
import {modelFolder} from '../../../helpers/model-folders.js'

const CHARLM = packagedFile('charlm')

async function planOf(typed: Partial<BenchFlags>) {
  const flags = {...BENCH_FLAGS, ...typed}
  return toBenchPlan(flags, {}, undefined, undefined, await timedModel(flags))
}

describe('the plan of a whole model', () => {
  it('takes heads, their size and causality from the model, and times lengths that it reads', async () => {
    const plan = await planOf({model: CHARLM, methods: ['elu']})
    expect(plan).toMatchObject({
      ...{mode: 'model', model: {folder: CHARLM}, layers: [0, 1, 2, 3], causal: true},
      ...{heads: 4, head_dim: 32, value_dim: 32, seq_lens: [64, 128, 256]},
    })
    expect(plan.methods.map(({method}) => method)).toEqual(['softmax-online', 'identity', 'elu'])
    expect((await planOf({model: CHARLM, quick: true})).seq_lens).toEqual([64, 256])
  })

  it('times the packaged model where no folder is named, and the layers that are', async () => {
    const plan = await planOf({mode: 'model', layers: 'first:2', 'seq-len': [[32]]})
    expect(plan).toMatchObject({model: {folder: CHARLM}, layers: [0, 1], seq_lens: [32]})
  })

  it('decodes causal models over a cache of keys and values', async () => {
    const plan = await planOf({model: CHARLM, mode: 'decode', methods: ['elu']})
    expect(plan.methods.map(({method}) => method)).toEqual(['softmax', 'elu'])
    const [cell] = (await benchGrid(plan)).cells()
    expect(cell).toMatchObject({mode: 'decode', layers: [0, 1, 2, 3], lengths: [64, 128, 256]})
  })

  it('names neither model nor layers in plans and cells of attention', async () => {
    const plan = await planOf({methods: ['elu']})
    const [cell] = (await benchGrid(plan)).cells()
    for (const own of [plan, cell]) {
      expect(own).not.toHaveProperty('model')
      expect(own).not.toHaveProperty('layers')
    }
  })

  it.each<[string, Partial<BenchFlags>, RegExp]>([
    ['a longer text', {'seq-len': [[256, 512]]}, /expected at most 256 tokens, .* got 512/],
    ['heads', {heads: 4}, /--heads: expected nothing where a model/],
    ['causality', {causal: false}, /--causal: expected nothing where a model/],
    ['a file', {input: ['qkv.npz']}, /--input: expected nothing where a model/],
    [
      'learned parameters',
      {parameters: 'tuned.safetensors'},
      /--parameters: expected nothing where a model/,
    ],
    ['parts', {breakdown: true}, /--breakdown: expected nothing where a model/],
    ['attention alone', {mode: 'forward'}, /--mode: expected model or decode/],
    ['a layer that is not there', {layers: '4'}, /--layers: expected .* got 4/],
    ['several sets of layers', {layers: 'each'}, /--layers: expected one set of layers/],
  ])('refuses %s', async (_, flags, message) => {
    await expect(planOf({model: CHARLM, ...flags})).rejects.toThrow(message)
  })

  it('refuses layers without a model, and decodes of encoders', async () => {
    await expect(planOf({layers: 'all'})).rejects.toThrow(/--layers: expected --model with it/)
    const encoder = await modelFolder('bert')
    await expect(planOf({model: encoder, mode: 'decode'})).rejects.toThrow(
      /expected a causal model/,
    )
  })

  it('refuses another model than it was made of, and other heads', async () => {
    const plan = await planOf({model: CHARLM, methods: ['elu']})
    const jobs = async (changes: object) => (await benchGrid({...plan, ...changes})).jobs()
    await expect(jobs({model: {folder: CHARLM, digest: 'another'}})).rejects.toMatchObject({
      code: 'FILE_CHANGED',
    })
    await expect(jobs({heads: 8})).rejects.toMatchObject({code: 'SHAPE_MISMATCH'})
    expect(await jobs({})).toHaveLength(9)
  })
})
