import fc from 'fast-check'
import {describe, expect, it} from 'vitest'
import type {AttentionInput} from '../../../src/inputs/attention-input.js'
import {pinInput} from '../../../src/inputs/digest.js'
import {writeArrays} from '../../../src/inputs/files/index.js'
import {inputFacts, inputWarnings} from '../../../src/inputs/input-facts.js'
import {causalOf, layersOf} from '../../../src/inputs/input-parts.js'
import {exchangeAxes, exchanged, type Four} from '../../../src/inputs/layout.js'
import {loadInput} from '../../../src/inputs/load.js'
import type {NdArray} from '../../../src/inputs/nd-array.js'
import {FULL} from '../../helpers/effort.js'
import {ALL, arraySaver, counting, fileSpec, NAMES} from '../../helpers/input-files.js'

const [B, H, KV, L, S, D, DV] = [2, 6, 3, 7, 11, 5, 13]

const maskOf = (shape: number[], ...bits: number[]): NdArray => ({
  shape,
  dtype: 'bool',
  data: Uint8Array.from(bits),
})

const write = arraySaver()
let files = 0
const save = (
  arrays: Record<string, NdArray>,
  metadata: Record<string, string> = {},
  extension = '.safetensors',
) => write(`${files++}${extension}`, arrays, metadata)

/** Queries, keys and values, told from others by where they start. */
const qkv = (start: number, prefix = '', keyLen = L) => ({
  [`${prefix}q`]: counting(start, B, H, L, D),
  [`${prefix}k`]: counting(start + 1e4, B, KV, keyLen, D),
  [`${prefix}v`]: counting(start + 2e4, B, KV, keyLen, DV),
})
/** All but what names the file. */
const omit = ({label: _label, metadata: _metadata, ...rest}: AttentionInput) => rest
const first = ({query, key, value}: AttentionInput) => [query, key, value].map(({data}) => data[0])

describe('several layers in one file', () => {
  const arrays = {...qkv(1e5, 'layers.10.'), ...qkv(0, 'layers.0.'), ...qkv(9e4, 'layers.9.')}

  it.each(['.safetensors', '.npz'])('are distinguished by their numbers in %s', async extension => {
    const spec = fileSpec(await save(arrays, {}, extension))
    expect(await layersOf(spec)).toEqual([0, 9, 10])
    for (const [layer, start] of [
      [0, 0],
      [9, 9e4],
      [10, 1e5],
    ] as const) {
      const input = await loadInput(spec, {...ALL, layer})
      expect(first(input)).toEqual([start, start + 1e4, start + 2e4])
      expect(input.label).toMatch(new RegExp(`, layer ${layer}$`))
      expect(input.extras.size).toBe(0)
    }
  })

  it('need a choice, which is told', async () => {
    const spec = fileSpec(await save(arrays))
    const refusal = {
      code: 'ARRAY_MISSING',
      suggestions: expect.arrayContaining([
        'say which layers with `layer`: there are 0, 9, 10',
      ]) as unknown,
    }
    await expect(loadInput(spec, ALL)).rejects.toMatchObject(refusal)
    await expect(pinInput(spec)).rejects.toMatchObject(refusal)
    expect(await pinInput(spec, 9)).toMatchObject({digest: expect.any(String) as unknown})
  })

  it('may have other names, with dots in them', async () => {
    const {q, k, v} = qkv(0)
    const path = await save({'layers.4.attn.q': q!, 'layers.4.attn.k': k!, 'layers.4.v': v!})
    const spec = fileSpec(path, {names: {query: 'attn.q', key: 'attn.k', value: 'v'}})
    expect(await layersOf(spec)).toEqual([4])
    expect(first(await loadInput(spec, {...ALL, layer: 4}))).toEqual([0, 1e4, 2e4])
    await expect(layersOf(fileSpec(path), 'all')).rejects.toMatchObject({code: 'ARRAY_MISSING'})
  })

  it('that lack an array are refused by its name', async () => {
    const {'layers.9.k': _, ...rest} = arrays
    const spec = fileSpec(await save(rest))
    await expect(loadInput(spec, {...ALL, layer: 9})).rejects.toThrow(
      /expected an array "layers.9.k", got/,
    )
  })

  it('have extras of their own, which go before those of the file', async () => {
    const path = await save({
      ...arrays,
      'layers.0.gate': counting(1, 3),
      'layers.9.gate': counting(2, 5),
      gate: counting(3, 7),
      projection: counting(4, 2, D),
    })
    const names = async (layer: number) => {
      const {extras} = await loadInput(fileSpec(path), {...ALL, layer})
      return Object.fromEntries([...extras].map(([name, {data}]) => [name, data[0]]))
    }
    expect(await names(0)).toEqual({gate: 1, projection: 4})
    expect(await names(9)).toEqual({gate: 2, projection: 4})
    expect(await names(10)).toEqual({gate: 3, projection: 4})
  })

  it('are none of .npy files', async () => {
    const path = await save({q: counting(0, 3, B, H, L, D)}, {}, '.npy')
    expect(await layersOf(fileSpec(path))).toBeUndefined()
    await expect(layersOf(fileSpec(path), [0])).rejects.toMatchObject({code: 'BAD_OPTION'})
  })

  it('are read by property of their numbers', async () => {
    const numbers = fc.uniqueArray(fc.nat({max: 1e6}), {minLength: 1, maxLength: 12})
    await fc.assert(
      fc.asyncProperty(numbers, fc.constantFrom('.npz', '.safetensors'), async (layers, ending) => {
        const small = layers.map(layer => {
          const one = counting(layer, 1, 1, 1)
          const prefix = `layers.${layer}.`
          return {[`${prefix}q`]: one, [`${prefix}k`]: one, [`${prefix}v`]: one}
        })
        const spec = fileSpec(await save(Object.assign({}, ...small), {}, ending))
        expect(await layersOf(spec)).toEqual(layers.toSorted((a, b) => a - b))
        for (const layer of layers) {
          expect(first(await loadInput(spec, {...ALL, layer}))).toEqual([layer, layer, layer])
        }
      }),
      {numRuns: FULL ? 20 : 6, seed: 7},
    )
  })
})

describe('heads of keys that serve several heads of queries', () => {
  it('are repeated, and the memory of that is foretold', async () => {
    const spec = fileSpec(await save(qkv(0, '', S)))
    const input = await loadInput(spec, ALL)
    expect(input).toMatchObject({
      keyHeads: KV,
      key: {shape: [B, H, S, D]},
      value: {shape: [B, H, S, DV]},
    })
    for (let head = 0; head < B * H; head++) {
      expect(input.key.data[head * S * D]).toBe(1e4 + Math.floor(head / 2) * S * D)
    }
    const {sizes, loadingBytes} = await inputFacts(spec, [null])
    expect(sizes).toEqual([{batch: B, heads: H, queryLen: L, keyLen: S, headDim: D, valueDim: DV}])
    const stored = B * H * L * D + B * KV * S * (D + DV)
    expect(loadingBytes).toBe(4 * (stored + B * H * S * (D + DV)))
  })

  it('may have their tokens first', async () => {
    const {q, k, v} = qkv(0)
    const turn = (array: NdArray): NdArray => {
      const shape = array.shape as Four
      return {...array, shape: exchanged(shape), data: exchangeAxes(array.data, shape, 'a')}
    }
    const turned = {'layers.2.q': turn(q!), 'layers.2.k': turn(k!), 'layers.2.v': turn(v!)}
    const plain = await loadInput(fileSpec(await save({q: q!, k: k!, v: v!})), ALL)
    const spec = fileSpec(await save(turned), {layout: 'blhd'})
    const {query, key, value, keyHeads} = await loadInput(spec, {...ALL, layer: 2})
    expect({query, key, value}).toEqual({query: plain.query, key: plain.key, value: plain.value})
    expect(keyHeads).toBe(KV)
    const stated = fileSpec(await save(turned, {layout: 'blhd'}))
    expect((await loadInput(stated, {...ALL, layer: 2})).key).toEqual(plain.key)
  })

  it.each([
    [
      'that do not divide',
      [B, 4, L, D],
      [B, 4, L, DV],
      'a number of key and value heads that divides the number of query heads',
    ],
    [
      'of another number than of values',
      [B, 3, L, D],
      [B, 2, L, DV],
      'key and value with the same number',
    ],
    [
      'that are more',
      [B, 12, L, D],
      [B, 12, L, DV],
      'a number of key and value heads that divides the number of query heads',
    ],
  ])('are refused %s', async (_, k, v, message) => {
    const path = await save({
      q: counting(0, B, H, L, D),
      k: counting(0, ...k),
      v: counting(0, ...v),
    })
    await expect(loadInput(fileSpec(path), ALL)).rejects.toThrow(message)
    await expect(inputFacts(fileSpec(path), [null])).rejects.toThrow(message)
  })
})

describe('a key mask', () => {
  const [ones, holes] = [Array.from({length: L}, () => 1), [1, 1, 1, 0, 1, 0, 0]]
  const mask = maskOf([B, L], ...ones, ...holes)

  it('comes with the arrays and is not an extra', async () => {
    const input = await loadInput(fileSpec(await save({...qkv(0), key_mask: mask})), ALL)
    expect(input.keyMask).toEqual(mask.data)
    expect(input.extras.size).toBe(0)
    expect(
      (await inputFacts(fileSpec(await save({...qkv(0), key_mask: mask})), [null])).masked,
    ).toBe(true)
  })

  it('is cut with the keys, and is none where it then hides nothing', async () => {
    const spec = fileSpec(await save({...qkv(0), key_mask: mask}))
    const cut = await loadInput(spec, {...ALL, seqLen: 5})
    expect(cut.keyMask).toEqual(Uint8Array.of(1, 1, 1, 1, 1, 1, 1, 1, 0, 1))
    expect(await loadInput(spec, {...ALL, seqLen: 3})).not.toHaveProperty('keyMask')
    const cross = maskOf([B, S], ...Array.from({length: B * S}, (_, i) => i % 2))
    const across = fileSpec(await save({...qkv(0, '', S), key_mask: cross}))
    expect((await loadInput(across, {...ALL, seqLen: 3})).keyMask).toEqual(cross.data)
  })

  it('of a layer goes before that of the file', async () => {
    const own = maskOf([B, L], ...holes, ...ones)
    const arrays = {...qkv(0, 'layers.0.'), ...qkv(1, 'layers.1.')}
    const path = await save({...arrays, key_mask: mask, 'layers.1.key_mask': own})
    const masks = [0, 1].map(
      async layer => (await loadInput(fileSpec(path), {...ALL, layer})).keyMask,
    )
    expect(await Promise.all(masks)).toEqual([mask.data, own.data])
  })

  it('may have another name, which must be there', async () => {
    const path = await save({...qkv(0), pad: mask})
    const named = (key_mask: string) => fileSpec(path, {names: {...NAMES, key_mask}})
    expect((await loadInput(named('pad'), ALL)).keyMask).toEqual(mask.data)
    expect(await loadInput(fileSpec(path), ALL)).not.toHaveProperty('keyMask')
    await expect(loadInput(named('padd'), ALL)).rejects.toMatchObject({
      code: 'ARRAY_MISSING',
      suggestions: expect.arrayContaining(['did you mean pad?']) as unknown,
    })
  })

  it('of other axes is refused by the header', async () => {
    const path = await save({
      ...qkv(0),
      key_mask: maskOf([B, L + 1], ...Array(B * (L + 1)).fill(1)),
    })
    for (const read of [
      () => loadInput(fileSpec(path), ALL),
      () => inputFacts(fileSpec(path), [null]),
    ]) {
      await expect(read()).rejects.toThrow('[key_mask]: expected [2, 7], got [2, 8]')
    }
  })

  it('that changed since the run began fails what reads it', async () => {
    const path = await save({...qkv(0), key_mask: mask})
    const spec = await pinInput(fileSpec(path))
    await loadInput(spec, ALL)
    await writeArrays(path, {...qkv(0), key_mask: maskOf([B, L], ...holes, ...holes)})
    await expect(loadInput(spec, ALL)).rejects.toMatchObject({code: 'FILE_CHANGED'})
  })
})

describe('texts of a file', () => {
  it('give scale and mask of the model, a layer its own scale', async () => {
    const texts = {scale: '0.5', 'layers.1.scale': '0.25', causal: 'true'}
    const spec = fileSpec(await save({...qkv(0, 'layers.0.'), ...qkv(0, 'layers.1.')}, texts))
    expect(await loadInput(spec, {...ALL, layer: 0})).toMatchObject({
      logitScale: 0.5,
      ranCausal: true,
    })
    expect(await loadInput(spec, {...ALL, layer: 1})).toMatchObject({logitScale: 0.25})
    const given = await loadInput(spec, {...ALL, layer: 1, logitScale: 3})
    expect(given).not.toHaveProperty('logitScale')
  })

  it('that are wrong fail before anything is read, unless settings go before them', async () => {
    const spec = fileSpec(await save(qkv(0), {scale: '-1', layout: 'sbhd'}))
    const layout = 'bhld' as const
    await expect(inputFacts(spec, [null])).rejects.toThrow('metadata layout: expected axes')
    await expect(inputFacts({...spec, layout}, [null])).rejects.toThrow(
      'metadata scale: expected a',
    )
    await inputFacts({...spec, layout}, [null], {logitScale: 0.5})
    await loadInput({...spec, layout}, {...ALL, logitScale: 0.5})
  })

  it('in prose are passed over with a warning that says what was assumed', async () => {
    const texts = {
      ...{scale: '1/sqrt(head_dim), not applied', causal: 'yes, since GPT'},
      layout: '[heads, length, head_dim]',
    }
    const spec = fileSpec(await save(qkv(0), texts))
    expect(await loadInput(spec, ALL)).toEqual(
      expect.objectContaining(omit(await loadInput(fileSpec(await save(qkv(0))), ALL))),
    )
    const warnings = await inputWarnings(spec, {causal: false})
    expect(warnings.map(text => text.replace(/^\S+ metadata (\w+) ".*"/, '$1'))).toEqual([
      'layout names 3 axes; the queries have 4, read as [B, H, L, D]',
      'scale cannot be read: assumed 1/sqrt(D), the usual factor on q.k; set another with `scale`',
      'causal cannot be read: taken as bidirectional; say which with `causal` or `noCausal`',
    ])
  })

  it('in prose are warned of once the plan is pinned as before, unless a layout was asked for', async () => {
    const spec = fileSpec(await save(qkv(0), {layout: 'row-major'}))
    const pinned = await pinInput(spec)
    expect(pinned).not.toHaveProperty('layout')
    expect(await inputWarnings(pinned)).toEqual([expect.stringContaining('assumed [B, H, L, D]')])
    const asked = await pinInput({...spec, layout: 'bhld'})
    expect(asked).toMatchObject({layout: 'bhld'})
    expect(await inputWarnings(asked)).toEqual([expect.stringContaining('overrides')])
    const words = await pinInput(
      fileSpec(await save(qkv(0), {layout: '[batch, heads, length, dim]'})),
    )
    expect(words).not.toHaveProperty('layout')
  })

  it('say whether attention is causal, of all layers that are read alike', async () => {
    const layers = {...qkv(0, 'layers.0.'), ...qkv(0, 'layers.1.'), ...qkv(0, 'layers.2.')}
    const texts = {causal: 'true', 'layers.1.causal': 'false'}
    const path = await save(layers, texts)
    expect(await causalOf(fileSpec(path), [0, 2])).toBe(true)
    expect(await causalOf(fileSpec(path), [1])).toBe(false)
    await expect(causalOf(fileSpec(path))).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: `${path}, metadata causal: expected the same in all layers, got causal in layers 0, 2, not in layer 1`,
    })
    expect(await causalOf(fileSpec(await save(qkv(0))))).toBe(false)
    expect(await causalOf(fileSpec(await save(qkv(0), {causal: 'True'})))).toBe(true)
  })

  it('that settings go before are reported', async () => {
    const spec = fileSpec(await save(qkv(0), {scale: '0.50', layout: 'blhd'}))
    const name = spec.paths[0]!.split('/').at(-1)
    expect(await inputWarnings(fileSpec(await save(qkv(0))), {logitScale: 0.3})).toEqual([])
    expect(await inputWarnings({...spec, layout: 'bhld'}, {logitScale: 0.5})).toEqual([
      `${name}: \`layout: bhld\` overrides the metadata of the file, which says "blhd"`,
    ])
    expect(await inputWarnings({...spec, layout: 'bhld'}, {logitScale: 0.3})).toContain(
      `${name}: \`scale: 0.3\` overrides the metadata of the file, which says "0.50"`,
    )
  })

  it('pin the layout that a file is read in', async () => {
    const layoutOf = async (text: string | undefined, layout?: 'bhld' | 'blhd') => {
      const {q} = qkv(0)
      const path = await save({q: q!, k: q!, v: q!}, text === undefined ? {} : {layout: text})
      const pinned = await pinInput(fileSpec(path, layout && {layout}))
      return 'layout' in pinned ? pinned.layout : 'absent'
    }
    expect(await layoutOf(undefined)).toBe('absent')
    expect(await layoutOf(undefined, 'bhld')).toBe('absent')
    expect(await layoutOf('bhld')).toBe('absent')
    expect(await layoutOf(undefined, 'blhd')).toBe('blhd')
    expect(await layoutOf('blhd')).toBe('blhd')
    expect(await layoutOf('blhd', 'bhld')).toBe('bhld')
    expect(await layoutOf('bhld', 'blhd')).toBe('blhd')
    expect(await layoutOf('anything', 'bhld')).toBe('bhld')
  })
})
