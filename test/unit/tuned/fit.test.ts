import {expect, it} from 'vitest'
import {tunedWarnings} from '../../../src/tuned/index.js'
import {exampleTuned} from '../../helpers/tuned.js'

const FILE = {...exampleTuned(), path: 'tuned.safetensors', digest: ''}
const [{layer, scale}] = FILE.layers as [(typeof FILE.layers)[number]]

it('parameters are warned of where attention is other than the one that they were learned for', () => {
  const same = {layer, scale, causal: FILE.causal}
  expect(tunedWarnings(FILE, same)).toEqual([])
  expect(tunedWarnings(FILE, {...same, scale: scale * (1 + 1e-7)})).toEqual([])
  expect(tunedWarnings(FILE, {...same, causal: true})).toEqual([
    'tuned.safetensors was learned with attention that is not causal, here it is causal: rfa tune --causal learns for it',
  ])
  expect(tunedWarnings(FILE, {...same, scale: 2 * scale})).toEqual([
    `tuned.safetensors was learned with logits ${scale} q.k, here they are ${2 * scale} q.k: rfa tune --scale ${2 * scale} learns for them`,
  ])
  expect(tunedWarnings({...FILE, causal: true}, same)[0]).toContain('rfa tune --no-causal')
})
