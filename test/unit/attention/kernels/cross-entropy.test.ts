import * as tf from '@tensorflow/tfjs-core'
import '@tensorflow/tfjs-core/dist/register_all_gradients.js'
import {expect, it} from 'vitest'
import {softmaxCrossEntropy} from '../../../../src/attention/internal.js'
import {useBackend} from '../../../../src/backends/index.js'
import {normals, randomStream} from '../../../../src/random/index.js'
import {compute} from '../../../helpers/arrays.js'
import {runnableBackends} from '../../../helpers/backends.js'
import {assertWithin, ELEMENTARY, gamma, U} from '../../../helpers/rounding.js'

const [ROWS, COLUMNS, SIZE] = [23, 37, 8]
const logits = Float32Array.from(
  normals(randomStream(1, 'test.entropy'), ROWS * COLUMNS),
  x => SIZE * x,
)
const labels = Int32Array.from({length: ROWS}, (_, i) => (i * 5) % COLUMNS)

/**
 * Loss and slopes in double precision. A difference to the maximum is rounded once, and an exponential passes it on
 * relative to itself; sums and means take some more roundings, of at most the number of their terms.
 */
function twin() {
  const slopes = new Float64Array(ROWS * COLUMNS)
  const error = slopes.slice()
  let [loss, size] = [0, 0]
  for (let row = 0; row < ROWS; row++) {
    const x = Array.from(logits.subarray(row * COLUMNS, (row + 1) * COLUMNS))
    const top = Math.max(...x)
    const spread = top - Math.min(...x)
    const weights = x.map(each => Math.exp(each - top))
    const sum = weights.reduce((all, each) => all + each)
    const own = top - x[labels[row]!]!
    loss += (Math.log(sum) + own) / ROWS
    size += (Math.log(sum) + own + spread) / ROWS
    weights.forEach((weight, c) => {
      const at = row * COLUMNS + c
      slopes[at] = (weight / sum - Number(c === labels[row])) / ROWS
      const terms = gamma(COLUMNS + 2 * ELEMENTARY + 4 + 2 * spread)
      error[at] = (terms * (weight / sum) + 3 * U * (weight / sum + 1)) / ROWS
    })
  }
  return {loss, slopes, error, bound: gamma(COLUMNS + ROWS + 2 * ELEMENTARY + 4) * size}
}

it.each(await runnableBackends())(
  'loss and slopes are those of the logarithm, on %s',
  async backend => {
    await useBackend(backend)
    const {loss, slopes, error, bound} = twin()
    const of = (x: tf.Tensor) => softmaxCrossEntropy(x as tf.Tensor2D, tf.tensor1d(labels, 'int32'))
    const x = () => tf.tensor2d(logits, [ROWS, COLUMNS])
    assertWithin(
      'loss',
      compute(() => of(x())),
      [loss],
      [bound],
    )
    // the slope of the loss counts
    const doubled = compute(() => tf.grad(y => tf.mul(of(y), 2))(x()))
    assertWithin(
      'slopes',
      doubled,
      slopes.map(each => 2 * each),
      error.map(each => 2 * each),
    )
  },
)

it('refuses labels that are no columns', () => {
  const of = (values: number[], dtype: 'int32' | 'float32' = 'int32') =>
    softmaxCrossEntropy(tf.zeros([2, 3]), tf.tensor1d(values, dtype))
  expect(() => of([0, 3])).toThrow(
    /SoftmaxCrossEntropy: expected labels from 0 to 2, of 3 columns, got 3/,
  )
  expect(() => of([-1, 0])).toThrow(expect.objectContaining({code: 'BAD_RANGE'}))
  expect(() => of([0, 1, 2])).toThrow(/expected labels \[2\], got \[3\]/)
  expect(() => of([0, 1], 'float32')).toThrow(expect.objectContaining({code: 'BAD_OPTION'}))
})
