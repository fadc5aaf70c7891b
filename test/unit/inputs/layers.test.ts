import {describe, expect, it} from 'vitest'
import {chosenLayers, layerOf, layersWith} from '../../../src/inputs/layers.js'

const entry = {shape: [1, 3, 5, 7], dtype: 'float32' as const}
const file = (...names: string[]) => ({
  path: 'model.npz',
  query: 'q',
  entries: new Map(names.map(name => [name, entry])),
})
const SEVERAL = file('layers.10.q', 'layers.9.q', 'layers.0.q', 'layers.9.k', 'key_mask')

describe('layerOf', () => {
  it('takes the number and the rest of a name, dots included', () => {
    expect(layerOf('layers.10.q')).toEqual({layer: 10, name: 'q'})
    expect(layerOf('layers.0.attn.q.weight')).toEqual({layer: 0, name: 'attn.q.weight'})
  })

  it.each([
    'q',
    'layers.q',
    'layers.01.q',
    'layers.-1.q',
    'layers.1e3.q',
    'layers.99999999999999999999.q',
    'my.layers.1.q',
    'layers.1.',
    'layers.1',
    'Layers.1.q',
  ])('takes %s for an array of no layer', name => {
    expect(layerOf(name)).toBeUndefined()
  })
})

it('layersWith lists numbers in their order, not as texts', () => {
  expect(layersWith(SEVERAL.entries, 'q')).toEqual([0, 9, 10])
  expect(layersWith(SEVERAL.entries, 'k')).toEqual([9])
  expect(layersWith(SEVERAL.entries, 'key_mask')).toEqual([])
})

describe('chosenLayers', () => {
  it('are all where nothing is asked and the file has nothing else', () => {
    expect(chosenLayers(undefined, SEVERAL)).toEqual([0, 9, 10])
    expect(chosenLayers('all', SEVERAL)).toEqual([0, 9, 10])
  })

  it('are none where the file has arrays of no layer, unless asked for', () => {
    const both = file('q', 'layers.3.q')
    expect(chosenLayers(undefined, both)).toBeUndefined()
    expect(chosenLayers('all', both)).toEqual([3])
    expect(chosenLayers(undefined, file('k', 'v'))).toBeUndefined()
  })

  it('are those asked for, as asked, each once', () => {
    expect(chosenLayers([10, 0, 10], SEVERAL)).toEqual([10, 0])
  })

  it('refuses those that are not there, naming those that are', () => {
    expect(() => chosenLayers([0, 1, 7], SEVERAL)).toThrow(
      expect.objectContaining({
        code: 'ARRAY_MISSING',
        message: 'model.npz: expected layers 1, 7, got layers 0, 9, 10',
      }),
    )
    expect(() => chosenLayers('all', file('q'))).toThrow(
      expect.objectContaining({
        code: 'ARRAY_MISSING',
        message: 'model.npz: expected arrays of layers, such as "layers.0.q", got none',
      }),
    )
  })
})
