/** Causal attention of fewer queries than keys has two corners: neither is taken without a word. */
import {join} from 'node:path'
import {expect, it} from 'vitest'
import {writeArrays} from '../../../src/inputs/files/index.js'
import {inputWarnings} from '../../../src/inputs/input-facts.js'
import {newFolder} from '../../helpers/folders.js'

async function fewerQueries() {
  const path = join(await newFolder(), 'qkv.npz')
  const array = (length: number) => ({
    shape: [1, 1, length, 4],
    dtype: 'float32' as const,
    data: new Float32Array(length * 4).fill(1),
  })
  await writeArrays(path, {query: array(3), key: array(8), value: array(8)}, {})
  const names = {query: 'query', key: 'key', value: 'value', keyMask: undefined}
  return {kind: 'file' as const, paths: [path], names}
}

it('a causal corner is refused until one is named', async () => {
  const spec = await fewerQueries()
  await expect(inputWarnings(spec, {causal: true})).rejects.toThrow(/causalAlign/)
  expect(await inputWarnings(spec, {causal: true, causalAlign: 'end'})).toEqual([])
  expect(await inputWarnings(spec, {causal: false})).toEqual([])
  expect(await inputWarnings(spec, {causal: true, causalAlign: 'start'})).toEqual([])
  await expect(inputWarnings(spec, {causal: false, causalAlign: 'end'})).rejects.toThrow(
    '`causalAlign` of causal attention, got bidirectional',
  )
})
