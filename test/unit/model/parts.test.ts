import {describe, expect, it} from 'vitest'
import {tf} from '../../../src/attention/index.js'
import {useBackend} from '../../../src/backends/index.js'
import {openModel} from '../../../src/model/index.js'
import {modelFolder} from '../../helpers/model-folders.js'

describe('the output projection of a layer', () => {
  it.each([
    ['gpt2', 'h.0.mlp.c_proj.weight'],
    ['llama', 'layers.0.mlp.down_proj.weight'],
  ] as const)('is what attention adds to the residual stream: %s', async (kind, last) => {
    // without its network a layer is the residual stream and the projection
    await useBackend('cpu')
    const folder = await modelFolder(kind, {
      arrays: arrays => {
        arrays[last] = {...arrays[last]!, data: new Float32Array(arrays[last]!.data.length)}
      },
    })
    const model = await openModel(folder)
    const {batches} = await model.tokenize(['a b c', 'd e f'])
    const tokens = batches[0]!
    const hidden = await model.embed(tokens)
    const layer = await model.layer(0)
    const {heads, headDim} = model.facts
    const shape: [number, number, number, number] = [tokens.batch, heads, tokens.length, headDim]
    const [a, b] = [1, 2].map(seed => tf.randomNormal<tf.Rank.R4>(shape, 0, 1, 'float32', seed))
    const [one, other] = [a!, b!].map(out => layer.forward(hidden, tokens, () => out.clone()))
    const wanted = await tf.sub(one!, other!).data()
    const found = await layer.project(tf.sub(a!, b!)).data()
    // float32 sums of up to 32 terms of hidden states of some 10
    const off = Array.from(found, (value, at) => Math.abs(value - wanted[at]!))
    expect(Math.max(...off)).toBeLessThan(1e-4)
    expect(Math.max(...wanted.map(Math.abs))).toBeGreaterThan(0.1)
  })
})
