/** Several files as one input: a file for each layer, or for each text that one layer read. */
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {pinInput, pinnedInput} from '../../../src/inputs/digest.js'
import {inputFacts, inputWarnings} from '../../../src/inputs/input-facts.js'
import type {FileSpec} from '../../../src/inputs/input-files.js'
import {causalOf, layersOf, partsOf} from '../../../src/inputs/input-parts.js'
import {loadInput} from '../../../src/inputs/load.js'
import type {NdArray} from '../../../src/inputs/nd-array.js'
import {temporaryFolder} from '../../helpers/folders.js'
import {ALL, arraySaver, counting, fileSpec} from '../../helpers/input-files.js'

const folder = temporaryFolder()
const [H, KV, L, D, DV] = [6, 3, 7, 5, 13]

/** Of some sequences. */
interface Sizes {
  batch?: number
  length?: number
  heads?: number
  keyLen?: number
}

/** Queries, keys and values, told from others by where they start. */
const qkv = (
  start: number,
  {batch = 1, length = L, heads = H, keyLen = length}: Sizes = {},
): Record<string, NdArray> => ({
  q: counting(start, batch, heads, length, D),
  k: counting(start + 1e4, batch, KV, keyLen, D),
  v: counting(start + 2e4, batch, KV, keyLen, DV),
})

const save = arraySaver(folder)

const firsts = async (spec: FileSpec, layer?: number) => {
  const {query, key, value} = await loadInput(spec, {...ALL, layer})
  return [query, key, value].map(({data}) => data[0])
}

describe('a file for each layer', () => {
  it('goes by its metadata, else by its name, in the order of the numbers', async () => {
    const paths = [
      await save('layer11.safetensors', qkv(11e4)),
      await save('first.safetensors', qkv(3e4), {layers: '3'}),
      await save('my-layer_4.npz', qkv(4e4)),
    ]
    const spec = fileSpec(paths)
    expect(await layersOf(spec)).toEqual([3, 4, 11])
    expect(await layersOf(spec, [11, 3, 11])).toEqual([11, 3])
    const parts = await partsOf(spec)
    expect(parts.map(({input}) => (input as FileSpec).paths)).toEqual([
      [paths[1]],
      [paths[2]],
      [paths[0]],
    ])
    for (const {input, layer} of parts) {
      const start = layer! * 1e4
      expect(await firsts(input as FileSpec, layer)).toEqual([start, start + 1e4, start + 2e4])
    }
    await expect(layersOf(spec, [3, 5])).rejects.toThrow(/expected layer 5, got layers 3, 4, 11$/)
  })

  it('may be asked for by its number alone, too', async () => {
    const spec = fileSpec([await save('one/../layer7.npz', qkv(7))])
    expect(await layersOf(spec)).toBeUndefined()
    expect(await layersOf(spec, [7])).toEqual([7])
    expect(await firsts(spec, 7)).toEqual(await firsts(spec))
    await expect(layersOf(spec, [8])).rejects.toThrow(/expected layer 8, got layer 7/)
    await expect(loadInput(spec, {...ALL, layer: 8})).rejects.toThrow(/"layers\.8\.q"/)
  })

  it('says which layer it is, or none does', async () => {
    const spec = fileSpec([
      await save('layer0.safetensors', qkv(0)),
      await save('silent.safetensors', qkv(0)),
    ])
    await expect(partsOf(spec)).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringMatching(/of all files, or of none, got none in .*silent/) as unknown,
    })
  })

  it('is of the model of the others', async () => {
    const spec = fileSpec([
      await save('a-layer0.safetensors', qkv(0), {model: 'gpt2'}),
      await save('b-layer1.safetensors', qkv(0), {model: 'bert'}),
    ])
    await expect(partsOf(spec)).rejects.toThrow(/files of one model, got "gpt2" and "bert"/)
  })

  it('may hold several layers, and several may hold one', async () => {
    const numbered = (start: number) => {
      const own = [0, 1].map(layer =>
        Object.entries(qkv(start + layer)).map(([name, array]) => [
          `layers.${layer}.${name}`,
          array,
        ]),
      )
      return Object.fromEntries(own.flat()) as Record<string, NdArray>
    }
    const paths = [
      await save('text-a.npz', numbered(0)),
      await save('text-b.npz', numbered(100)),
      await save('text-a-layer2.npz', qkv(2)),
    ]
    const parts = await partsOf(fileSpec(paths))
    expect(parts.map(({input, layer}) => [layer, (input as FileSpec).paths.length])).toEqual([
      [0, 2],
      [1, 2],
      [2, 1],
    ])
    const {query} = await loadInput(parts[1]!.input, {...ALL, layer: 1})
    expect(query.shape).toEqual([2, H, L, D])
    expect([query.data[0], query.data[H * L * D]]).toEqual([1, 101])
  })

  it('says whether attention is causal, as all others do', async () => {
    const paths = [
      await save('c-layer0.safetensors', qkv(0), {causal: 'true'}),
      await save('c-layer1.safetensors', qkv(0), {causal: 'true'}),
      await save('c-layer2.safetensors', qkv(0), {causal: 'false'}),
    ]
    expect(await causalOf(fileSpec(paths), [0, 1])).toBe(true)
    expect(await causalOf(fileSpec(paths), [2])).toBe(false)
    await expect(causalOf(fileSpec(paths))).rejects.toThrow(
      /the same in all files, got causal in layers 0, 1, not in layer 2$/,
    )
  })

  it('is pinned by itself', async () => {
    const paths = [
      await save('d-layer1.safetensors', qkv(1)),
      await save('d-layer0.safetensors', qkv(0), {layout: 'blhd'}),
    ]
    const pinned = await pinnedInput(fileSpec(paths))
    expect(pinned).toMatchObject({
      input: fileSpec(paths),
      layers: [0, 1],
      layer_files: [
        {layer: 0, paths: [paths[1]], layout: 'blhd'},
        {layer: 1, paths: [paths[0]]},
      ],
    })
    const alone = (await pinInput(fileSpec([paths[0]!]))) as FileSpec
    expect(pinned.layer_files![1]!.digest).toBe(alone.digest)
    const changed = [paths[0]!, await save('d-layer0.safetensors', qkv(5), {layout: 'blhd'})]
    const after = await pinnedInput(fileSpec(changed))
    expect(after.layer_files![0]!.digest).not.toBe(pinned.layer_files![0]!.digest)
    expect(after.layer_files![1]).toEqual(pinned.layer_files![1])
  })
})

describe('files of one layer', () => {
  it('are sequences of a batch, shorter ones padded and masked', async () => {
    const paths = [
      await save('long.npz', qkv(1, {batch: 2})),
      await save('short.npz', {...qkv(9e4, {length: 4}), key_mask: mask(1, 0, 1, 1)}),
    ]
    const spec = fileSpec(paths)
    const {query, key, value, keyMask, keyHeads} = await loadInput(spec, ALL)
    expect([query, key, value].map(({shape}) => shape)).toEqual([
      [3, H, L, D],
      [3, H, L, D],
      [3, H, L, DV],
    ])
    expect(keyHeads).toBe(KV)
    const last = query.data.subarray(2 * H * L * D)
    expect([last[0], last[4 * D - 1], last[4 * D], last[L * D]]).toEqual([
      9e4,
      9e4 + 4 * D - 1,
      0,
      9e4 + 4 * D,
    ])
    expect([...keyMask!]).toEqual([...new Array<number>(14).fill(1), 1, 0, 1, 1, 0, 0, 0])
    const facts = await inputFacts(spec, [null, 2])
    expect(facts).toMatchObject({keyHeads: KV, masked: true})
    expect(facts.sizes.map(({batch, queryLen, keyLen}) => [batch, queryLen, keyLen])).toEqual([
      [3, L, L],
      [3, 2, 2],
    ])
    const short = await loadInput(spec, {...ALL, seqLen: 2})
    expect([...short.keyMask!]).toEqual([1, 1, 1, 1, 1, 0])
  })

  it('of one length need no mask', async () => {
    const spec = fileSpec([await save('e.npz', qkv(1)), await save('f.npz', qkv(2))])
    expect((await loadInput(spec, ALL)).keyMask).toBeUndefined()
    expect(await inputFacts(spec, [null])).toMatchObject({masked: false, sizes: [{batch: 2}]})
  })

  it('are refused where heads, dimensions or scales differ', async () => {
    const one = await save('g.safetensors', qkv(0), {scale: '0.5'})
    const heads = fileSpec([one, await save('h.safetensors', qkv(0, {heads: 3}), {scale: '0.5'})])
    const refusal =
      /g\.safetensors, h\.safetensors: expected files of one layer with one number of query heads, got query \[1, 6, 7, 5\] in g\.safetensors, query \[1, 3, 7, 5\] in h\.safetensors$/
    await expect(loadInput(heads, ALL)).rejects.toThrow(refusal)
    await expect(inputFacts(heads, [null])).rejects.toThrow(refusal)
    const cross = fileSpec([one, await save('i.safetensors', qkv(0, {length: 4, keyLen: 9}))])
    await expect(inputFacts(cross, [null])).rejects.toThrow(
      /one length, or with equal numbers of queries/,
    )
    const scales = fileSpec([one, await save('j.safetensors', qkv(0))])
    await expect(loadInput(scales, ALL)).rejects.toThrow(/got 0\.5 in g.*, none in j/)
    const {logitScale} = await loadInput(scales, {...ALL, logitScale: 0.25})
    expect(logitScale).toBeUndefined() // that of the call goes before
  })

  it('have no layers to choose', async () => {
    const spec = fileSpec([join(folder, 'e.npz'), join(folder, 'f.npz')])
    await expect(partsOf(spec, [0])).rejects.toThrow(/files that say which layer they hold/)
    expect(await layersOf(spec)).toBeUndefined()
  })

  it('are warned of one by one, and changed ones are refused', async () => {
    const paths = [
      await save('k.safetensors', qkv(0), {scale: 'one'}),
      await save('l.safetensors', qkv(0)),
    ]
    expect(await inputWarnings(fileSpec(paths))).toEqual([
      expect.stringMatching(/^k\.safetensors: /),
    ])
    const pinned = await pinInput(fileSpec(paths))
    expect((await loadInput(pinned, ALL)).query.shape[0]).toBe(2)
    await save('l.safetensors', qkv(1))
    await expect(loadInput(pinned, ALL)).rejects.toMatchObject({code: 'FILE_CHANGED'})
  })
})

const mask = (...bits: number[]): NdArray => ({
  shape: [1, bits.length],
  dtype: 'bool',
  data: Uint8Array.from(bits),
})
