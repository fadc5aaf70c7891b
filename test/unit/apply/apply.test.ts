import {mkdtemp, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import * as tf from '@tensorflow/tfjs-core'
import {afterAll, beforeAll, describe, expect, it} from 'vitest'
import {applyEstimator} from '../../../src/apply/apply.js'
import type {ApplyRequest} from '../../../src/apply/record.js'
import {attention, type MethodName} from '../../../src/attention/index.js'
import {useBackend} from '../../../src/backends/index.js'
import type {ErrorSweepResult} from '../../../src/experiments/error-sweep/schema.js'
import {readArrays, writeArrays} from '../../../src/inputs/files/index.js'
import {exchangeAxes, exchanged, type Four} from '../../../src/inputs/layout.js'
import {readTuned, tunedSpecOf, writeTuned} from '../../../src/tuned/index.js'
import {compute, hostInputs, hostNormals, SMALL, toTensors} from '../../helpers/arrays.js'
import {firstOutcome} from '../../helpers/cells.js'
import {method, sweep} from '../../helpers/plans.js'
import {exampleTuned} from '../../helpers/tuned.js'

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
    expect(record.arrays).toMatchObject([{projection: 'orth', used_extras: [], feature_dim: 17}])
    expect(record).toMatchObject({backend: 'cpu', instruction_set: null, threads: 1})
  })

  it('counts outputs that are mostly rounding, where weights of both signs cancel', async () => {
    // cos 1 and cos(pi - 1 - gap) of keys of one norm: their sum is sin(1) gap, the output 2 cos 1 over that
    const weighted = async (gap: number) => {
      const [near, far] = [1, Math.PI - 1 - gap]
      const extras = {
        q: {shape: [1, 2], data: [0, 0]},
        k: {shape: [2, 2], data: [near, Math.sqrt(far ** 2 - near ** 2), far, 0]},
        v: {shape: [2, 1], data: [1, -1]},
        projection: {shape: [1, 2], data: [1, 0]},
      }
      const request = await requestFor('favor-trig', extras, {scale: 1, numFeatures: 1})
      const {arrays} = await applyEstimator(request)
      return {count: arrays[0]!.ill_conditioned, out: (await written(request))[0]}
    }
    const {count, out} = await weighted(5e-5)
    expect(out).toBeGreaterThan(4096)
    expect(count).toBe(1)
    expect(await weighted(0.1)).toMatchObject({count: 0})
  })

  it('records the errors that a sweep has', async () => {
    const rows = heads * SIZES.valueDim
    const extras = {
      o: {shape: [rows, 9], data: hostNormals('o', [1, 1, rows, 9]).data},
      residual_norm: {shape: [1], data: [2.5]},
      key_mask: {shape: [batch, 13], data: Array.from({length: batch * 13}, (_, i) => +(i !== 12))},
    }
    const request = await requestFor('elu', extras)
    const {errors} = (await applyEstimator(request)).arrays[0]!
    const {input} = request
    const outcome = await firstOutcome(
      sweep({input, methods: [method('elu')], scales: [1], seq_lens: null, targets: ['raw']}),
    )
    if (outcome.status !== 'completed') throw new Error(outcome.reason)
    const result = outcome.result as ErrorSweepResult
    const names = ['rel_l2', 'token_mean_rel_l2', 'projected_rel_l2', 'residual_error'] as const
    for (const name of names) {
      expect(errors![name]!, name).toMatchReference(result[name]!.median!, 5)
    }
    const bare = (await applyEstimator(await requestFor('elu'))).arrays[0]!.errors
    expect(bare).toMatchObject({projected_rel_l2: null, residual_error: null})
    expect(bare!.rel_l2).not.toBe(errors!.rel_l2)
  })

  it('has no errors where the key mask leaves queries no causal order', async () => {
    const key_mask = {shape: [batch, 13], data: new Float32Array(batch * 13).fill(1)}
    key_mask.data[0] = 0
    const q = hostNormals('fewer', [batch, heads, 5, headDim])
    const corner = {causal: true, causalAlign: 'start'} as const
    const record = await applyEstimator(await requestFor('elu', {q, key_mask}, corner))
    expect(record.arrays[0]!.errors).toBeNull()
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
    expect(record.arrays).toMatchObject([
      {projection: 'from the file', used_extras: ['projection'], feature_dim: 5},
    ])
  })

  it('runs with learned parameters: maps, and the first draw of random vectors', async () => {
    const factor = 0.5
    const tuned = exampleTuned(
      {heads, keyHeads: heads, headDim, learned: 'maps,rows'},
      {layers: [undefined]},
    )
    const scaled = (shape: number) =>
      Float32Array.from({length: shape * headDim ** 2}, (_, i) =>
        Math.floor(i / headDim) % headDim === i % headDim ? factor : 0,
      )
    const [layer] = tuned.layers
    const [set] = layer!.sets
    const sets = [{...set!, queryMap: scaled(heads), keyMap: scaled(heads)}]
    const path = join(folder, 'tuned.safetensors')
    await writeTuned(path, {...tuned, layers: [{...layer!, sets}]})
    const spec = tunedSpecOf(await readTuned(path))
    const request = await requestFor('favor-pos', {}, {tuned: spec, numFeatures: 8})
    const record = await applyEstimator(request)
    const out = compute(() => {
      const [q, k, v] = toTensors(INPUTS)
      const projection = tf.tensor3d(set!.projection!, [heads, 8, headDim])
      const [query, key] = [tf.mul(q, factor) as tf.Tensor4D, tf.mul(k, factor) as tf.Tensor4D]
      return attention(query, key, v, {method: 'favor-pos', projection})
    })
    expect(await written(request)).toEqual(out)
    expect(record).toMatchObject({tuned: spec, arrays: [{projection: 'learned', feature_dim: 8}]})
    await expect(applyEstimator({...request, numFeatures: 16})).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: `${path}: expected parameters for M=16, got those for M=8`,
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
      expect(await applyEstimator(plain)).toMatchObject({
        layout: 'bhld',
        arrays: [{name: 'out', shape: [2, 3, 13, 7]}],
      })
      const left = await written(plain)
      const other = await turned('favor-pos')
      const output = join(folder, 'turned.safetensors')
      const record = await applyEstimator({...other, output})
      expect(record).toMatchObject({layout: 'blhd', arrays: [{shape: [2, 13, 3, 7]}]})
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
      expect((await applyEstimator(plain)).arrays[0]!.used_extras).toEqual(['gate'])
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
        expect.stringMatching(/^elu\.npz: .* 31 heads and 3 tokens; .* say `layout: blhd`$/),
      ])
    })
  })
})

describe('applyEstimator on a file of several layers', () => {
  const {query: q, key, value} = INPUTS
  const own = {q, k: key, v: value}
  /** Sequence 0 whole, of sequence 1 the first seven keys. */
  const mask = Uint8Array.from({length: 2 * 13}, (_, i) => Number(i < 20))
  const float32 = ({shape, data}: {shape: readonly number[]; data: ArrayLike<number>}) => ({
    shape: [...shape],
    dtype: 'float32' as const,
    data: Float32Array.from(data),
  })
  /** Layer 2 as given, layer 11 with doubled queries. */
  async function layered(rest: Partial<ApplyRequest> = {}): Promise<ApplyRequest> {
    const request = await requestFor('softmax', {}, rest)
    const path = join(folder, 'layered.safetensors')
    const doubled = {...q, data: Float32Array.from(q.data, x => 2 * x)}
    const arrays = Object.entries({2: own, 11: {...own, q: doubled}}).flatMap(([layer, parts]) =>
      Object.entries(parts).map(([name, array]) => [`layers.${layer}.${name}`, float32(array)]),
    )
    await writeArrays(
      path,
      {
        ...Object.fromEntries(arrays),
        key_mask: {shape: [2, 13], dtype: 'bool', data: mask},
      },
      {
        scale: '0.5',
        'layers.11.scale': '0.25',
        origin: 'made here',
        causal: 'true',
        'layers.2.causal': 'true',
      },
    )
    const output = join(folder, 'layered-out.safetensors')
    return {...request, output, ...rest, input: {...request.input, paths: [path]} as never}
  }
  const softmax = (scale: number, causal = false) =>
    compute(() => {
      const keyMask = tf.tensor2d(Float32Array.from(mask), [2, 13])
      return attention(...toTensors(INPUTS), {method: 'softmax', scale, causal, keyMask})
    })

  it('writes an output for each, with the mask and what the file says', async () => {
    const request = await layered()
    const notes: string[] = []
    const record = await applyEstimator(request, {note: text => notes.push(text)})
    expect(notes).toEqual([
      expect.stringMatching(/^\S+ on layered\.safetensors, bidirectional \(--no-causal\)$/),
    ])
    expect(record.arrays).toMatchObject([
      {name: 'layers.2.out', layer: 2, logit_scale: 0.5, hidden_keys: 6},
      {name: 'layers.11.out', layer: 11, logit_scale: 0.25, hidden_keys: 6},
    ])
    const {arrays, metadata} = await readArrays(request.output)
    expect([...arrays.keys()].sort()).toEqual([
      'layers.11.key_mask',
      'layers.11.out',
      'layers.2.key_mask',
      'layers.2.out',
    ])
    expect(arrays.get('layers.2.key_mask')!.data).toEqual(mask)
    // doubled queries at half the scale are the same logits, to the bit
    for (const name of ['layers.2.out', 'layers.11.out']) {
      expect(arrays.get(name)!.data, name).toEqual(softmax(0.5))
    }
    expect(metadata).toEqual({
      'layers.2.scale': '0.5',
      'layers.11.scale': '0.25',
      origin: 'made here',
      causal: 'false',
      method: 'softmax',
      preset: 'exact',
      layout: 'bhld',
      input: 'layered.safetensors',
    })
  })

  it('writes that of one under the ordinary name, at the scale that is asked for', async () => {
    const request = await layered({layers: [2], scale: 0.125, causal: true})
    const [notes, warnings]: [string[], string[]] = [[], []]
    const heard = {
      note: (text: string) => notes.push(text),
      warn: (text: string) => warnings.push(text),
    }
    const record = await applyEstimator(request, heard)
    expect(notes).toEqual([
      expect.stringMatching(/^\S+ on layered\.safetensors, causal \(as the file says\)$/),
    ])
    expect(warnings).toEqual([expect.stringContaining('`scale: 0.125` overrides the metadata')])
    expect(record.arrays).toMatchObject([{name: 'out', layer: 2, logit_scale: 0.125}])
    const {arrays, metadata} = await readArrays(request.output)
    expect([...arrays.keys()].sort()).toEqual(['key_mask', 'out'])
    expect(arrays.get('out')!.data).toEqual(softmax(0.125, true))
    expect(metadata).toMatchObject({scale: '0.125', causal: 'true'})
  })

  it('is causal where the file says so and nothing else is asked for', async () => {
    const request = await layered({layers: [2], causal: null})
    expect(await applyEstimator(request)).toMatchObject({causal: true})
    const {arrays, metadata} = await readArrays(request.output)
    expect(arrays.get('out')!.data).toEqual(softmax(0.5, true))
    expect(metadata).toMatchObject({causal: 'true'})
  })

  it('writes one alone to .npy, where there is no place for the mask', async () => {
    const output = join(folder, 'layered.npy')
    await expect(applyEstimator(await layered({output}))).rejects.toMatchObject({
      code: 'BAD_FILE',
      suggestions: ['or one of them: `layer: 2`'],
    })
    await applyEstimator(await layered({output, layers: [2]}))
    expect([...(await readArrays(output)).arrays.values()][0]!.data).toEqual(softmax(0.5))
  })

  it('refuses a method that takes no mask, and a layer that is not there', async () => {
    await expect(applyEstimator(await layered({method: 'identity'}))).rejects.toMatchObject({
      code: 'UNSUPPORTED',
    })
    await expect(applyEstimator(await layered({layers: [1]}))).rejects.toThrow(
      'layered.safetensors: expected layer 1, got layers 2, 11',
    )
  })
})
