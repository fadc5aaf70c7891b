import * as tf from '@tensorflow/tfjs-core'
import fc from 'fast-check'
import {beforeAll, describe, expect, it} from 'vitest'
import {attention, exactAttention, softmaxAttention} from '../../src/attention/index.js'
import {useBackend} from '../../src/backends/index.js'
import {formOf} from '../../src/check/calls/call.js'
import {
  compute,
  hostInputs,
  hostNormals,
  maskTensor,
  type Sizes,
  SMALL,
  shapeName,
  toTensor,
  toTensors,
} from '../helpers/arrays.js'
import {casesOn, runnableBackends} from '../helpers/backends.js'
import {type EstimatorCase, outputBound, runCase} from '../helpers/estimator-case.js'
import {addBounds, assertWithin, ELEMENTARY, gamma, U} from '../helpers/rounding.js'
import {PLAIN, TWINS} from '../helpers/twins/index.js'

const backends = await runnableBackends()
const METHODS = ['softmax', 'softmax-online'] as const
const TARGET = {kernel: 'softmax', inputs: 'canonical', inputScale: 1, label: 'softmax'} as const

/** More than one tile of 512 queries and of 1024 keys. */
const TILED: Sizes = {...SMALL, batch: 1, heads: 1, queryLen: 521, keyLen: 1031, headDim: 3}

const judged = new Map<string, {exact: Float64Array; error: Float64Array}>()

/** The double-precision judge and the rounding bound: the same for every method and backend. */
function judge(sizes: Sizes, causal: boolean, inputScale: number) {
  const name = JSON.stringify([sizes, causal, inputScale])
  const found = judged.get(name)
  if (found) return found
  const inputs = hostInputs(sizes, inputScale)
  const logitScale = sizes.headDim ** -0.5
  const {query, key, value} = inputs
  const exact = exactAttention(query, key, value, {target: TARGET, logitScale, causal})
  const {error} = TWINS.softmax({...PLAIN, ...inputs, causal, logitScale}).out
  judged.set(name, {exact, error})
  return {exact, error}
}

describe.each(backends)('exact attention on %s', backend => {
  beforeAll(() => useBackend(backend))

  const casesOf = (...shapes: Sizes[]) =>
    METHODS.flatMap(method =>
      shapes.flatMap(sizes =>
        [false, true].flatMap(causal =>
          [1, 40].map(inputScale => ({method, sizes, causal, inputScale})),
        ),
      ),
    )
  const cases = casesOf(SMALL, {...SMALL, queryLen: 7, keyLen: 31}, TILED)
  for (const {method, sizes, causal, inputScale} of casesOn(backend, cases, 3)) {
    const title = `${method} ${shapeName(sizes)}${causal ? ' causal' : ''}, inputs times ${inputScale}`
    it(`${title}, is within rounding of the double-precision judge`, () => {
      const inputs = hostInputs(sizes, inputScale)
      const {exact, error} = judge(sizes, causal, inputScale)
      const out = compute(() =>
        attention(...toTensors(inputs), {method, ...formOf(causal, inputs)}),
      )
      const {decidable} = assertWithin(title, out, exact, error)
      expect(decidable).toBe(exact.length)
    })
  }

  it.each(METHODS)('%s gives zero for rows that see no key', method => {
    const inputs = hostInputs(SMALL)
    const {batch, heads, queryLen, keyLen, valueDim} = SMALL
    // the first batch element has no keys; the second lacks key 0, so causal row 0 sees none
    const mask = Float32Array.from({length: batch * keyLen}, (_, i) => (i > keyLen ? 1 : 0))
    const out = compute(() =>
      attention(...toTensors(inputs), {method, causal: true, keyMask: maskTensor(mask, batch)}),
    )
    const half = heads * queryLen * valueDim
    expect(out.subarray(0, half).every(x => x === 0)).toBe(true)
    for (let row = 0; row < heads * queryLen; row++) {
      const values = out.subarray(half + row * valueDim, half + (row + 1) * valueDim)
      expect(values.every(x => x === 0)).toBe(row % queryLen === 0)
    }
  })

  it('skips over a whole tile of masked keys', () => {
    const inputs = hostInputs(TILED)
    const {keyLen, headDim} = TILED
    const keyMask = Float32Array.from({length: keyLen}, (_, j) => (j < 1027 ? 0 : 1))
    const twin = TWINS.softmax({
      ...PLAIN,
      ...inputs,
      keyMask,
      causal: false,
      logitScale: headDim ** -0.5,
    })
    const out = compute(() =>
      attention(...toTensors(inputs), {method: 'softmax-online', keyMask: maskTensor(keyMask, 1)}),
    )
    assertWithin('masked tile', out, twin.out.value, twin.out.error)
  })

  const sums = [SMALL, TILED].flatMap(sizes =>
    [false, true].map(causal => [sizes, causal] as const),
  )
  it.each(casesOn(backend, sums))(
    'the log-sum of each row is that of its logits, key bias and scale included',
    (sizes, causal) => {
      const {batch, heads, queryLen, keyLen, headDim} = sizes
      const scale = 0.7
      const {query, key, value} = hostInputs(sizes)
      const bias = hostNormals('bias', [batch, heads, 1, keyLen], 3)
      const [lse] = compute(() => [
        softmaxAttention(toTensor(query), toTensor(key), toTensor(value), {
          scale,
          causal,
          keyBias: tf.reshape(toTensor(bias), [batch, heads, keyLen]),
        }).lse,
      ])
      const expected = new Float64Array(batch * heads * queryLen)
      const bound = new Float64Array(expected.length)
      for (let row = 0; row < expected.length; row++) {
        const head = Math.floor(row / queryLen)
        const {value: sum, magnitude} = logSum(row % queryLen, head)
        expected[row] = sum
        // logits: D + 4 roundings of their magnitude; sum of S terms; two logs per tile and their sums
        bound[row] =
          (headDim + 8) * U * (magnitude + Math.log(keyLen)) + gamma(keyLen + 8 * ELEMENTARY)
      }
      assertWithin(`lse ${shapeName(sizes)}`, lse!, expected, bound)

      function logSum(i: number, head: number): {value: number; magnitude: number} {
        let magnitude = 0
        const logits = Array.from({length: causal ? Math.min(i + 1, keyLen) : keyLen}, (_, j) => {
          let logit = bias.data[head * keyLen + j]!
          let size = Math.abs(logit)
          for (let d = 0; d < headDim; d++) {
            const x = query.data[(head * queryLen + i) * headDim + d]!
            const term = scale * x * key.data[(head * keyLen + j) * headDim + d]!
            logit += term
            size += Math.abs(term)
          }
          magnitude = Math.max(magnitude, size)
          return logit
        })
        const top = Math.max(...logits)
        const sum = logits.reduce((total, logit) => total + Math.exp(logit - top), 0)
        return {value: top + Math.log(sum), magnitude}
      }
    },
  )

  it('the log-sum of a row without keys is -Infinity', () => {
    const inputs = hostInputs(SMALL)
    const mask = new Float32Array(SMALL.batch * SMALL.keyLen)
    const [lse, out] = compute(() => {
      const keyMask = maskTensor(mask, SMALL.batch)
      const result = softmaxAttention(...toTensors(inputs), {keyMask})
      return [result.lse, result.out]
    })
    expect(lse!.every(x => x === -Infinity)).toBe(true)
    expect(out!.every(x => x === 0)).toBe(true)
  })
})

describe('exact attention', () => {
  beforeAll(() => useBackend('cpu'))

  it('is the same materialised and tiled, for any sizes and masks', () => {
    const size = fc.integer({min: 1, max: 40})
    fc.assert(
      fc.property(
        fc.record({queryLen: size, keyLen: size, headDim: size, valueDim: size}),
        fc.boolean(),
        fc.boolean(),
        (axes, causal, masked) => {
          const sizes = {...SMALL, ...axes}
          const given: EstimatorCase = {method: 'softmax', sizes, causal, masked}
          const bound = outputBound(given)
          const tiled = runCase({...given, method: 'softmax-online'}).out
          assertWithin('softmax-online', tiled, runCase(given).out, addBounds(bound, bound))
        },
      ),
      {numRuns: 25, seed: 17},
    )
  })
})
