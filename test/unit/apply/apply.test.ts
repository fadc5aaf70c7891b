import {mkdtemp, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import * as tf from '@tensorflow/tfjs-core'
import {afterAll, beforeAll, describe, expect, it} from 'vitest'
import {type ApplyRequest, applyEstimator} from '../../../src/apply/apply.js'
import {attention, type MethodName} from '../../../src/attention/index.js'
import {useBackend} from '../../../src/backends/index.js'
import {readArrays, writeArrays} from '../../../src/inputs/files/index.js'
import {exchangeAxes, exchanged, type Four} from '../../../src/inputs/layout.js'
import {compute, hostInputs, hostNormals, SMALL, toTensors} from '../../helpers/arrays.js'

const SIZES = {...SMALL, queryLen: 13, keyLen: 13}
const INPUTS = hostInputs(SIZES)
const {batch, heads, headDim} = SIZES

let folder: string
beforeAll(async () => {
  await useBackend('cpu')
  folder = await mkdtemp(join(tmpdir(), 'rfa-apply-'))
})
afterAll(() => rm(folder, {recursive: true}))

/** A file with q, k, v and the arrays given, and what to do with it. */
async function requestFor(
  method: MethodName,
  extras: Record<string, {shape: readonly number[]; data: ArrayLike<number>}> = {},
  rest: Partial<ApplyRequest> = {},
): Promise<ApplyRequest> {
  const path = join(folder, `${method}.npz`)
  const array = ({shape, data}: {shape: readonly number[]; data: ArrayLike<number>}) => ({
    shape: [...shape],
    dtype: 'float32' as const,
    data: Float32Array.from(data),
  })
  const {query: q, key: k, value: v} = INPUTS
  const all = {q, k, v, ...extras}
  await writeArrays(
    path,
    Object.fromEntries(Object.entries(all).map(([name, given]) => [name, array(given)])),
  )
  return {
    input: {kind: 'file', paths: [path], names: {query: 'q', key: 'k', value: 'v'}},
    output: join(folder, `${method}-out.npz`),
    force: true,
    method,
    preset: 'exact',
    options: {},
    causal: false,
    numFeatures: SIZES.numFeatures,
    projection: null,
    orthSign: 'haar',
    seed: 3,
    scale: null,
    backend: 'cpu',
    ...rest,
  }
}

async function written(request: ApplyRequest): Promise<Float32Array> {
  const {arrays} = await readArrays(request.output)
  return Float32Array.from(arrays.get('out')!.data as ArrayLike<number>)
}

describe('applyEstimator', () => {
  it('writes what the library computes', async () => {
    const request = await requestFor('favor-pos')
    const record = await applyEstimator(request)
    const expected = compute(() =>
      attention(...toTensors(INPUTS), {method: 'favor-pos', numFeatures: 17, seed: 3}),
    )
    expect(await written(request)).toEqual(expected)
    expect(record).toMatchObject({projection: 'orth', used_extras: [], feature_dim: 17})
    expect(record).toMatchObject({backend: 'cpu', instruction_set: null, threads: 1})
  })

  it('takes the random vectors from the file', async () => {
    const projection = hostNormals('projection', [1, heads, 5, headDim])
    const given = {shape: [heads, 5, headDim], data: projection.data}
    const request = await requestFor('favor-pos', {projection: given})
    const record = await applyEstimator(request)
    const expected = compute(() => {
      const rows = tf.tensor3d(Float32Array.from(projection.data), [heads, 5, headDim])
      return attention(...toTensors(INPUTS), {method: 'favor-pos', projection: rows})
    })
    expect(await written(request)).toEqual(expected)
    expect(record).toMatchObject({
      projection: 'from the file',
      used_extras: ['projection'],
      feature_dim: 5,
    })
  })

  it('refuses to write over its input before reading it, forced or not', async () => {
    const request = await requestFor('elu', {unwanted: {shape: [1], data: [1]}})
    const before = await readArrays(join(folder, 'elu.npz'))
    for (const force of [false, true]) {
      const output = join(folder, 'elu.npz')
      await expect(applyEstimator({...request, output, force})).rejects.toMatchObject({
        code: 'WOULD_OVERWRITE',
      })
    }
    expect(await readArrays(join(folder, 'elu.npz'))).toEqual(before)
  })

  it('replaces an earlier output only when forced', async () => {
    const request = {...(await requestFor('mean-value')), output: join(folder, 'twice.npz')}
    await applyEstimator({...request, force: false})
    await expect(applyEstimator({...request, force: false})).rejects.toMatchObject({
      code: 'WOULD_OVERWRITE',
    })
    await applyEstimator({...request, force: true})
  })

  it.each(['projection', 'gate', 'noise', 'noise.signs'])(
    'refuses %s for a method that takes none',
    async name => {
      const given = {shape: [batch, heads, 13, 7], data: new Float32Array(batch * heads * 13 * 7)}
      const request = await requestFor('elu', {[name]: given})
      await expect(applyEstimator(request)).rejects.toThrow(
        `holds an array "${name}", which elu does not take`,
      )
    },
  )

  describe('on tokens before heads', () => {
    const exchangedArray = ({shape, data}: {shape: readonly number[]; data: ArrayLike<number>}) => {
      const four = shape as Four
      return {shape: exchanged(four), data: exchangeAxes(Float32Array.from(data), four, 'a')}
    }
    /** The request for the same numbers with their axes exchanged. */
    const turned = async (
      method: MethodName,
      extras: Parameters<typeof requestFor>[1] = {},
      rest: Partial<ApplyRequest> = {},
    ) => {
      const {query, key, value} = INPUTS
      const arrays = {q: exchangedArray(query), k: exchangedArray(key), v: exchangedArray(value)}
      const request = await requestFor(method, {...arrays, ...extras}, rest)
      return {...request, input: {...request.input, layout: 'blhd'} as ApplyRequest['input']}
    }

    it('writes the same numbers in their order, and says so', async () => {
      const plain = await requestFor('favor-pos')
      expect(await applyEstimator(plain)).toMatchObject({layout: 'bhld', shape: [2, 3, 13, 7]})
      const left = await written(plain)
      const other = await turned('favor-pos')
      const output = join(folder, 'turned.safetensors')
      const record = await applyEstimator({...other, output})
      expect(record).toMatchObject({layout: 'blhd', shape: [2, 13, 3, 7]})
      const {arrays, metadata} = await readArrays(output)
      const out = arrays.get('out')!
      expect(out.shape).toEqual([2, 13, 3, 7])
      expect(metadata.layout).toBe('blhd')
      const back = exchangeAxes(out.data, out.shape as Four, 'out')
      expect(back).toEqual(left)
    })

    it('takes a gate in their order, and refuses one in the other', async () => {
      const {data} = hostNormals('gate', [batch, heads, 13, 1])
      const given = Float32Array.from(data, x => 1 / (1 + Math.exp(-x)))
      const ordinary = {shape: [batch, heads, 13], data: given}
      const options = {causal: true}
      const plain = await requestFor('rfa-gate', {gate: ordinary}, options)
      expect((await applyEstimator(plain)).used_extras).toEqual(['gate'])
      const left = await written(plain)
      const gate = exchangedArray({shape: [batch, heads, 13, 1], data: given})
      const other = await turned('rfa-gate', {gate: {...gate, shape: [batch, 13, heads]}}, options)
      await applyEstimator(other)
      const right = (await readArrays(other.output)).arrays.get('out')!
      expect(exchangeAxes(right.data, right.shape as Four, 'out')).toEqual(left)
      const wrong = await turned('rfa-gate', {gate: ordinary}, options)
      await expect(applyEstimator(wrong)).rejects.toMatchObject({
        code: 'SHAPE_MISMATCH',
        message: `gate: expected [2, S, 3], got [2, 3, 13]`,
      })
    })

    it('warns of a file that looks as if it were one', async () => {
      const request = await requestFor('elu', {
        q: {shape: [1, 31, 3, 5], data: new Float32Array(465)},
        k: {shape: [1, 31, 3, 5], data: new Float32Array(465)},
        v: {shape: [1, 31, 3, 5], data: new Float32Array(465)},
      })
      const warnings: string[] = []
      await applyEstimator(request, {warn: text => warnings.push(text)})
      expect(warnings).toEqual([
        expect.stringMatching(/^elu\.npz: .* 31 heads and 3 tokens; .* add `layout: blhd`$/),
      ])
    })
  })
})
