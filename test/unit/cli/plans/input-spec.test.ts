import {describe, expect, it} from 'vitest'
import {
  type InputFlags,
  toHeadDims,
  toInputSpec,
  toLayers,
} from '../../../../src/cli/plans/input-spec.js'
import {PACKAGED_CAUSAL_INPUT, PACKAGED_INPUT} from '../../../../src/inputs/packaged.js'

const NAMES = {query: 'q', key: 'k', value: 'v'}

describe('toInputSpec', () => {
  it('takes the packaged arrays when nothing is named', () => {
    expect(toInputSpec({})).toEqual({kind: 'file', paths: [PACKAGED_INPUT], names: NAMES})
    expect(toInputSpec({causal: true})).toMatchObject({paths: [PACKAGED_CAUSAL_INPUT]})
    expect(toInputSpec({causal: true, input: ['a.npz']})).toMatchObject({paths: ['a.npz']})
  })

  it('takes one file, several of named arrays, or three .npy files in the order given', () => {
    expect(toInputSpec({input: ['qkv.npz'], 'key-name': 'keys'})).toEqual({
      kind: 'file',
      paths: ['qkv.npz'],
      names: {...NAMES, key: 'keys'},
    })
    for (const input of [
      ['q.npy', 'k.npy', 'v.npy'],
      ['layer1.npz', 'layer0.safetensors'],
    ]) {
      expect(toInputSpec({input})).toMatchObject({paths: input})
    }
  })

  it('names the order of axes and the mask only where they were typed', () => {
    const plain = toInputSpec({input: ['qkv.npz']})
    expect(plain).not.toHaveProperty('layout')
    expect(toInputSpec({input: ['qkv.npz'], layout: 'bhld'})).toEqual({...plain, layout: 'bhld'})
    expect(toInputSpec({input: ['qkv.npz'], 'key-mask-name': 'pad'})).toStrictEqual({
      ...plain,
      names: {...NAMES, key_mask: 'pad'},
    })
    expect(toInputSpec({input: ['qkv.npz'], layout: 'blhd'})).toEqual({...plain, layout: 'blhd'})
  })

  it('lists each layer once, or all of them', () => {
    expect(toLayers({})).toBeUndefined()
    expect(toLayers({layer: [[3], [0, 1], [3]]})).toEqual([3, 0, 1])
    expect(toLayers({layer: [[3], 'all']})).toBe('all')
  })

  it('describes a generated input, values as wide as keys unless told', () => {
    expect(toInputSpec({generator: 'ar1', heads: 3, 'head-dim': [[17]], 'key-len': 31})).toEqual({
      kind: 'generator',
      name: 'ar1',
      batch: 1,
      heads: 3,
      head_dim: 17,
      value_dim: 17,
      key_len: 31,
    })
  })

  it('lists head dimensions where there are several, each once', () => {
    expect(toHeadDims({generator: 'ar1'})).toBeUndefined()
    expect(toHeadDims({generator: 'ar1', 'head-dim': [[16]]})).toBeUndefined()
    const several: InputFlags = {generator: 'ar1', 'head-dim': [[16, 32], [16], [8]]}
    expect(toHeadDims(several)).toEqual([16, 32, 8])
    expect(toInputSpec(several)).toMatchObject({head_dim: 16, value_dim: 16})
  })

  it.each<[string, InputFlags, string]>([
    [
      'a dimension of values beside several of keys',
      {generator: 'ar1', 'head-dim': [[16, 32]], 'value-dim': 8},
      '--head-dim: expected one head dimension beside --value-dim, got [16, 32]',
    ],
    [
      'two files',
      {input: ['q.npy', 'k.npy']},
      '--input: expected one file, several .npz or .safetensors files, or three .npy files in the order query, key, value, got 2 files: q.npy, k.npy',
    ],
    [
      'files of several kinds',
      {input: ['q.npz', 'k.npy', 'v.npy']},
      '--input: expected one file, several .npz or .safetensors files, or three .npy files in the order query, key, value, got 3 files: q.npz, k.npy, v.npy',
    ],
    [
      'a file twice',
      {input: ['a.npz', 'b.npz', './a.npz']},
      '--input: expected each file once, got ./a.npz twice',
    ],
    [
      'a file beside a generator',
      {input: ['qkv.npz'], generator: 'ar1'},
      '--generator: expected no --input beside it, got both',
    ],
    [
      'a shape beside a file',
      {input: ['qkv.npz'], heads: 3},
      '--heads: expected only with a generated input: a file has its own shape',
    ],
    [
      'array names beside a generator',
      {generator: 'ar1', 'value-name': 'v'},
      '--value-name: expected only with --input: a generated input has neither names, layers nor another layout',
    ],
    [
      'a layout beside a generator',
      {generator: 'ar1', layout: 'blhd'},
      '--layout: expected only with --input: a generated input has neither names, layers nor another layout',
    ],
  ])('refuses %s', (_, flags, message) => {
    expect(() => toInputSpec(flags)).toThrow(expect.objectContaining({code: 'USAGE', message}))
  })
})
