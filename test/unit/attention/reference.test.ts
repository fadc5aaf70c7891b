import {describe, expect, it} from 'vitest'
import {
  type ExactTarget,
  exactAttention,
  forEachExactRow,
  type HostArray,
} from '../../../src/attention/index.js'
import {exactWork} from '../../../src/attention/reference.js'
import {smregKernel} from '../../../src/theory/sphere.js'
import {hostInputs, SMALL} from '../../helpers/arrays.js'
import {PLAIN, TWINS} from '../../helpers/twins/index.js'

const SOFTMAX: ExactTarget = {kernel: 'softmax', inputs: 'canonical', inputScale: 1, label: ''}
/** Two double-precision routes: D + S terms and logits below 20. */
const CLOSE = 2 ** -44

function single(...rows: number[][]): HostArray {
  const width = rows[0]!.length
  return {shape: [1, 1, rows.length, width], data: Float64Array.from(rows.flat())}
}

it('says what it takes', () => {
  const array = {shape: [1, 1, 2, 2], data: new Float32Array(4)} as const
  const options = {
    target: {kernel: 'softmax', inputs: 'canonical', inputScale: 1, label: ''},
  } as const
  const call = exactAttention as (...given: unknown[]) => unknown
  for (const wrong of [null, {}, [1], {shape: [4], data: new Float32Array(4)}]) {
    expect(() => call(array, wrong, array, options)).toThrow(
      expect.objectContaining({
        code: 'BAD_OPTION',
        message: expect.stringMatching(/^exactAttention.key: expected data in a typed array/),
      }),
    )
  }
  for (const none of [null, {}, undefined]) {
    expect(() => call(array, array, array, none)).toThrow(
      'exactAttention.options.target: expected a target, got none',
    )
  }
})

describe('exactAttention', () => {
  it.each([false, true])('agrees with an independent double-precision form, causal %s', causal => {
    const {query, key, value} = hostInputs(SMALL)
    const logitScale = 0.4
    const out = exactAttention(query, key, value, {target: SOFTMAX, logitScale, causal})
    const twin = TWINS.softmax({...PLAIN, query, key, value, causal, logitScale}).out.value
    out.forEach((x, at) => {
      expect(Math.abs(x - twin[at]!)).toBeLessThanOrEqual(CLOSE * Math.max(1, Math.abs(x)))
    })
  })

  it('does not overflow', () => {
    const x = single([400], [-400])
    const value = single([3], [5])
    const out = exactAttention(x, x, value, {target: SOFTMAX, logitScale: 1, causal: false})
    expect(Array.from(out)).toEqual([3, 5])
  })

  it('gives the weights of the unit-vector target: softmax of cosines over temperature', () => {
    const query = single([3, 4])
    const key = single([10, 0], [0, 0.5])
    const target: ExactTarget = {kernel: 'softmax', inputs: 'unit', inputScale: 2, label: ''}
    const weights = rowsOf(query, key, target)[0]!
    const [a, b] = [Math.exp(4 * 0.6), Math.exp(4 * 0.8)]
    expect(Math.abs(weights[0]! - a / (a + b))).toBeLessThanOrEqual(CLOSE)
    expect(Math.abs(weights[1]! - b / (a + b))).toBeLessThanOrEqual(CLOSE)
  })

  it('gives the weights of the arc-cosine target, zero for opposite vectors', () => {
    const query = single([1, 0])
    const key = single([2, 0], [0, 1], [-1, 0])
    const target: ExactTarget = {kernel: 'arc-cosine', inputs: 'raw', inputScale: 1, label: ''}
    const weights = rowsOf(query, key, target)[0]!
    // |x||y| (sin t + (pi - t) cos t) at angles 0, pi/2, pi
    const raw = [2 * Math.PI, 1, 0]
    raw.forEach((w, j) => {
      expect(Math.abs(weights[j]! - w / (2 * Math.PI + 1))).toBeLessThanOrEqual(CLOSE)
    })
  })

  it('gives the weights of the Gaussian target', () => {
    const query = single([1, 0])
    const key = single([1, 0], [0, 2])
    const target: ExactTarget = {kernel: 'gaussian', inputs: 'raw', inputScale: 1, label: ''}
    const weights = rowsOf(query, key, target)[0]!
    const far = Math.exp(-5 / 2)
    expect(Math.abs(weights[1]! - far / (1 + far))).toBeLessThanOrEqual(CLOSE)
  })

  it('gives the weights of the exponential target, which counts long keys for more', () => {
    const query = single([1, 0])
    const key = single([1, 0], [0, 2])
    const target: ExactTarget = {kernel: 'exponential', inputs: 'raw', inputScale: 1, label: ''}
    const weights = rowsOf(query, key, target)[0]!
    const [near, far] = [Math.exp(4 / 2), Math.exp(5 / 2)]
    expect(Math.abs(weights[1]! - far / (near + far))).toBeLessThanOrEqual(CLOSE)
  })

  it.each([
    ['softmax', [Math.exp(1), Math.exp(0)]],
    ['gaussian', [1, Math.exp(-5 / 2)]],
  ] as const)('adds a constant to the weights of the %s target', (kernel, [near, far]) => {
    const query = single([1, 0])
    const key = single([1, 0], [0, 2])
    const target: ExactTarget = {kernel, inputs: 'raw', inputScale: 1, constant: 0.5, label: ''}
    const weights = rowsOf(query, key, target)[0]!
    expect(Math.abs(weights[1]! - (far + 0.5) / (near + far + 1))).toBeLessThanOrEqual(CLOSE)
  })

  it('adds an epsilon to norms before dividing by them', () => {
    const query = single([3, 4])
    const key = single([10, 0], [0, 0.5], [0, 0])
    const target: ExactTarget = {
      ...{kernel: 'softmax', inputs: 'unit', inputScale: 2, normEpsilon: 0.5, label: ''},
    }
    const weights = rowsOf(query, key, target)[0]!
    const logits = [(3 / 5.5) * (10 / 10.5), (4 / 5.5) * (0.5 / 1), 0]
    const raw = logits.map(logit => Math.exp(4 * logit))
    const total = raw.reduce((sum, x) => sum + x)
    raw.forEach((x, j) => {
      expect(Math.abs(weights[j]! - x / total)).toBeLessThanOrEqual(CLOSE)
    })
  })

  it('scales the dimensions of every head apart, after normalising', () => {
    const shape = [1, 2, 1, 2] as const
    const query = {shape, data: Float64Array.of(3, 4, 3, 4)}
    const key = {shape: [1, 2, 2, 2] as const, data: Float64Array.of(2, 0, 0, 2, 2, 0, 0, 2)}
    const dimensionScale = [1, 2, 3, 0.5]
    const target: ExactTarget = {
      kernel: 'gaussian',
      inputs: 'unit',
      inputScale: 0.5,
      dimensionScale,
      label: '',
    }
    rowsOf(query, key, target).forEach((weights, head) => {
      const [a, b] = dimensionScale.slice(2 * head, 2 * head + 2) as [number, number]
      const toward = (x: number, y: number) =>
        Math.exp(-((a * (0.6 - x)) ** 2 + (b * (0.8 - y)) ** 2) / 8)
      const first = toward(1, 0) / (toward(1, 0) + toward(0, 1))
      expect(Math.abs(weights[0]! - first)).toBeLessThanOrEqual(CLOSE)
    })
  })

  it('gives the weights of the regularised softmax kernel', () => {
    const query = single([0.5, 0.2, 0, 0])
    const key = single([1, 0, 0, 0.5], [0, 2, -1, 0])
    const target: ExactTarget = {kernel: 'smreg', inputs: 'raw', inputScale: 1, label: ''}
    const weights = rowsOf(query, key, target)[0]!
    const row = (array: HostArray, i: number) =>
      Float64Array.from(array.data.slice(4 * i, 4 * i + 4))
    const kernel = [0, 1].map(j => smregKernel(row(query, 0), row(key, j)))
    const total = kernel[0]! + kernel[1]!
    kernel.forEach((value, j) => {
      expect(Math.abs(weights[j]! - value / total)).toBeLessThanOrEqual(CLOSE)
    })
  })

  it('a zero vector has the same weight everywhere under a unit target', () => {
    const target: ExactTarget = {kernel: 'softmax', inputs: 'unit', inputScale: 1, label: ''}
    const weights = rowsOf(single([0, 0]), single([1, 0], [0, 1]), target)[0]!
    expect(weights).toEqual([0.5, 0.5])
  })

  it('causal rows beyond the last key see every key', () => {
    const target = SOFTMAX
    const rows = rowsOf(single([0], [0], [0]), single([1], [2]), target, true)
    expect(rows).toEqual([[1], [0.5, 0.5], [0.5, 0.5]])
  })

  it('counts multiply-adds', () => {
    const {query, value} = hostInputs(SMALL)
    const {batch, heads, queryLen, keyLen, headDim, valueDim} = SMALL
    const expected = batch * heads * queryLen * keyLen * (headDim + valueDim)
    expect(exactWork(query, value)).toBe(expected)
  })
})

function rowsOf(query: HostArray, key: HostArray, target: ExactTarget, causal = false): number[][] {
  const rows: number[][] = []
  forEachExactRow(query, key, {target, logitScale: 1, causal}, (_row, _head, weights) => {
    rows.push(Array.from(weights))
  })
  return rows
}
