import * as tf from '@tensorflow/tfjs-core'
import {beforeAll, describe, expect, it} from 'vitest'
import {useBackend} from '../../../../../src/backends/index.js'
import type {MethodSpec} from '../../../../../src/experiments/axes.js'
import {
  Calls,
  replicatesTogether,
} from '../../../../../src/experiments/error-sweep/measure/batched-replicates.js'
import {resolveMethod} from '../../../../../src/experiments/method.js'
import {method} from '../../../../helpers/plans.js'

const SHAPE = {batch: 1, heads: 4, queryLen: 512, keyLen: 512, headDim: 64, valueDim: 64}
const CELL = {num_features: 64, causal: false, row_metrics: false, replicates: 100}

async function together(
  spec: MethodSpec,
  {shape = {}, cell = {}}: {shape?: Partial<typeof SHAPE>; cell?: Partial<typeof CELL>} = {},
) {
  return replicatesTogether({...CELL, ...cell}, await resolveMethod(spec), {...SHAPE, ...shape})
}

describe('replicates of one call', () => {
  it('are more the shorter the call, and no more than there are', async () => {
    const spec = method('favor-pos')
    const usual = await together(spec)
    expect(usual).toBeGreaterThan(1)
    expect(await together(spec, {shape: {queryLen: 64, keyLen: 64}})).toBeGreaterThan(usual)
    expect(await together(spec, {shape: {queryLen: 64, keyLen: 64}, cell: {replicates: 3}})).toBe(3)
    expect(await together(spec, {shape: {queryLen: 8192, keyLen: 8192}})).toBe(1)
  })

  it('are one where a replicate is more than its projection', async () => {
    expect(await together(method('favor-pos'), {shape: {batch: 2}})).toBe(1)
    expect(await together(method('favor-pos'), {cell: {row_metrics: true}})).toBe(1)
    expect(await together(method('lara'))).toBe(1)
    expect(await together(method('hrf'))).toBe(1)
    expect(await together(method('elu'))).toBe(1)
    const coupled = {method: 'oprf', preset: 'tf-models' as const, options: {}}
    expect(await together(coupled)).toBe(1)
    expect(await together(method('oprf'))).toBeGreaterThan(1)
  })
})

describe('the tensors of calls', () => {
  beforeAll(() => useBackend('cpu'))

  const array = (length: number, dim: number, first: number) => ({
    shape: [1, 2, length, dim] as [number, number, number, number],
    data: Float32Array.from({length: 2 * length * dim}, (_, i) => first + i),
  })
  const input = {
    label: 'test',
    query: array(3, 2, 0),
    key: array(1, 2, 100),
    value: array(1, 1, 200),
    extras: new Map(),
    metadata: {},
  }

  it('repeat all heads, and the values have a column of ones', () => {
    const calls = new Calls(input)
    const {query, key, value} = calls.tensors(2)
    expect(query.shape).toEqual([1, 4, 3, 2])
    expect([...query.dataSync()]).toEqual([...input.query.data, ...input.query.data])
    expect([...key.dataSync()]).toEqual([100, 101, 102, 103, 100, 101, 102, 103])
    expect(value.shape).toEqual([1, 4, 1, 2])
    expect([...value.dataSync()]).toEqual([200, 1, 201, 1, 200, 1, 201, 1])
    calls.dispose()
  })

  it('are made again for another number only, and disposed of', () => {
    const before = tf.memory().numTensors
    const calls = new Calls(input)
    const first = calls.tensors(2)
    expect(calls.tensors(2)).toBe(first)
    expect(calls.tensors(1)).not.toBe(first)
    expect(tf.memory().numTensors).toBe(before + 3)
    calls.dispose()
    expect(tf.memory().numTensors).toBe(before)
  })
})
