import {describe, expect, test} from 'vitest'
import {pinInput} from '../../../src/inputs/digest.js'
import {inputFacts, inputWarnings} from '../../../src/inputs/input-facts.js'
import {exchangeAxes, exchanged, type Four} from '../../../src/inputs/layout.js'
import {loadInput} from '../../../src/inputs/load.js'
import type {NdArray} from '../../../src/inputs/nd-array.js'
import {ALL, arraySaver, counting, fileSpec} from '../../helpers/input-files.js'

const save = arraySaver()
const [B, H, L, S, D, DV] = [2, 3, 7, 11, 5, 13]

const tokensFirst = (...paths: string[]) => fileSpec(paths, {layout: 'blhd'})

const all = (array: NdArray) => ({q: array, k: array, v: array})

/** Heads before tokens, with or without a batch, and the same arrays the other way round. */
function bothOrders(axes: 3 | 4) {
  const batch = axes === 4 ? [B] : []
  const given = {
    q: counting(0, ...batch, H, L, D),
    k: counting(1000, ...batch, H, S, D),
    v: counting(2000, ...batch, H, S, DV),
  }
  const turn = (array: NdArray): NdArray => {
    const shape = [1, ...array.shape].slice(-4) as Four
    const turned = exchanged(shape).slice(4 - axes)
    return {...array, shape: turned, data: exchangeAxes(array.data, shape, 'a')}
  }
  return {given, turned: {q: turn(given.q), k: turn(given.k), v: turn(given.v)}}
}

describe('tokens before heads', () => {
  test.each([3, 4] as const)('are the same input at every length: %d axes', async axes => {
    const {given, turned} = bothOrders(axes)
    expect(turned.q.shape).toEqual([...(axes === 4 ? [B] : []), L, H, D])
    const plain = fileSpec(await save('heads.npz', given))
    const other = tokensFirst(await save('tokens.npz', turned))
    for (const seqLen of [null, L, 2]) {
      const left = await loadInput(plain, {seqLen, seed: 0})
      const right = await loadInput(other, {seqLen, seed: 0})
      expect({...right, label: left.label}).toEqual(left)
    }
    const lengths = [null, 2]
    const {sizes} = await inputFacts(plain, lengths)
    expect((await inputFacts(other, lengths)).sizes).toEqual(sizes)
  })

  test('are the same as three pinned files', async () => {
    const {given, turned} = bothOrders(4)
    const paths = (arrays: Record<string, NdArray>, mark: string) =>
      Promise.all(Object.entries(arrays).map(([n, array]) => save(`${n}-${mark}.npy`, {array})))
    const left = await loadInput(await pinInput(fileSpec(await paths(given, 'heads'))), ALL)
    const other = tokensFirst(...(await paths(turned, 'tokens')))
    const right = await loadInput(await pinInput(other), ALL)
    expect({...right, label: left.label}).toEqual(left)
  })

  test('are the same as a stack, whose refusal names its own axes', async () => {
    const path = await save('stack.npy', {a: counting(0, 3, B, L, H, D)})
    const {key} = await loadInput(tokensFirst(path), ALL)
    expect(key.shape).toEqual([B, H, L, D])
    expect(key.data[D]).toBe(B * L * H * D + H * D) // the second token of the first head
    const flat = await save('flat.npy', {a: counting(0, L, D)})
    await expect(loadInput(tokensFirst(flat), ALL)).rejects.toThrow(
      'query, key and value stacked as [3, L, D], [3, L, H, D] or [3, B, L, H, D], got [7, 5]',
    )
  })

  test('of two axes are queries of one head, as ever', async () => {
    const path = await save('two.npz', {
      q: counting(0, L, D),
      k: counting(9, S, D),
      v: counting(5, S, DV),
    })
    const left = await loadInput(fileSpec(path), ALL)
    expect(await loadInput(tokensFirst(path), ALL)).toEqual(left)
    expect(left.query.shape).toEqual([1, 1, L, D])
  })

  test('are refused empty, and where there is no memory for them in the other order', async () => {
    const path = await save('empty.npz', all(counting(0, 2, 0, 3, 5)))
    await expect(loadInput(tokensFirst(path), ALL)).rejects.toMatchObject({
      code: 'SHAPE_MISMATCH',
      message: `${path}[q]: expected at least one element, got an empty [2, 0, 3, 5]`,
    })
    const vast: Four = [1, 2 ** 20, 2 ** 20, 2]
    expect(() => exchangeAxes(new Float32Array(0), vast, 'q')).toThrow(
      expect.objectContaining({code: 'TOO_LARGE'}),
    )
  })

  test('leave the other arrays of the file as they stand', async () => {
    const {turned} = bothOrders(4)
    const path = await save('extras.npz', {...turned, gate: counting(0, B, S, H)})
    const {extras} = await loadInput(tokensFirst(path), ALL)
    expect(extras.get('gate')!.shape).toEqual([B, S, H])
  })

  test('take a copy while they are loaded, which is predicted', async () => {
    const {given, turned} = bothOrders(4)
    const bytes = 4 * B * H * (L * D + S * D + S * DV)
    const loading = async (spec: ReturnType<typeof fileSpec>) =>
      (await inputFacts(spec, [2])).loadingBytes
    expect(await loading(fileSpec(await save('plain.safetensors', given)))).toBe(bytes)
    const path = await save('turned.safetensors', turned)
    expect(await loading(tokensFirst(path))).toBe(2 * bytes)
  })

  test.each([
    ['float16', 2 + 4],
    ['float64', 8 + 4],
  ] as const)('are predicted with what %s takes beside them', async (dtype, each) => {
    const {q} = bothOrders(4).given
    const data = dtype === 'float64' ? Float64Array.from(q.data as Float32Array) : q.data
    const path = await save(`${dtype}.safetensors`, all({...q, dtype, data}))
    const {loadingBytes} = await inputFacts(fileSpec(path), [null])
    expect(loadingBytes).toBe(3 * B * H * L * D * each)
  })
})

describe('a file that was read in the wrong order', () => {
  test('is warned of, with what to type, and the other way round', async () => {
    const torch = await save('torch.npz', all(counting(0, 1, 31, 3, D)))
    expect(await inputWarnings(fileSpec(torch))).toEqual([
      'torch.npz: read as [B, H, L, D] it has 31 heads and 3 tokens; if its axes are [B, L, H, D], say `layout: blhd`',
    ])
    expect(await inputWarnings(tokensFirst(torch))).toEqual([])
    const ours = await save('ours.npz', all(counting(0, 1, 3, 31, D)))
    expect(await inputWarnings(fileSpec(ours))).toEqual([])
    expect(await inputWarnings(tokensFirst(ours))).toEqual([
      'ours.npz: read as [B, L, H, D] it has 31 heads and 3 tokens; if its axes are [B, H, L, D], say `layout: bhld`',
    ])
  })

  test('is not where one query meets many keys, nor where all is generated', async () => {
    const keys = counting(0, 8, 9, D)
    const path = await save('decode.npz', {q: counting(0, 8, 1, D), k: keys, v: keys})
    expect(await inputWarnings(fileSpec(path))).toEqual([])
    const sizes = {batch: 1, heads: 64, head_dim: 8, value_dim: 8, key_len: 4}
    expect(await inputWarnings({kind: 'generator', name: 'gaussian', ...sizes})).toEqual([])
  })

  test('is refused with the other order where only that fits together', async () => {
    const {given, turned} = bothOrders(4)
    const path = await save('turned.npz', turned)
    for (const read of [
      () => loadInput(fileSpec(path), ALL),
      () => inputFacts(fileSpec(path), [null]),
    ]) {
      await expect(read()).rejects.toMatchObject({
        code: 'SHAPE_MISMATCH',
        suggestions: ['as [B, L, H, D] they fit together: say `layout: blhd`'],
      })
    }
    const plain = await save('plain.npz', given)
    await expect(loadInput(tokensFirst(plain), ALL)).rejects.toMatchObject({
      code: 'SHAPE_MISMATCH',
      suggestions: ['as [B, H, L, D] they fit together: say `layout: bhld`'],
    })
  })
})
