import {describe, expect, it} from 'vitest'
import {rankWarning, statedFacts, statedTexts, unreadTexts} from '../../../src/inputs/metadata.js'

describe('statedTexts', () => {
  const metadata = {
    ...{scale: '0.5', 'layers.3.scale': '0.25', layout: 'blhd'},
    ...{causal: 'true', 'layers.3.causal': 'false'},
  }

  it('are those of the file, with the scale and the mask of the layer where it has them', () => {
    expect(statedTexts(metadata, 3)).toEqual({layout: 'blhd', scale: '0.25', causal: 'false'})
    for (const layer of [undefined, 30]) {
      expect(statedTexts(metadata, layer)).toEqual({layout: 'blhd', scale: '0.5', causal: 'true'})
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

  it.each(['-0.5', '0', 'inf', '-Infinity', 'nan', '1e999', '1e-999'])(
    'refuses the scale %j, a number that cannot be one, unless another is given',
    scale => {
      expect(() => statedFacts({scale}, 'f.npz')).toThrow(
        expect.objectContaining({
          code: 'BAD_FILE',
          message: `f.npz, metadata scale: expected a positive decimal number, the factor on q.k, got ${JSON.stringify(scale)}`,
          suggestions: ['name the factor with `scale`, which overrides it'],
        }),
      )
      expect(statedFacts({scale}, 'f', {logitScale: 0.5})).toEqual({})
      expect(() => statedFacts({scale}, 'f', {logitScale: null})).toThrow()
    },
  )

  it.each(['', '0x10', '1/8', 'true', '1,5', '0.1 0.2', '1/sqrt(head_dim), not applied'])(
    'passes over the scale %j, and warns of it unless another is given',
    scale => {
      expect(statedFacts({scale}, 'f')).toEqual({})
      expect(unreadTexts({scale}, {})).toEqual([
        `metadata scale ${JSON.stringify(scale)} cannot be read: assumed 1/sqrt(D), the usual factor on q.k; set another with \`scale\``,
      ])
      expect(unreadTexts({scale}, {logitScale: 0.5})).toEqual([])
    },
  )

  it('reads whether the model was causal; other texts are warned of', () => {
    expect(statedFacts({causal: 'true'}, 'f')).toEqual({ranCausal: true})
    expect(statedFacts({causal: 'False'}, 'f')).toEqual({ranCausal: false})
    const causal = 'as above'
    expect(statedFacts({causal}, 'f')).toEqual({})
    expect(unreadTexts({causal}, {causal: false})).toEqual([
      'metadata causal "as above" cannot be read: taken as bidirectional; say which with `causal` or `noCausal`',
    ])
    expect(unreadTexts({causal}, {causal: true})[0]).toContain('taken as causal')
    expect(unreadTexts({causal: 'true', scale: '.5', layout: 'blhd'}, {causal: true})).toEqual([])
  })

  it.each([
    ['bhld', 'bhld'],
    ['blhd', 'blhd'],
    ['[batch, heads, length, head_dim]', 'bhld'],
    ['[batch, length, heads, head_dim]', 'blhd'],
    ['(B, H, L, D)', 'bhld'],
    ['B x T x H x D', 'blhd'],
    ['BSHD', 'blhd'],
    ['batch_size, num_heads, seq-len, head dim', 'bhld'],
    ['["batch", "tokens", "heads", "head_dim"]', 'blhd'],
    ['batch seq_len heads dim', 'blhd'],
    ['[heads, tokens, head_dim]', 'bhld'],
    ['[tokens, heads, head_dim]', 'blhd'],
    ['[length, head_dim]', 'bhld'],
  ])('reads the layout %j as %s', (layout, read) => {
    expect(statedFacts({layout}, 'f')).toEqual({layout: read})
    expect(unreadTexts({layout}, {})).toEqual([])
  })

  it.each([
    '',
    'row-major',
    'heads before tokens',
    '[1, 4, 512, 64]',
    '[batch, heads, length]',
    '[batch, length, head_dim]',
    '[batch, heads, heads, head_dim]',
  ])('passes over the layout %j, and warns of it unless another is given', layout => {
    expect(statedFacts({layout}, 'f')).toEqual({})
    expect(unreadTexts({layout}, {})).toEqual([
      `metadata layout ${JSON.stringify(layout)} cannot be read: assumed [B, H, L, D]; set another with \`layout\``,
    ])
    expect(unreadTexts({layout}, {layout: 'bhld'})).toEqual([])
  })

  it.each(['[length, batch, heads, head_dim]', '[batch, heads, head_dim, length]', 'hbld'])(
    'refuses the layout %j, which says an order that is not read, unless another is given',
    layout => {
      expect(() => statedFacts({layout}, 'f')).toThrow(
        expect.objectContaining({
          code: 'BAD_FILE',
          message: `f, metadata layout: expected axes in the order [B, H, L, D] or [B, L, H, D], got "${layout}"`,
        }),
      )
      expect(statedFacts({layout}, 'f', {layout: 'bhld'})).toEqual({})
    },
  )

  it('warns of a spelled-out layout of another number of axes than the arrays have', () => {
    const layout = '[heads, length, head_dim]'
    expect(rankWarning(layout, 4)).toBe(
      `metadata layout "${layout}" names 3 axes; the queries have 4, read as [B, H, L, D]`,
    )
    expect(rankWarning(layout, 3)).toBeUndefined()
    expect(rankWarning('bhld', 3)).toBeUndefined()
  })
})
