import * as tf from '@tensorflow/tfjs-core'
import {beforeAll, describe, expect, it} from 'vitest'
import {callNoise, drawNoise, type NoiseSpec} from '../../../../src/attention/forms/noise.js'
import type {CallShape} from '../../../../src/attention/index.js'
import {useBackend} from '../../../../src/backends/index.js'
import {bringHostLoops, type NormalBlocksCall} from '../../../../src/host-loops.js'
import {streamKey} from '../../../../src/random/index.js'

const SEED = {seed: 7, replicate: 0}
const SHAPE: CallShape = {
  batch: 2,
  heads: 3,
  queryLen: 5,
  keyLen: 11,
  headDim: 7,
  valueDim: 13,
  numFeatures: 17,
  causal: false,
}
const NORMAL: NoiseSpec = {distribution: 'normal', rows: 5, columns: 7}

describe('drawNoise', () => {
  it('refuses what it cannot draw', () => {
    const call = (spec: unknown) => () => drawNoise('n', spec as NoiseSpec, SHAPE, SEED)
    expect(call(null)).toThrow('noise.n: expected an object, got null')
    expect(call({...NORMAL, distribution: 'cauchy'})).toThrow(
      'noise.n: expected one of the distributions normal, uniform, sign, got "cauchy"',
    )
    expect(call({...NORMAL, rows: 1e9})).toThrow(
      'noise.n: expected heads x rows x columns of at most 2147483648 numbers, got 6 x 1000000000 x 7',
    )
  })

  it('draws normals by the loop of the backend in use, told which rows', () => {
    const calls: NormalBlocksCall[] = []
    bringHostLoops({normalBlocks: call => calls.push(call)})
    try {
      const out = drawNoise('noise', NORMAL, SHAPE, {seed: 7, replicate: 3}, 2)
      const place = {replicate: 3, head: 0, block: 2, replicates: 1, heads: 6}
      const key = streamKey(7, 'noise.noise')
      expect(calls).toEqual([{key, ...place, length: 35, blockLength: 7, out}])
    } finally {
      bringHostLoops({})
    }
  })

  it('gives the first rows of a longer draw', () => {
    const short = drawNoise('noise', NORMAL, {batch: 1, heads: 1}, SEED)
    const long = drawNoise('noise', {...NORMAL, rows: 9}, {batch: 1, heads: 1}, SEED)
    expect(long.subarray(0, short.length)).toEqual(short)
  })

  it('gives the same rows from a later start, as a decoder asks for them', () => {
    const all = drawNoise('noise', NORMAL, SHAPE, SEED)
    const third = drawNoise('noise', {...NORMAL, rows: 1}, SHAPE, SEED, 2)
    const perHead = NORMAL.rows * NORMAL.columns
    for (let head = 0; head < 6; head++) {
      const from = head * perHead + 2 * NORMAL.columns
      expect(third.subarray(head * 7, (head + 1) * 7)).toEqual(all.subarray(from, from + 7))
    }
  })

  it('differs between heads, batch elements, names, seeds and replicates', () => {
    const draws = [
      drawNoise('noise', NORMAL, {batch: 1, heads: 1}, SEED),
      drawNoise('signs', NORMAL, {batch: 1, heads: 1}, SEED),
      drawNoise('noise', NORMAL, {batch: 1, heads: 1}, {...SEED, seed: 8}),
      drawNoise('noise', NORMAL, {batch: 1, heads: 1}, {...SEED, replicate: 1}),
    ]
    const all = drawNoise('noise', NORMAL, SHAPE, SEED)
    for (let head = 0; head < 6; head++) draws.push(all.subarray(head * 35, (head + 1) * 35))
    expect(new Set(draws.map(draw => draw.join())).size).toBe(9) // the first head is drawn twice
  })

  it('is shared by batch elements where the array says so', () => {
    expect(drawNoise('noise', {...NORMAL, shared: true}, SHAPE, SEED)).toHaveLength(3 * 5 * 7)
  })

  it('draws signs and uniforms of [0, 1)', () => {
    const many = {rows: 100, columns: 50}
    const signs = drawNoise('signs', {distribution: 'sign', ...many}, SHAPE, SEED)
    const uniforms = drawNoise('uniform', {distribution: 'uniform', ...many}, SHAPE, SEED)
    expect(new Set(signs)).toEqual(new Set([-1, 1]))
    // 30000 fair signs: the mean lies within 5 standard errors
    const mean = signs.reduce((sum, x) => sum + x, 0) / signs.length
    expect(Math.abs(mean)).toBeLessThan(5 / Math.sqrt(signs.length))
    expect(uniforms.every(x => x >= 0 && x < 1)).toBe(true)
  })
})

describe('callNoise', () => {
  beforeAll(() => useBackend('cpu'))
  const estimator = {name: 'test', noise: () => ({noise: NORMAL})}

  it('draws what is not given', () => {
    const {noise} = callNoise(estimator, SHAPE, {}, {}, SEED)
    expect(noise!.shape).toEqual([2, 3, 5, 7])
    expect(noise!.dataSync()).toEqual(drawNoise('noise', NORMAL, SHAPE, SEED))
  })

  it('takes what is given', () => {
    const given = tf.zeros<tf.Rank.R4>([2, 3, 5, 7])
    expect(callNoise(estimator, SHAPE, {}, {noise: given}, SEED).noise).toBe(given)
  })

  it('refuses another shape', () => {
    const given = tf.zeros<tf.Rank.R4>([2, 3, 5, 8])
    expect(() => callNoise(estimator, SHAPE, {}, {noise: given}, SEED)).toThrow(
      'test.noise.noise: expected [2, 3, 5, 7], got [2, 3, 5, 8]',
    )
  })

  it('refuses a name that the method does not take, and reports those it takes', () => {
    const given = tf.zeros<tf.Rank.R4>([2, 3, 5, 7])
    expect(() => callNoise(estimator, SHAPE, {}, {nose: given}, SEED)).toThrow(/nose/)
    expect(() => callNoise({name: 'plain'}, SHAPE, {}, {noise: given}, SEED)).toThrow(
      'plain.noise: expected no arrays, got "noise"',
    )
  })
})
