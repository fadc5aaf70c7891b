import {describe, expect, it} from 'vitest'
import {sampledInput} from '../../../../src/cli/plans/variance-input.js'

describe('sampledInput', () => {
  it('is none where norms and angles make the pairs', async () => {
    expect(await sampledInput({norms: [[1]]})).toBeUndefined()
  })

  it('draws pairs from the input of the package, one of each head unless more are asked for', async () => {
    const input = await sampledInput({seed: 2, input: undefined, pairs: 30})
    expect(input).toMatchObject({headDim: 32})
    expect(input!.pairs).toHaveLength(30)
    const file = `fixtures/${input!.input}`
    const each = await sampledInput({input: [file]})
    expect(each!.pairs.map(({head}) => head)).toEqual(Array.from({length: 12}, (_, head) => head))
  })

  it.each([
    ['--norms', {norms: [[1]]}],
    ['--head-dim', {'head-dim': [[16]]}],
    ['--sum-norms', {'sum-norms': [[1]]}],
  ])('refuses %s beside an input', async (name, flags) => {
    await expect(sampledInput({pairs: 3, ...flags})).rejects.toMatchObject({
      code: 'USAGE',
      message: `${name}: expected no pairs of an input beside it, got --pairs or --input`,
    })
  })

  it('takes one layer', async () => {
    await expect(sampledInput({pairs: 3, layer: [[0, 3]]})).rejects.toMatchObject({
      message: '--layer: expected one layer, got 0, 3',
    })
  })
})
