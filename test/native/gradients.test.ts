import * as tf from '@tensorflow/tfjs-core'
import '@tensorflow/tfjs-core/dist/register_all_gradients.js'
import {expect, it} from 'vitest'
import {type AttentionOptions, attention, recordOperations} from '../../src/attention/index.js'
import {
  causalFeatureAttention,
  dense,
  featureMap,
  halfSquaredNorm,
  linearAttention,
  maskedSoftmax,
  normalizeRows,
  softmaxAttention,
  softmaxCrossEntropy,
} from '../../src/attention/kernels/index.js'
import {useBackend} from '../../src/backends/index.js'
import {normals, randomStream} from '../../src/random/index.js'
import {assertWithin, ELEMENTARY, gamma} from '../helpers/rounding.js'
import {describeNative, describeOnEachIsa} from './addon.js'
import {guarded} from './guards.js'

type Operation = (inputs: tf.Tensor[]) => tf.Tensor | tf.Tensor[]

type Sides = [tf.Tensor, tf.Tensor, tf.Tensor]

const sizeOf = (shape: number[]) => shape.reduce((product, axis) => product * axis, 1)

/** Whole numbers from -2 to 2: sums and products of a few are exact, in any order. */
function whole(shape: number[], seed: number): tf.Tensor {
  const values = Array.from({length: sizeOf(shape)}, (_, i) => ((i * 7 + seed * 3) % 5) - 2)
  return tf.tensor(values, shape, 'float32')
}

function normal(shape: number[], seed: number): tf.Tensor {
  const values = normals(randomStream(seed, 'gradients'), sizeOf(shape))
  return tf.tensor(Float32Array.from(values), shape)
}

/** Gradients of the sum of all outputs times numbers, with respect to each input, and the forms that ran. */
function gradients(operation: Operation, shapes: number[][], draw: typeof whole) {
  tf.engine().startScope()
  try {
    const {result, operations} = recordOperations(() => {
      const total = (...inputs: tf.Tensor[]) =>
        [operation(inputs)]
          .flat()
          .map((out, at) => tf.sum(tf.mul(out, draw(out.shape, 90 + at))))
          .reduce((sum, part) => tf.add(sum, part)) as tf.Scalar
      return tf.grads(total)(shapes.map(draw))
    })
    // zeros of one sign
    return {slopes: result.map(each => each.dataSync().map(x => x + 0) as Float32Array), operations}
  } finally {
    tf.engine().endScope()
  }
}

/** Gradients by TensorFlow.js of the composite on the CPU backend, and of the fused kernel. */
async function onBoth(operation: Operation, shapes: number[][], draw: typeof whole) {
  await useBackend('cpu')
  const judge = gradients(operation, shapes, draw)
  await useBackend('native')
  const actual = guarded(() => gradients(operation, shapes, draw))
  return {judge: judge.slopes, actual: actual.slopes, operations: actual.operations}
}

const tokens = (...last: number[]) => last.map(columns => [2, 3, 7, columns])
const labels = () => tf.tensor1d([0, 16, 3, 3, 9, 1, 15, 7, 8], 'int32')
const mask = () => tf.tensor2d([1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 1, 1, 0, 1], [2, 7], 'bool')

/** Gradients that are sums of products. */
const EXACT: [string, string, Operation, number[][]][] = [
  ...[false, true].flatMap((causal): [string, string, Operation, number[][]][] => [
    [
      `linear attention${causal ? ', causal' : ''}`,
      'LinearAttention',
      ([q, k, v]) => Object.values(linearAttention(q!, k!, v!, {causal})),
      tokens(5, 5, 4),
    ],
    [
      `linear attention with a mask${causal ? ', causal' : ''}`,
      'LinearAttention',
      ([q, k, v]) => Object.values(linearAttention(q!, k!, v!, {causal, keyMask: mask()})),
      tokens(5, 5, 4),
    ],
  ]),
  [
    'linear attention of more queries than keys',
    'LinearAttention',
    ([q, k, v]) => Object.values(linearAttention(q!, k!, v!)),
    [
      [2, 3, 9, 5],
      [2, 3, 7, 5],
      [2, 3, 7, 4],
    ],
  ],
  [
    'relu features of a projection that heads share',
    'FeatureMapGradient',
    ([x, rows]) => featureMap(x!, rows as tf.Tensor2D, 'relu', {featureScale: 2}),
    [
      [2, 3, 7, 5],
      [4, 5],
    ],
  ],
  [
    'half squared norms',
    'HalfSquaredNorm',
    ([x]) => halfSquaredNorm(x as tf.Tensor4D, 2),
    tokens(5),
  ],
  ...[false, true].flatMap(transposed =>
    (['linear', 'relu'] as const).map((activation): [string, string, Operation, number[][]] => [
      `dense, ${activation}${transposed ? ', transposed' : ''}`,
      'Dense',
      ([x, w, bias]) =>
        dense(x as tf.Tensor2D, w as tf.Tensor2D, {
          ...{bias: bias as tf.Tensor1D, transposed, activation},
        }),
      [[7, 5], transposed ? [4, 5] : [5, 4], [4]],
    ]),
  ),
]

/**
 * Gradients that go through exponentials or roots. Numbers of a case are at most 4 in size, rows at most 17 long: sums of
 * magnitudes stay below 2^12, and each result takes no more than 17 + 17 sums, products and 4 elementary functions after
 * another, twice: once in the judge.
 */
const BOUND = 2 * gamma(2 * 34 + 4 * ELEMENTARY) * 2 ** 12

const ROUNDED: [string, string, Operation, number[][]][] = [
  ...[false, true].flatMap((causal): [string, string, Operation, number[][]][] => [
    [
      `softmax attention${causal ? ', causal' : ''}`,
      'SoftmaxAttention',
      ([q, k, v]) => Object.values(softmaxAttention(q!, k!, v!, {scale: 0.5, causal})),
      tokens(5, 5, 4),
    ],
    [
      `softmax attention with a bias and a mask${causal ? ', causal' : ''}`,
      'SoftmaxAttention',
      ([q, k, v, keyBias]) => softmaxAttention(q!, k!, v!, {keyBias, causal, keyMask: mask()}).out,
      [...tokens(5, 5, 4), [2, 3, 7]],
    ],
    [
      `softmax attention of shared queries, keys or values${causal ? ', causal' : ''}`,
      'SoftmaxAttention',
      ([q, k, v]) => Object.values(softmaxAttention(q!, k!, v!, {scale: 0.5, causal})),
      [
        [2, 1, 7, 5],
        [1, 3, 9, 5],
        [1, 1, 9, 4],
      ],
    ],
    [
      `masked softmax${causal ? ', causal' : ''}`,
      'MaskedSoftmax',
      ([logits]) => maskedSoftmax(logits as tf.Tensor4D, causal ? {causal} : {keyMask: mask()}),
      tokens(7),
    ],
    [
      `norm of rows${causal ? ', centred' : ''}`,
      'NormalizeRows',
      ([x, w, bias]) =>
        normalizeRows(x as tf.Tensor2D, w as tf.Tensor1D, {
          ...{bias: bias as tf.Tensor1D, epsilon: 0.1, centred: causal},
        }),
      [[131, 17], [17], [17]],
    ],
    [
      `causal features${causal ? ' with a mask' : ''}`,
      'CausalFeatureAttention',
      ([a, b, v]) => causalFeatureAttention(a!, b!, v!, causal ? mask() : undefined),
      tokens(5, 5, 4),
    ],
  ]),
  ...(['log-positive', 'log-hyperbolic'] as const).flatMap(
    (kind): [string, string, Operation, number[][]][] =>
      [false, true].map(unitNorm => [
        `causal features by recipe, ${kind}${unitNorm ? ', unit vectors' : ''}`,
        'CausalFeatureAttention',
        ([x, y, v, ...projections]) => {
          const [query, key] = [x!, y!].map((tokens, at) => ({
            ...{kind, x: tokens, projection: projections[at] as tf.Tensor3D},
            ...{inputScale: 0.5, unitNorm},
          }))
          return causalFeatureAttention(query!, key!, v!, mask())
        },
        [...tokens(5, 5, 4), [3, 6, 5], [3, 6, 5]],
      ]),
  ),
  ...(['trigonometric', 'log-positive', 'log-hyperbolic'] as const).flatMap(kind =>
    [false, true].map((unitNorm): [string, string, Operation, number[][]] => [
      `${kind} features${unitNorm ? ' of unit vectors' : ''}`,
      'FeatureMapGradient',
      ([x, rows]) => featureMap(x!, rows as tf.Tensor3D, kind, {inputScale: 0.5, unitNorm}),
      [
        [2, 3, 7, 5],
        [3, 4, 5],
      ],
    ]),
  ),
  [
    'cross entropy',
    'SoftmaxCrossEntropyGradient',
    ([logits]) => softmaxCrossEntropy(logits as tf.Tensor2D, labels()),
    [[9, 17]],
  ],
  [
    'causal features of more queries than keys',
    'CausalFeatureAttention',
    ([a, b, v]) => causalFeatureAttention(a!, b!, v!),
    [
      [1, 2, 17, 5],
      [1, 2, 9, 5],
      [1, 2, 9, 4],
    ],
  ],
]

describeNative('gradients of fused operations', addon => {
  describeOnEachIsa(addon, () => {
    it.each(EXACT)('%s: those of the composite', async (_title, name, operation, shapes) => {
      const {judge, actual, operations} = await onBoth(operation, shapes, whole)
      expect(operations[name]).toBe('fused')
      expect(actual).toEqual(judge)
    })

    it.each(ROUNDED)(
      '%s: those of the composite within rounding',
      async (title, name, operation, shapes) => {
        const {judge, actual, operations} = await onBoth(operation, shapes, normal)
        expect(operations[name]).toBe('fused')
        actual.forEach((slopes, at) => {
          const bound = slopes.map(() => BOUND)
          assertWithin(`${title}, input ${at}`, slopes, judge[at]!, bound)
        })
      },
    )
  })

  it('causal positive features keep nothing of L x F numbers for their gradients', async () => {
    await useBackend('native')
    const [length, headDim] = [16_384, 8]
    const peak = async (count: number, tokens: number) => {
      const inputs = [0, 1, 2].map(seed => normal([1, 1, tokens, headDim], seed)) as Sides
      const projection = normal([count, headDim], 3) as tf.Tensor2D
      const slopes = tf.grads((q: tf.Tensor, k: tf.Tensor, v: tf.Tensor) =>
        attention(
          q as tf.Tensor4D,
          k as tf.Tensor4D,
          v as tf.Tensor4D,
          {
            ...{method: 'favor-pos', causal: true, projection: tf.expandDims(projection)},
          } as AttentionOptions,
        ),
      )
      const before = tf.memory().numBytes
      const {peakBytes, result} = await tf.profile(() => ({...slopes(inputs)}))
      tf.dispose([...inputs, projection])
      tf.dispose(result)
      return peakBytes - before
    }
    const few = await peak(16, length)
    // tensors of M rows make the difference
    expect(Math.abs((await peak(128, length)) - few)).toBeLessThan(16 * 4 * 128 * headDim)
    // fewer than the features of one side
    expect(few).toBeLessThan(4 * length * 128)
    expect(await peak(16, length / 2)).toBeLessThan(0.51 * few)
  })

  it.each(['cpu', 'native'] as const)('have gradients themselves, on %s', async backend => {
    await useBackend(backend)
    // the derivative of a sum of squared slopes
    const second = (operation: Operation, shapes: number[][]) =>
      tf.tidy(() => {
        const [x, ...rest] = shapes.map(normal) as [tf.Tensor, ...tf.Tensor[]]
        const slope = tf.grad(first => tf.sum(tf.square([operation([first, ...rest])].flat()[0]!)))
        return tf
          .grad(first => tf.sum(tf.square(slope(first))))(x)
          .dataSync()
      })
    // TensorFlow.js itself has none of second order for a maximum, which other composites take
    const norms = ROUNDED.filter(([, name]) => name === 'NormalizeRows')
    for (const [title, , operation, shapes] of [...EXACT, ...norms]) {
      expect(second(operation, shapes).every(Number.isFinite), title).toBe(true)
    }
  })
})
