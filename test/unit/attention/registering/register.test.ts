import {beforeAll, describe, expect, it} from 'vitest'
import {defineEstimator, type Estimator} from '../../../../src/attention/forms/estimator.js'
import {
  attend as attendTensors,
  attention,
  decoder,
  loadEstimators,
  methodNames,
  tf,
  z,
} from '../../../../src/attention/index.js'
import {defineFeatureMap} from '../../../../src/attention/registering/define.js'
import {lookAgain} from '../../../../src/attention/registering/features.js'
import {registerEstimator} from '../../../../src/attention/registering/register.js'
import type {Decoder} from '../../../../src/attention/types.js'
import {useBackend} from '../../../../src/backends/index.js'
import type {RfaError} from '../../../../src/errors.js'
import {exact} from '../../../helpers/estimators-of-ones-own.js'
import {thrown} from '../../../helpers/thrown.js'

const [batch, heads, length, headDim, valueDim] = [2, 3, 5, 7, 11]

beforeAll(() => useBackend('cpu'))

let count = 0
/** A feature map with a name of its own. */
function map(changes: object = {}): Estimator {
  count++
  return defineFeatureMap({
    name: `map-${count}`,
    title: 'a map',
    citation: 'none',
    formula: 'phi(x) = relu(x)',
    advice: '',
    nonNegative: true,
    inputs: () => 'canonical',
    options: z.object({power: z.number().int().default(1)}),
    featureDim: (_numFeatures: number, headDim: number) => headDim,
    phi:
      ({inputScale, options}: {inputScale: number; options: {power: number}}) =>
      (x: tf.Tensor4D) =>
        tf.pow(tf.relu(tf.mul(x, inputScale)), options.power),
    ...changes,
  } as never)
}

const random = (last: number, seed: number) =>
  tf.randomNormal([batch, heads, length, last], 0, 1, 'float32', seed)
function attend(method: string, rest: object = {}) {
  const [query, key, value] = [random(headDim, 1), random(headDim, 2), random(valueDim, 3)]
  return attention(query, key, value, {method, ...rest} as never)
}

/** A decoder of an author who keeps to classes. */
class PrivateDecoder implements Decoder {
  readonly #inner: Decoder

  constructor(inner: Decoder) {
    this.#inner = inner
  }

  get stateBytes() {
    return this.#inner.stateBytes
  }

  get state() {
    return this.#inner.state
  }

  next(...args: Parameters<Decoder['next']>) {
    return this.#inner.next(...args)
  }

  dispose() {
    this.#inner.dispose()
  }
}

describe('a registered estimator', () => {
  it('is taken by attention under its name, with its options, causal and token by token', () => {
    const method = registerEstimator(map())
    expect(method).toBe(`map-${count}`)
    expect(methodNames()).toContain(method)
    const plain = attend(method)
    expect(plain.shape).toEqual([batch, heads, length, valueDim])
    expect(attend(method, {power: 3}).dataSync()).not.toEqual(plain.dataSync())
    const [query, key, value] = [random(headDim, 1), random(headDim, 2), random(valueDim, 3)]
    const causal = attend(method, {causal: true})
    const step = decoder({method, batch, heads, headDim, valueDim} as never)
    for (let t = 0; t < length; t++) {
      const row = (x: tf.Tensor) => tf.slice(x, [0, 0, t, 0], [-1, -1, 1, -1])
      const out = step.next(row(query), row(key), row(value))
      // sums of at most five products of seven: float32 rounds each by 2^-24 of what is summed
      const off = tf.max(tf.abs(tf.sub(out, row(causal)))).dataSync()[0]!
      expect(off).toBeLessThan(64 * 2 ** -24 * tf.max(tf.abs(value)).dataSync()[0]!)
    }
    step.dispose()
  })

  it('is there for what asks for all estimators, before and after they were loaded', async () => {
    const before = registerEstimator(map())
    const all = await loadEstimators()
    const after = registerEstimator(map())
    for (const name of [before, after]) expect(await loadEstimators()).toHaveProperty(name)
    expect(all).toHaveProperty('favor-pos')
  })

  it('may have a decoder with private fields', () => {
    const own = map()
    const kept = registerEstimator({
      ...own,
      name: `${own.name}-private`,
      decoder: inputs => new PrivateDecoder(own.decoder!(inputs)),
    })
    const sizes = {batch, heads, headDim, valueDim}
    const [plain, step] = [registerEstimator(own), kept].map(method =>
      decoder({method, ...sizes} as never),
    ) as [Decoder, Decoder]
    const row = (last: number) => tf.ones([batch, heads, 1, last])
    const token = [row(headDim), row(headDim), row(valueDim)] as const
    expect(step.next(...token).dataSync()).toEqual(plain.next(...token).dataSync())
    expect(step.stateBytes).toBe(plain.stateBytes)
    expect(Object.keys(step.state)).toEqual(Object.keys(plain.state))
    const [state] = Object.values(step.state)
    step.dispose()
    expect(state!.isDisposed).toBe(true)
    plain.dispose()
  })

  it('is registered once, however often it is given', () => {
    const own = map()
    const [first, again] = [registerEstimator(own), registerEstimator(own)]
    expect(again).toBe(first)
    expect(methodNames().filter(name => name === first)).toHaveLength(1)
  })

  it('may be nothing but the facts of a feature map, or a whole estimator', () => {
    const bare = {...map(), attend: undefined, decoder: undefined}
    const {
      attend: _a,
      decoder: _d,
      cost: _c,
      stateBytes: _s,
      ...facts
    } = bare as never as object & Record<string, unknown>
    const name = registerEstimator({
      ...facts,
      name: 'bare',
      phi: () => (x: tf.Tensor4D) => tf.relu(x),
    } as never)
    expect(attend(name).shape).toEqual([batch, heads, length, valueDim])
    const whole = registerEstimator(defineEstimator(exact('whole')))
    expect(attend(whole).shape).toEqual([batch, heads, length, valueDim])
  })
})

describe('registering refuses', () => {
  const refusals: [string, () => unknown, RegExp, RegExp?][] = [
    [
      'nothing',
      () => registerEstimator(undefined as never),
      /^estimator: expected an estimator, got none/,
      /defineFeatureMap/,
    ],
    [
      'a promise',
      () => registerEstimator(Promise.resolve(map()) as never),
      /got a promise of one/,
      /export default await/,
    ],
    [
      'a map without phi',
      () => map({phi: undefined}),
      /^map-\d+: phi: expected a function that gives features of tokens, got none/,
      /projection/,
    ],
    [
      'a map without featureDim',
      () => map({featureDim: 64}),
      /featureDim: expected a function .* got 64/,
    ],
    [
      'a map without name',
      () => map({name: undefined}),
      /defineFeatureMap: expected a name, got none/,
    ],
    [
      'a name of two words',
      () => registerEstimator(map({name: 'my map'})),
      /expected a name of letters.* got "my map"/,
    ],
    ['the name of all', () => registerEstimator(map({name: 'all'})), /got "all"/],
    [
      'the name of a built-in one',
      () => registerEstimator(map({name: 'rfa'})),
      /^rfa: expected a name that no other estimator has, got rfa, a built-in one/,
      /my-rfa/,
    ],
    ['its name in capitals', () => registerEstimator(map({name: 'RFA'})), /a built-in one/],
    [
      'the name of another',
      () => [registerEstimator(map({name: 'twice'})), registerEstimator(map({name: 'twice'}))],
      /got twice, registered before/,
    ],
    [
      'a missing title',
      () => registerEstimator(map({title: undefined})),
      /title: expected a text, got none/,
      /e\.g\. title/,
    ],
    [
      'a missing fact',
      () => registerEstimator(map({nonNegative: undefined})),
      /nonNegative: expected true or false/,
    ],
    [
      'an unknown kernel',
      () => registerEstimator(map({unbiasedFor: 'softmax'})),
      /unbiasedFor: expected one of softmax-kernel.*got "softmax"/,
    ],
    [
      'an unknown projection',
      () => registerEstimator(map({projection: {default: 'gauss'}})),
      /projection.default: expected one of iid.*got "gauss"/,
    ],
    [
      'options that are no schema',
      () => registerEstimator(map({options: {power: 2}})),
      /options: expected a schema of zod 4/,
      /import \{z\}/,
    ],
    [
      'a schema of zod 3',
      () => registerEstimator(map({options: {_def: {}, shape: {}}})),
      /got one of zod 3/,
    ],
    [
      'an option of all methods',
      () => registerEstimator(map({options: z.object({seed: z.number().default(0)})})),
      /options\.seed: expected a name that no option of all methods has/,
    ],
    [
      'an option without default',
      () => registerEstimator(map({options: z.object({power: z.number()})})),
      /options\.power: expected a default/,
      /\.default/,
    ],
    [
      'decoding without decoder',
      () =>
        registerEstimator({
          ...exact('undecoded'),
          supports: {bidirectional: true, causal: true, cross: true, decode: true, keyMask: true},
        }),
      /decoder: expected a function, as supports.decode is true/,
    ],
    [
      'unstated forms',
      () => registerEstimator({...exact('formless'), supports: {bidirectional: true} as never}),
      /supports: expected true or false for each .* got causal: none/,
    ],
    [
      'an estimator without attend',
      () => registerEstimator({...exact('idle'), attend: undefined} as never),
      /attend: expected a function, got none/,
    ],
  ]

  it.each(refusals)('%s', (_title, call, message, remedy) => {
    const error = thrown(call)
    expect(error.code).toBe('BAD_PLUGIN')
    expect(error.message).toMatch(message)
    if (remedy) expect(error.suggestions.join('\n')).toMatch(remedy)
  })
})

describe('what phi gives is refused where it is', () => {
  const phi = (made: unknown) => ({phi: () => made})
  const gives = (make: (x: tf.Tensor4D) => unknown) => phi(make)
  const refusals: [string, object, RfaError['code'], RegExp, RegExp?][] = [
    [
      'nothing',
      phi(undefined),
      'BAD_PLUGIN',
      /phi: expected a function of tokens, a recipe.* got undefined/,
      /return/,
    ],
    ['a promise of a map', phi(Promise.resolve()), 'BAD_PLUGIN', /got a promise/, /without async/],
    ['a tensor', {phi: () => tf.ones([1])}, 'BAD_PLUGIN', /got a tensor \[1\]/, /tokens => /],
    [
      'an unknown recipe',
      phi({kind: 'cosine'}),
      'UNKNOWN_NAME',
      /phi: recipe.kind: expected one of the kinds explicit/,
    ],
    [
      'one side',
      phi({query: 3, key: (x: tf.Tensor4D) => x}),
      'BAD_PLUGIN',
      /phi\.query: expected a function of tokens.* got 3/,
    ],
    [
      'no features',
      gives(() => undefined),
      'BAD_PLUGIN',
      /phi: expected a tensor \[2, 3, 5, 7\], got undefined/,
      /return missing/,
    ],
    ['features to come', gives(async x => x), 'BAD_PLUGIN', /got a promise/],
    ['numbers', gives(() => [1, 2]), 'BAD_PLUGIN', /got \[1, 2\]/],
    [
      'too many features',
      gives(x => tf.concat([x, x], 3)),
      'SHAPE_MISMATCH',
      /phi: expected a tensor \[B, H, n, F\] = \[2, 3, 5, 7\], got \[2, 3, 5, 14\]/,
      /featureDim give 14/,
    ],
    ['features of no head', gives(x => tf.sum(x, 1)), 'SHAPE_MISMATCH', /got \[2, 5, 7\]/],
    [
      'integers',
      gives(x => tf.cast(x, 'int32')),
      'BAD_OPTION',
      /phi: expected a float32 tensor, got int32/,
    ],
    [
      'NaN',
      gives(x => tf.sqrt(x)),
      'NOT_FINITE',
      /phi: expected finite features, got NaN \(\d+ of 210 are not finite; the first is feature \d+ of token \d+, head \d+/,
      /roots of what can be negative/,
    ],
    ['infinite features', gives(x => tf.exp(tf.mul(x, 1000))), 'NOT_FINITE', /got Infinity/],
    [
      'NaN logarithms',
      phi({logarithms: (x: tf.Tensor4D) => tf.log(x), bridges: () => tf.ones([7, 7])}),
      'NOT_FINITE',
      /phi\.logarithms: expected finite features, got NaN/,
    ],
    [
      'weights of too few keys',
      phi({
        query: (x: tf.Tensor4D) => x,
        key: (x: tf.Tensor4D) => x,
        keyLogWeight: () => tf.ones([2, 3]),
      }),
      'SHAPE_MISMATCH',
      /keyLogWeight: expected a tensor \[B, H, n\] = \[2, 3, 5\], got \[2, 3\]/,
    ],
    [
      'a scale that is missing',
      phi({query: (x: tf.Tensor4D) => x, key: {scaled: (x: tf.Tensor4D) => ({features: x})}}),
      'BAD_PLUGIN',
      /phi\.key logScale: expected a tensor \[2, 3, 5\], got undefined/,
    ],
  ]

  it.each(refusals)('%s', (_title, changes, code, message, remedy) => {
    const method = registerEstimator(map(changes))
    const error = thrown(() => attend(method, {causal: true}))
    expect(error).toMatchObject({code})
    expect(error.message).toMatch(/^map-\d+: /)
    expect(error.message).not.toMatch(/attend/)
    expect(error.message).toMatch(message)
    if (remedy) expect(error.suggestions.join('\n')).toMatch(remedy)
  })

  it('but NaN only of tokens that are numbers, and once for each measurement', () => {
    let broken = false
    const method = registerEstimator(
      map({phi: () => (x: tf.Tensor4D) => (broken ? tf.sqrt(tf.neg(tf.square(x))) : tf.relu(x))}),
    )
    const [query, key, value] = [random(headDim, 1), random(headDim, 2), random(valueDim, 3)]
    const call = {method} as never
    expect(() => attention(tf.mul(query, NaN), key, value, call)).not.toThrow()
    broken = true
    expect(() => attendTensors(query, key, value, call)).not.toThrow()
    lookAgain()
    expect(thrown(() => attendTensors(query, key, value, call))).toMatchObject({code: 'NOT_FINITE'})
  })
})

describe('what an estimator throws', () => {
  const at = /\(\/.*register\.test\.ts:\d+:\d+\)$/

  it('is reported with its name, the part and the line of its author', () => {
    const method = registerEstimator(
      map({
        phi: () => () => {
          throw new TypeError('no such thing')
        },
      }),
    )
    const error = thrown(() => attend(method))
    expect(error.code).toBe('PLUGIN_FAILED')
    expect(error.message).toMatch(/^map-\d+: phi threw TypeError: no such thing \(/)
    expect(error.message).toMatch(at)
    expect(error.cause).toBeInstanceOf(TypeError)
  })

  it('in TensorFlow.js is reported with the line of its author, too', () => {
    const method = registerEstimator(
      map({phi: () => (x: tf.Tensor4D) => tf.matMul(x, tf.ones([3, 3]))}),
    )
    const error = thrown(() => attend(method))
    expect(error.message).toMatch(/^map-\d+: phi threw Error in matMul: inner shapes/)
    expect(error.message).toMatch(at)
  })

  it('in another part is reported with that', () => {
    const broken = () => {
      throw new Error('not today')
    }
    const method = registerEstimator({
      ...exact('broken-parts'),
      attend: broken,
      cost: broken,
      kernel: {moments: broken},
    } as never)
    expect(thrown(() => attend(method)).message).toMatch(/^broken-parts: attend threw not today \(/)
  })

  it('as an error of this package keeps its code and remedies', () => {
    const method = registerEstimator({
      ...exact('nested'),
      attend: ({query, key}) => ({
        out: attention(query, key, tf.ones([1, 1, 1, 1]), {method: 'softmax'}),
      }),
    })
    const error = thrown(() => attend(method))
    expect(error.code).toBe('SHAPE_MISMATCH')
    expect(error.message).toMatch(/^nested: attend: attention: expected query/)
    expect(error.message).toMatch(at)
  })

  it('or an output of another shape is refused', () => {
    const method = registerEstimator({
      ...exact('short'),
      attend: ({value}) => ({out: tf.slice(value, 0, [1, -1, -1, -1])}),
    })
    expect(thrown(() => attend(method))).toMatchObject({
      code: 'SHAPE_MISMATCH',
      message: 'short: attend: expected out [2, 3, 5, 11], got [1, 3, 5, 11]',
    })
    const bare = registerEstimator({...exact('unwrapped'), attend: ({value}) => value as never})
    expect(thrown(() => attend(bare)).message).toMatch(
      /expected \{out: \[2, 3, 5, 11\]\}, got a tensor/,
    )
  })
})
