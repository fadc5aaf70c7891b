import {beforeAll, describe, expect, it} from 'vitest'
import {tf} from '../../../../../src/attention/index.js'
import {useBackend} from '../../../../../src/backends/index.js'
import {
  numbersOf,
  type Problem,
  problemOf,
} from '../../../../../src/experiments/tune/measure/problem.js'
import {lossOf, rowsLossOf} from '../../../../../src/experiments/tune/measure/task.js'
import {stepTexts} from '../../../../../src/experiments/tune/step-texts.js'
import type {AttentionArray, AttentionInput} from '../../../../../src/inputs/attention-input.js'
import {normals, randomStream} from '../../../../../src/random/index.js'
import {registerGradients} from '../../../../../src/tf.js'

const [BATCH, HEADS, LENGTH, DIM] = [2, 3, 7, 5]
const SCALE = 0.7

function array(name: string): AttentionArray {
  const drawn = normals(randomStream(0, `test.rows.${name}`), BATCH * HEADS * LENGTH * DIM)
  return {shape: [BATCH, HEADS, LENGTH, DIM], data: Float32Array.from(drawn)}
}

const [query, key, value] = ['q', 'k', 'v'].map(array) as [
  AttentionArray,
  AttentionArray,
  AttentionArray,
]

/** @param lengths - tokens of each text */
function input(lengths?: readonly number[]): AttentionInput {
  const mask = lengths?.flatMap(own => Array.from({length: LENGTH}, (_, at) => +(at < own)))
  return {
    ...{label: 'made', query, key, value, extras: new Map(), metadata: {}},
    ...(mask && {keyMask: Uint8Array.from(mask)}),
  }
}

/** One token of a head, from where it lies in float32. */
function token({data}: AttentionArray, text: number, head: number, at: number): number[] {
  const start = ((text * HEADS + head) * LENGTH + at) * DIM
  return [...data.subarray(start, start + DIM)]
}

const dot = (a: readonly number[], b: readonly number[]) =>
  a.reduce((sum, one, at) => sum + one * b[at]!, 0)

function shares(weights: readonly number[]): number[] {
  const sum = weights.reduce((all, one) => all + one, 0)
  return weights.map(one => one / sum)
}

function features(x: readonly number[]): number[] {
  return shares([...x, ...x.map(one => -one)].map(Math.exp))
}

/**
 * The mean over texts, heads and queries of -sum_j p_ij ln q_ij, in float64 and by its definition alone.
 *
 * @param map - `[H, D, D]`, what queries are multiplied by
 */
function definition(map: ArrayLike<number>, lengths: readonly number[], causal: boolean): number {
  const losses: number[] = []
  lengths.forEach((length, text) => {
    for (let head = 0; head < HEADS; head++) {
      for (let i = 0; i < length; i++) {
        const x = token(query, text, head, i)
        const mapped = x.map((_, to) =>
          dot(
            x,
            x.map((_, from) => map[(head * DIM + from) * DIM + to]!),
          ),
        )
        const seen = Array.from({length: causal ? i + 1 : length}, (_, j) =>
          token(key, text, head, j),
        )
        const exact = shares(seen.map(y => Math.exp(SCALE * dot(x, y))))
        const own = shares(seen.map(y => dot(features(mapped), features(y))))
        losses.push(-exact.reduce((sum, p, j) => sum + p * Math.log(own[j]!), 0))
      }
    }
  })
  return losses.reduce((sum, loss) => sum + loss, 0) / losses.length
}

const MAP = Float32Array.from(normals(randomStream(0, 'test.rows.map'), HEADS * DIM * DIM))

function mapped(loss: (map: tf.Tensor) => tf.Scalar): {value: number; slopes: Float32Array} {
  const {value, grad} = tf.valueAndGrad(loss)(tf.tensor3d(MAP, [HEADS, DIM, DIM]))
  return {value: numbersOf(value)[0]!, slopes: numbersOf(grad)}
}

beforeAll(async () => {
  await registerGradients()
  await useBackend('cpu')
})

describe.each([
  {causal: false, lengths: [7, 7]},
  {causal: true, lengths: [7, 7]},
  {causal: false, lengths: [4, 7]},
  {causal: true, lengths: [7, 3]},
])('the loss of rows, causal $causal, texts of $lengths', ({causal, lengths}) => {
  const isPadded = lengths.some(length => length < LENGTH)
  const hedgehog = {method: 'hedgehog', causal}
  const problem = () => problemOf(input(isPadded ? lengths : undefined), SCALE, {causal})

  it('is the cross entropy of exact rows with those of features, and so is its gradient', () => {
    const own = problem()
    const {value, slopes} = mapped(map =>
      lossOf(own, hedgehog, {query_map: map, key_map: identities()}, 'rows'),
    )
    expect(value).toBeCloseTo(definition(MAP, lengths, causal), 5)
    const step = 1e-5
    for (const at of [0, 13, 37, 74]) {
      const moved = [step, -step].map(by => {
        const map = Float64Array.from(MAP)
        map[at]! += by
        return definition(map, lengths, causal)
      })
      const slope = (moved[0]! - moved[1]!) / (2 * step)
      expect(slopes[at]!, `entry ${at}`).toBeCloseTo(slope, 5)
    }
  })

  it('is the same on texts in two parts', () => {
    const texts = lengths.map((_, at) => problemOf(oneText(at, lengths), SCALE, {causal}))
    const parts = rowsLossOf(texts, hedgehog, {})
    expect(parts).toBeCloseTo(numbersOf(lossOf(problem(), hedgehog, {}, 'rows'))[0]!, 5)
  })
})

it('a weight of zero where exact attention has one costs a finite number, and pulls nothing', () => {
  const problem = problemOf(input(), 40, {causal: false})
  const far: Problem = {...problem, query: tf.mul(problem.query, 40)}
  const options = {method: 'squared-relu'}
  const {value, slopes} = mapped(map => lossOf(far, options, {query_map: map}, 'rows'))
  expect(value).toBeGreaterThan(0)
  expect(value).toBeLessThanOrEqual(-Math.log(1e-20))
  expect([...slopes].every(Number.isFinite)).toBe(true)
})

it('a step for rows has fewer texts where their weights are many', () => {
  const sizes = {heads: 12, queryLen: 512, keyLen: 512}
  expect([stepTexts(sizes), stepTexts(sizes, 'rows')]).toEqual([16, 5])
  expect(stepTexts({heads: 64, queryLen: 4096, keyLen: 4096}, 'rows')).toBe(1)
})

function identities(): tf.Tensor {
  return tf.tile(tf.expandDims(tf.eye(DIM), 0), [HEADS, 1, 1])
}

function oneText(at: number, lengths: readonly number[]): AttentionInput {
  const own = ({data}: AttentionArray): AttentionArray => {
    const size = HEADS * LENGTH * DIM
    return {shape: [1, HEADS, LENGTH, DIM], data: data.slice(at * size, (at + 1) * size)}
  }
  const mask = Uint8Array.from({length: LENGTH}, (_, place) => +(place < lengths[at]!))
  return {...input(), query: own(query), key: own(key), value: own(value), keyMask: mask}
}
