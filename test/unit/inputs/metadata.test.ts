import {describe, expect, it} from 'vitest'
import {statedFacts, statedTexts} from '../../../src/inputs/metadata.js'

describe('statedTexts', () => {
  const metadata = {scale: '0.5', 'layers.3.scale': '0.25', layout: 'blhd', causal: 'true'}

  it('are those of the file, with the scale of the layer where it has one', () => {
    const rest = {layout: 'blhd', causal: 'true'}
    expect(statedTexts(metadata, 3)).toEqual({...rest, scale: '0.25'})
    for (const layer of [undefined, 30]) {
      expect(statedTexts(metadata, layer)).toEqual({...rest, scale: '0.5'})
    }
  })
})

describe('statedFacts', () => {
  it.each([
    ['0.125', 0.125],
    [' 1 ', 1],
    ['.5', 0.5],
    ['2.', 2],
    ['1e-3', 0.001],
    ['+1.25E+1', 12.5],
  ])('reads the scale %j', (scale, logitScale) => {
    expect(statedFacts({scale}, 'f')).toEqual({logitScale})
  })

  it.each([
    '',
    '-0.5',
    '0',
    'inf',
    'nan',
    '0x10',
    '1/8',
    '1e999',
    '1e-999',
    'true',
    '1,5',
    '0.1 0.2',
  ])('refuses the scale %j, unless another is given', scale => {
    expect(() => statedFacts({scale}, 'f.npz')).toThrow(
      expect.objectContaining({
        code: 'BAD_FILE',
        message: `f.npz, metadata scale: expected a positive decimal number, the factor on q.k, got ${JSON.stringify(scale)}`,
        suggestions: ['name the factor with `scale`, which goes before it'],
      }),
    )
    expect(statedFacts({scale}, 'f', {logitScale: 0.5})).toEqual({})
    expect(() => statedFacts({scale}, 'f', {logitScale: null})).toThrow()
  })

  it('reads whether the model was causal; other texts say nothing', () => {
    expect(statedFacts({causal: 'true'}, 'f')).toEqual({ranCausal: true})
    expect(statedFacts({causal: 'False'}, 'f')).toEqual({ranCausal: false})
    expect(statedFacts({causal: 'as above'}, 'f')).toEqual({})
  })

  it('reads the layout, and refuses one that is none unless another is given', () => {
    expect(statedFacts({layout: 'blhd'}, 'f')).toEqual({layout: 'blhd'})
    const layout = '[batch, heads, length, head_dim]'
    expect(() => statedFacts({layout}, 'f')).toThrow(
      expect.objectContaining({
        code: 'BAD_FILE',
        message: `f, metadata layout: expected one of bhld, blhd, got "${layout}"`,
      }),
    )
    expect(statedFacts({layout}, 'f', {layout: 'bhld'})).toEqual({})
  })
})
