import * as tf from '@tensorflow/tfjs-core'
import {attend} from '../../src/attention/attention.js'
import {attention, decoder} from '../../src/attention/index.js'
import {
  describeRefusals,
  gone,
  of,
  ones,
  type Refusal,
  SHAPE,
  strings,
} from '../helpers/refusals.js'

const no = 'UNSUPPORTED'
const shape = 'SHAPE_MISMATCH'

/** A call of a method with something wrong in it. */
const call = (tensors: tf.Tensor4D[], options: object = {}, method = 'softmax-online') => {
  const [query = ones(...SHAPE), key = ones(...SHAPE), value = ones(...SHAPE)] = tensors
  return attention(query, key, value, {method, ...options} as Parameters<typeof attention>[3])
}
const OF_METHODS: Refusal[] = [
  ['int32 queries', () => call([of('int32')]), /query: expected a float32 tensor, got int32/],
  ['truth values', () => call([of('bool')], {}, 'reformer'), /query: .* got bool/],
  ['words', () => call([strings()]), /query: expected a float32 tensor, got string/],
  ['disposed keys', () => call([ones(...SHAPE), gone()]), /key: .*, got a disposed one/],
  ['arrays', () => call([[1] as unknown as tf.Tensor4D]), /query: expected a tensor, got \[1\]/],
  [
    'no query',
    () => attend(null as never, ones(...SHAPE), ones(...SHAPE), {method: 'elu'}),
    /query: .* null/,
  ],
  [
    'no options',
    () => attend(ones(...SHAPE), ones(...SHAPE), ones(...SHAPE), null as never),
    /options: expected an object, got null/,
  ],
  ['causal: yes', () => call([], {causal: 'yes'}), /causal: expected true or false, got "yes"/],
  ['a scale in words', () => call([], {scale: '1'}), /scale: expected a positive number, got 1/],
  [
    'calibration of nothing',
    () => call([], {calibration: {}}, 'oprf'),
    /calibration.query: expected a tensor, got none/,
  ],
  [
    'calibration null',
    () => call([], {calibration: null}, 'oprf'),
    /calibration: expected an object, got null/,
  ],
  [
    'projection null',
    () => call([], {projection: null}, 'rfa'),
    /projection: expected a tensor, got null/,
  ],
  [
    'a disposed projection',
    () => call([], {projection: gone()}, 'rfa'),
    /projection: .*, got a disposed one/,
  ],
  [
    'parameters null',
    () => call([], {parameters: null}, 'rfa'),
    /rfa.parameters: expected an object, got null/,
  ],
  [
    'a parameter null',
    () => call([], {parameters: {sigma: null}}, 'rfa'),
    /rfa.parameters.sigma: expected a tensor, got null/,
  ],
  [
    'a mask of words',
    () => call([], {keyMask: tf.tensor2d(['a', 'b', 'c'], [1, 3], 'string')}),
    /keyMask: expected a float32, int32, bool tensor, got string/,
  ],
  ['a disposed mask', () => call([], {keyMask: gone()}), /keyMask: .*, got a disposed one/],
  [
    'a gate of whole numbers',
    () => call([], {causal: true, gate: tf.ones([1, 2, 3], 'int32')}, 'rfa-gate'),
    /gate: .* got int32/,
  ],
  [
    'a decoder without options',
    () => decoder(null as never),
    /options: expected an object, got null/,
  ],
]

const token = (): [tf.Tensor4D, tf.Tensor4D, tf.Tensor4D] => [
  ones(1, 2, 1, 4),
  ones(1, 2, 1, 4),
  ones(1, 2, 1, 3),
]
const steps = (method: string) =>
  decoder({method, heads: 2, headDim: 4, valueDim: 3, numFeatures: 5} as Parameters<
    typeof decoder
  >[0])
const OF_DECODERS: Refusal[] = [
  ...['rfa', 'favor-pos', 'softmax', 'rfa-gate', 'efficient'].map(
    (method): Refusal => [
      `${method} after dispose`,
      () => {
        const step = steps(method)
        step.next(...token())
        step.dispose()
        step.dispose()
        return step.next(...token())
      },
      /decoder: expected a decoder in use, got a disposed one/,
    ],
  ),
  // what a decoder with a cache shows may be a copy
  ...['rfa', 'favor-pos', 'rfa-gate', 'efficient'].map(
    (method): Refusal => [
      `${method} with disposed sums`,
      () => {
        const step = steps(method)
        step.next(...token())
        tf.dispose(Object.values(step.state)[0]!)
        return step.next(...token())
      },
      /decoder\.state.*got a disposed one/,
    ],
  ),
  [
    'the state after dispose',
    () => {
      const step = steps('rfa')
      step.dispose()
      return step.state
    },
    /decoder: expected a decoder in use/,
  ],
  [
    'a token of other heads',
    () => steps('softmax').next(ones(1, 1, 1, 4), ones(1, 1, 1, 4), ones(1, 1, 1, 3)),
    /decoder: expected query \[1, 2, 1, 4\], got \[1, 1, 1, 4\]/,
    shape,
  ],
  [
    'two tokens',
    () => steps('elu').next(ones(1, 2, 2, 4), ones(1, 2, 2, 4), ones(1, 2, 2, 3)),
    /decoder: expected query/,
    shape,
  ],
  [
    'a token of whole numbers',
    () => steps('elu').next(tf.ones([1, 2, 1, 4], 'int32'), ones(1, 2, 1, 4), ones(1, 2, 1, 3)),
    /decoder.query: expected a float32 tensor, got int32/,
  ],
  [
    'a gate for a method without',
    () => steps('elu').next(...token(), tf.ones([1, 2, 1])),
    /elu: has no gate/,
    no,
  ],
]

describeRefusals('a method', OF_METHODS)
describeRefusals('a decoder', OF_DECODERS)
