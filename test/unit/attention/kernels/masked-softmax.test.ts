import * as tf from '@tensorflow/tfjs-core'
import '@tensorflow/tfjs-core/dist/register_all_gradients.js'
import {describe, expect, it} from 'vitest'
import {attention} from '../../../../src/attention/index.js'
import {maskedSoftmax} from '../../../../src/attention/kernels/index.js'
import {useBackend} from '../../../../src/backends/index.js'
import {normals, randomStream} from '../../../../src/random/index.js'
import {compute} from '../../../helpers/arrays.js'
import {runnableBackends} from '../../../helpers/backends.js'
import {assertWithin, ELEMENTARY, gamma, TINY, U} from '../../../helpers/rounding.js'

const [BATCH, HEADS, ROWS, COLUMNS] = [2, 3, 5, 7]
const SIZE = BATCH * HEADS * ROWS * COLUMNS
const LOGITS = Float32Array.from(normals(randomStream(4, 'test.masked-softmax'), SIZE))
// the second sequence has no key that its first two rows may see under a causal mask
const MASK = [
  [1, 0, 1, 1, 0, 1, 0],
  [0, 0, 1, 0, 2, 1, 1],
]

const logits = () => tf.tensor4d(LOGITS, [BATCH, HEADS, ROWS, COLUMNS])
const keyMask = () => tf.tensor2d(MASK)

const LARGEST = LOGITS.reduce((top, x) => Math.max(top, Math.abs(x)), 0)
/** Of a weight: x - max rounds by u of up to 2 max, then exp, in numerator and sum, the sum and the division. */
const RELATIVE = 2 * (ELEMENTARY + 2 * LARGEST) * U + gamma(COLUMNS + 2)

/** Whether the entry at `at` of `[B, H, L, S]` is seen. */
function sees(at: number, causal: boolean, masked: boolean): boolean {
  const column = at % COLUMNS
  const row = Math.floor(at / COLUMNS) % ROWS
  const batch = Math.floor(at / (COLUMNS * ROWS * HEADS))
  return (!causal || column <= row) && (!masked || MASK[batch]![column] !== 0)
}

/** The definition, in double precision. */
function judge(causal: boolean, masked: boolean): Float64Array {
  const out = new Float64Array(SIZE)
  for (let first = 0; first < SIZE; first += COLUMNS) {
    const seen = Array.from({length: COLUMNS}, (_, j) => first + j).filter(at =>
      sees(at, causal, masked),
    )
    const total = seen.reduce((sum, at) => sum + Math.exp(LOGITS[at]!), 0)
    for (const at of seen) out[at] = Math.exp(LOGITS[at]!) / total
  }
  return out
}

const CASES = [
  [true, false],
  [false, true],
  [true, true],
] as const

describe.each(await runnableBackends())('masked softmax on %s', backend => {
  it('does not mind how large logits of hidden keys are', async () => {
    await useBackend(backend)
    const rows = (numbers: number[]) => tf.tensor4d(numbers, [1, 1, 3, 3])
    const large = () => rows([0, 1e20, -1e20, -1e20, 1e20, 1e25, 1e20, -1e25, 1e20])
    const causal = compute(() => maskedSoftmax(large(), {causal: true}))
    expect([...causal]).toEqual([1, 0, 0, 0, 1, 0, 0.5, 0, 0.5])
    const keyMask = () => tf.tensor2d([[0, 1, 0]])
    const both = compute(() => maskedSoftmax(large(), {causal: true, keyMask: keyMask()}))
    expect([...both]).toEqual([0, 0, 0, 0, 1, 0, 0, 1, 0])
  })

  it.each([
    ['causal: 0', () => maskedSoftmax(logits(), {causal: 0 as never}), /causal: .* got 0/],
    ['causal: 1', () => maskedSoftmax(logits(), {causal: 1 as never}), /causal: .* got 1/],
    ['no options', () => maskedSoftmax(logits(), null as never), /options: expected an object/],
    [
      'whole numbers',
      () => maskedSoftmax(tf.cast(logits(), 'int32'), {}),
      /MaskedSoftmax.logits: expected a float32 tensor, got int32/,
    ],
  ])('refuses %s, mask or not', async (_title, call, message) => {
    await useBackend(backend)
    expect(() => compute(call)).toThrow(
      expect.objectContaining({code: 'BAD_OPTION', message: expect.stringMatching(message)}),
    )
  })

  it.each(CASES)(
    'causal %s, key mask %s: weights of the keys seen, 0 elsewhere',
    async (...given) => {
      await useBackend(backend)
      const [causal, masked] = given
      const actual = compute(() =>
        maskedSoftmax(logits(), {causal, keyMask: masked ? keyMask() : undefined}),
      )
      const want = judge(causal, masked)
      assertWithin(
        'weights',
        actual,
        want,
        want.map(p => (p === 0 ? 0 : RELATIVE * p + TINY)),
      )
    },
  )

  it.each(CASES)(
    'causal %s, key mask %s: gradients are those of the definition',
    async (...given) => {
      await useBackend(backend)
      const [causal, masked] = given
      const pull = Float32Array.from(normals(randomStream(4, 'test.masked-softmax.dy'), SIZE))
      const actual = compute(() =>
        tf.grad(x =>
          tf.sum(
            tf.mul(
              maskedSoftmax(x as tf.Tensor4D, {causal, keyMask: masked ? keyMask() : undefined}),
              tf.tensor4d(pull, [BATCH, HEADS, ROWS, COLUMNS]),
            ),
          ),
        )(logits()),
      )
      const weights = judge(causal, masked)
      // two weights, their products with dy, the sum, its difference from dy
      const bound = 2 * RELATIVE + gamma(COLUMNS + 4)
      for (let first = 0; first < SIZE; first += COLUMNS) {
        const mean = Array.from({length: COLUMNS}, (_, j) => weights[first + j]! * pull[first + j]!)
        const total = mean.reduce((sum, x) => sum + x, 0)
        for (let at = first; at < first + COLUMNS; at++) {
          const want = weights[at]! * (pull[at]! - total)
          const magnitude =
            weights[at]! * (Math.abs(pull[at]!) + mean.reduce((s, x) => s + Math.abs(x), 0))
          // hidden entries have no gradient at all
          expect(Math.abs(actual[at]! - want)).toBeLessThanOrEqual(bound * magnitude)
        }
      }
    },
  )
})

/** Kernels that made whole matrices of `size` elements or more, and views of them left out. */
async function matrixKernels(body: () => tf.Tensor, size: number): Promise<string[]> {
  const {kernels} = await tf.profile(() => tf.tidy(body))
  return kernels
    .filter(({outputShapes}) =>
      outputShapes.some(shape => shape.reduce((n, x) => n * x, 1) >= size),
    )
    .map(({name}) => name)
    .filter(name => !['Reshape', 'Identity', 'Unpack', 'Pack'].includes(name))
}

describe.each(await runnableBackends())('causal attention, materialised, on %s', backend => {
  it('passes over the matrix twice more than the bidirectional form at most, and never compares', async () => {
    await useBackend(backend)
    const [heads, length, dim] = [8, 64, 4]
    const tokens = () => tf.ones<tf.Rank.R4>([1, heads, length, dim])
    const run = (causal: boolean) => () =>
      attention(tokens(), tokens(), tokens(), {method: 'softmax', causal})
    const plain = await matrixKernels(run(false), heads * length ** 2)
    const causal = await matrixKernels(run(true), heads * length ** 2)
    // a backend with its own masked softmax takes no step more
    const extra = causal.includes('MaskedSoftmax') ? 0 : 2
    expect(causal.length).toBeLessThanOrEqual(plain.length + extra)
    // one head's matrix is the mask: made on the host, not by operations that broadcast in JavaScript
    const ofMask = await matrixKernels(run(true), length ** 2)
    expect(ofMask.filter(name => /Less|Greater|Select|Cast|Range/.test(name))).toEqual([])
  })
})
