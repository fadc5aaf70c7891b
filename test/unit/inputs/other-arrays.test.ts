import {mkdtempSync, rmSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, beforeAll, describe, expect, it} from 'vitest'
import {writeArrays} from '../../../src/inputs/files/index.js'
import {logitScaleOf} from '../../../src/inputs/input-facts.js'
import {causalOf} from '../../../src/inputs/input-parts.js'
import {loadInput} from '../../../src/inputs/load.js'
import type {NdArray} from '../../../src/inputs/nd-array.js'
import {arrayNotes, unusedArrays} from '../../../src/inputs/other-arrays.js'
import type {InputSpec} from '../../../src/inputs/spec.js'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rfa-others-'))
})
afterAll(() => rmSync(folder, {recursive: true, force: true}))

const array = (): NdArray => ({
  shape: [1, 1, 3, 2],
  dtype: 'float32',
  data: Float32Array.of(1, 2, 3, 4, 5, 6),
})
const bits = (shape: number[], ...values: number[]): NdArray => ({
  shape,
  dtype: 'bool',
  data: Uint8Array.from(values),
})
const number = (value: number): NdArray => ({
  shape: [],
  dtype: 'float32',
  data: Float32Array.of(value),
})

async function fileWith(
  others: Record<string, NdArray>,
  mask?: string,
): Promise<Extract<InputSpec, {kind: 'file'}>> {
  const path = join(folder, 'x.npz')
  await writeArrays(path, {q: array(), k: array(), v: array(), ...others})
  const names = {query: 'q', key: 'k', value: 'v', ...(mask !== undefined && {key_mask: mask})}
  return {kind: 'file', paths: [path], names}
}
const load = (spec: InputSpec, logitScale?: number) =>
  loadInput(spec, {seqLen: null, seed: 0, extras: false, logitScale})

describe('arrays beside queries, keys and values', () => {
  it.each([
    ['attention_mask', bits([1, 3], 1, 1, 0)],
    ['attention_mask', bits([1, 1, 1, 3], 1, 1, 0)],
    ['key_padding_mask', bits([1, 3], 0, 0, 1)],
  ])('%s is the key mask', async (name, mask) => {
    const spec = await fileWith({[name]: mask})
    expect([...((await load(spec)).keyMask ?? [])]).toEqual([1, 1, 0])
    expect(await arrayNotes(spec)).toEqual([expect.stringContaining(`x.npz: key mask ${name}`)])
    expect(await unusedArrays(spec)).toEqual([])
  })

  it('an array that is named as the mask means what the flag says', async () => {
    const spec = await fileWith({key_padding_mask: bits([1, 3], 0, 1, 1)}, 'key_padding_mask')
    expect([...((await load(spec)).keyMask ?? [])]).toEqual([0, 1, 1])
  })

  it.each(['mask', 'attn_mask', 'padding_mask', 'src_mask'])(
    '%s is refused, as its meaning is not settled',
    async name => {
      const spec = await fileWith({[name]: bits([1, 3], 1, 1, 0)})
      await expect(load(spec)).rejects.toThrow(/expected a mask with a known name/)
      const named = await fileWith({[name]: bits([1, 3], 1, 1, 0)}, name)
      expect([...((await load(named)).keyMask ?? [])]).toEqual([1, 1, 0])
    },
  )

  it.each([
    'position_bias',
    'attn_bias',
    'rel_pos_bias',
    'alibi_slopes',
    'softcap',
    'sinks',
    'attention_sinks',
    'sink_logits',
    'additive_bias',
    'pair_bias',
    'bias_k',
    'relative_position_bias_table',
    'bias',
  ])('%s is refused, as logits here have nothing added', async name => {
    await expect(load(await fileWith({[name]: number(1)}))).rejects.toThrow(/anything added/)
  })

  it.each(['scale', 'scaling', 'softmax_scale', 'logit_scale'])('%s is the scale', async name => {
    const spec = await fileWith({[name]: number(0.25)})
    expect((await load(spec)).logitScale).toBe(0.25)
    expect(await logitScaleOf(spec)).toBe(0.25)
    expect(await logitScaleOf(spec, {logitScale: 2})).toBe(2)
  })

  it.each(['temperature', 'q_scale', 'inv_scale', 'query_scaling'])(
    '%s is refused, as what it is a factor of is not settled',
    async name => {
      const spec = await fileWith({[name]: number(0.5)})
      await expect(load(spec)).rejects.toThrow(/expected a factor on q.k with a known name/)
      expect(await logitScaleOf(spec, {logitScale: 0.25})).toBe(0.25)
    },
  )

  it('arrays that contradict each other are refused, those that agree are not', async () => {
    const scales = (value: number) => fileWith({scale: number(0.25), sm_scale: number(value)})
    await expect(load(await scales(0.5))).rejects.toThrow(/x.npz\[sm_scale\]: expected 0.25/)
    expect((await load(await scales(0.25))).logitScale).toBe(0.25)
    const said = (value: number) => fileWith({causal: bits([], 1), is_causal: bits([], value)})
    await expect(causalOf(await said(0))).rejects.toThrow(/x.npz\[is_causal\]: expected true/)
    expect(await causalOf(await said(1))).toBe(true)
    const masks = {attention_mask: bits([1, 3], 1, 1, 0), key_padding_mask: bits([1, 3], 1, 1, 0)}
    await expect(load(await fileWith(masks))).rejects.toThrow(/expected one array that says which/)
    const named = await load(await fileWith(masks, 'key_padding_mask'))
    expect([...named.keyMask!]).toEqual([1, 1, 0])
  })

  it('a bias of a linear layer is passed over', async () => {
    const spec = await fileWith({q_bias: array(), 'o_proj.bias': array()})
    await expect(load(spec)).resolves.toBeDefined()
    expect(await unusedArrays(spec)).toEqual(['q_bias', 'o_proj.bias'])
  })

  it('a scale of each head is refused', async () => {
    const spec = await fileWith({scale: {...array(), shape: [6]}})
    await expect(load(spec)).rejects.toThrow(/expected one positive number, the factor on q.k/)
    await expect(load(spec, 0.5)).resolves.toBeDefined()
  })

  it.each(['causal', 'is_causal'])('%s says whether attention is causal', async name => {
    expect(await causalOf(await fileWith({[name]: bits([], 1)}))).toBe(true)
    expect(await causalOf(await fileWith({[name]: bits([], 0)}))).toBe(false)
    const many = await fileWith({[name]: bits([3], 1, 0, 1)})
    await expect(causalOf(many)).rejects.toThrow(/expected one truth value/)
  })

  it('others are named', async () => {
    const spec = await fileWith({out: array(), W: array(), o: bits([1, 1, 1], 1)})
    expect(await unusedArrays(spec)).toEqual(['out', 'W', 'o'])
    expect(await arrayNotes(spec, ['W'])).toEqual(['x.npz: not used: out, o'])
  })
})
