import {expect, it} from 'vitest'
import {repeatHeads} from '../../../src/inputs/grouped-heads.js'
import {elementCount} from '../../../src/inputs/nd-array.js'
import {hostNormals} from '../../helpers/arrays.js'

it('each head serves the heads of its group, sequence by sequence', () => {
  const shape = [2, 3, 5, 7] as [number, number, number, number]
  const {data} = hostNormals('keys', shape)
  const given = {shape, data: Float32Array.from(data)}
  const {shape: made, data: repeated} = repeatHeads(given, 12, 'f')
  expect(made).toEqual([2, 12, 5, 7])
  expect(repeated.length).toBe(elementCount(made))
  for (let b = 0; b < 2; b++) {
    for (let h = 0; h < 12; h++) {
      const own = repeated.subarray((b * 12 + h) * 35, (b * 12 + h + 1) * 35)
      const from = b * 3 + Math.floor(h / 4)
      expect(own).toEqual(given.data.subarray(from * 35, (from + 1) * 35))
    }
  }
  expect(repeatHeads(given, 3, 'f')).toBe(given)
})
