import {describe, expect, it} from 'vitest'
import {type SmallModel, startWeights, weightShapes} from '../../../../src/model/trained/index.js'

const MODEL: SmallModel = {
  ...{vocabulary: 11, length: 9, width: 12, layers: 1, heads: 3, headDim: 5, mlp: 0},
  ...{convolution: 0, positions: false, gated: false},
}

describe('weights of a small model', () => {
  it('are those that its parts need', () => {
    const names = (changes: Partial<SmallModel>) => {
      const own = new Set(weightShapes(MODEL).map(([name]) => name))
      const all = weightShapes({...MODEL, ...changes}).map(([name]) => name)
      return all.filter(name => !own.has(name))
    }
    expect(names({positions: true})).toEqual(['positions'])
    expect(names({gated: true})).toEqual(['0.gate.weight', '0.gate.bias'])
    expect(names({mlp: 7})).toHaveLength(6)
    expect(names({convolution: 3})).toHaveLength(6)
    expect(new Map(weightShapes(MODEL)).get('0.qkv.weight')).toEqual([12, 2 * 15 + 12])
  })

  it('are the same for all methods, and others in another run', () => {
    const values = (changes: Partial<SmallModel>, run = 0) =>
      startWeights({...MODEL, ...changes}, 3, run).find(({name}) => name === '0.out.weight')!.values
    expect(values({gated: true})).toEqual(values({}))
    expect(values({}, 1)).not.toEqual(values({}))
  })

  it('begin with gates that remember', () => {
    const weights = startWeights({...MODEL, gated: true, convolution: 3}, 0, 0)
    const own = (name: string) => weights.find(weight => weight.name === name)!.values
    expect(new Set(own('0.gate.bias'))).toEqual(new Set([3]))
    expect(new Set(own('convolution.gate.bias'))).toEqual(new Set([0]))
    expect(new Set(own('0.norm.weight'))).toEqual(new Set([1]))
  })
})
