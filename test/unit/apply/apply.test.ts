import {mkdtemp, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import * as tf from '@tensorflow/tfjs-core'
import {afterAll, beforeAll, describe, expect, it} from 'vitest'
import {type ApplyRequest, applyEstimator} from '../../../src/apply/apply.js'
import {attention, type MethodName} from '../../../src/attention/index.js'
import {useBackend} from '../../../src/backends/index.js'
import {readArrays, writeArrays} from '../../../src/inputs/files/index.js'
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
})
