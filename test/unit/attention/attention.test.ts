import * as tf from '@tensorflow/tfjs-core'
import {afterEach, beforeAll, beforeEach, describe, expect, it} from 'vitest'
import {attend} from '../../../src/attention/attention.js'
import {attention, decoder} from '../../../src/attention/index.js'
import {useBackend} from '../../../src/backends/index.js'
import type {RfaError} from '../../../src/errors.js'
import {thrown} from '../../helpers/thrown.js'

beforeAll(() => useBackend('cpu'))
beforeEach(() => tf.engine().startScope())
afterEach(() => tf.engine().endScope())

const SHAPE = [1, 2, 3, 4] as const

type Asked = Parameters<typeof attend>[3]

function ones(...shape: number[]): tf.Tensor4D {
  return tf.fill<tf.Rank>(shape as number[] as tf.ShapeMap[tf.Rank], 1) as tf.Tensor4D
}

/** What a call on tensors of these shapes throws. */
function errorOf(
  options: Asked,
  query: readonly number[] = SHAPE,
  key = query,
  value = key,
): RfaError {
  return thrown(() => attend(ones(...query), ones(...key), ones(...value), options))
}

describe('attention', () => {
  it.each([
    ['another batch of keys', SHAPE, [2, 2, 3, 4], [2, 2, 3, 4]],
    ['another batch of values', SHAPE, SHAPE, [2, 2, 3, 4]],
    ['other heads of keys', SHAPE, [1, 3, 3, 4], [1, 3, 3, 4]],
    ['other heads of values', SHAPE, SHAPE, [1, 3, 3, 4]],
    ['another head dimension', SHAPE, [1, 2, 3, 5], SHAPE],
    ['another number of values', SHAPE, SHAPE, [1, 2, 5, 4]],
    ['a missing axis', [3, 4], SHAPE, SHAPE],
    ['an empty axis', [1, 2, 0, 4], SHAPE, SHAPE],
  ] as const)('refuses %s and prints the three shapes', (_title, query, key, value) => {
    const {code, message} = errorOf({method: 'softmax'}, query, key, value)
    expect(code).toBe('SHAPE_MISMATCH')
    expect(message).toBe(
      'attention: expected query [B, H, L, D], key [B, H, S, D] and value [B, H, S, Dv], none empty, ' +
        `got query [${query.join(', ')}], key [${key.join(', ')}], value [${value.join(', ')}]`,
    )
  })

  it('guesses the method that was meant', () => {
    const {code, message, suggestions} = errorOf({method: 'softmx'})
    expect(code).toBe('UNKNOWN_NAME')
    expect(message).toMatch(
      /^method: expected one of the methods softmax, .* and \d+ more, got "softmx"$/,
    )
    expect(suggestions).toEqual(['did you mean softmax?', 'rfa methods lists all'])
  })

  it('takes no name from the prototype of an object for a method', () => {
    expect(errorOf({method: 'toString'})).toMatchObject({code: 'UNKNOWN_NAME'})
  })

  it('guesses the option that was meant', () => {
    const {code, message, suggestions} = errorOf({method: 'rfa', tao: 1})
    expect(code).toBe('UNKNOWN_NAME')
    expect(message).toMatch(/^rfa: expected one of the options tau, .*, got "tao"$/)
    expect(suggestions).toEqual(['did you mean tau?'])
  })

  it('says when a method has no options at all', () => {
    const {code, message} = errorOf({method: 'softmax', tau: 1})
    expect([code, message]).toEqual(['UNKNOWN_NAME', 'softmax: expected no options, got "tau"'])
  })

  it.each([
    [{method: 'rfa', tau: -1}, 'rfa.tau', '-1'],
    [{method: 'rfa', tau: 'warm'}, 'rfa.tau', '"warm"'],
    [{method: 'rfa', denGuard: 'clip:1'}, 'rfa.denGuard', '"clip:1"'],
    [{method: 'favor-pos', stabilizer: 'best'}, 'favor-pos.stabilizer', '"best"'],
    [{method: 'favor-pos', featureEpsilon: -1}, 'favor-pos.featureEpsilon', '-1'],
  ] as const)('refuses %o: names the option and the value', (options, where, got) => {
    const {code, message, suggestions} = errorOf(options)
    expect(code).toBe('BAD_OPTION')
    expect(message.startsWith(`${where}: expected `)).toBe(true)
    expect(message.endsWith(`, got ${got}`)).toBe(true)
    expect(suggestions).toEqual([`see rfa methods ${options.method}`])
  })

  it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])('refuses the scale %d', scale => {
    expect(errorOf({method: 'softmax', scale})).toMatchObject({
      code: 'BAD_OPTION',
      message: `scale: expected a positive number, got ${scale}`,
    })
  })

  it.each([0, -3, 1.5, Number.NaN])('refuses %d features', numFeatures => {
    expect(errorOf({method: 'rfa', numFeatures})).toMatchObject({
      code: 'BAD_OPTION',
      message: `numFeatures: expected a whole number of at least 1, got ${numFeatures}`,
    })
  })

  it.each([
    [{method: 'rfa', numFeatures: 2 ** 24 + 1}, 'numFeatures', 'at most 16777216'],
    [{method: 'eva', window: 1e7}, 'eva.window', 'a number of at most 1048576'],
    [{method: 'eva', chunkSize: 1e8}, 'eva.chunkSize', 'a number of at most 1048576'],
    [{method: 'dpfp', nu: 1e9}, 'dpfp.nu', 'a number of at most 1024'],
    [{method: 'reformer', rounds: 1e6}, 'reformer.rounds', 'a number of at most 64'],
    [{method: 'reformer', buckets: 1e8}, 'reformer.buckets', 'a number of at most 65536'],
    [{method: 'nystrom', iterations: 1e9}, 'nystrom.iterations', 'a number of at most 1000'],
    [{method: 'linformer', numFeatures: 1e8}, 'numFeatures', 'at most 16777216'],
    [{method: 'hrf', signFeatures: 1e6}, 'hrf.signFeatures', 'a number of at most 1024'],
    [{method: 'ra', samples: 1e6}, 'ra.samples', 'a number of at most 4096'],
    [{method: 'lara', gridWidth: 1e9}, 'lara.gridWidth', 'a number of at most 1048576'],
  ] as const)('refuses %o, which would never end', (options, where, what) => {
    const got = Object.values(options).at(-1)
    expect(errorOf(options)).toMatchObject({
      code: 'BAD_OPTION',
      message: `${where}: expected ${what}, got ${got}`,
    })
  })

  it.each(['method', 'preset', 'projection', 'orthSign'])('refuses null for %s', name => {
    const {code, message} = errorOf({method: 'rfa', [name]: null})
    expect(['UNKNOWN_NAME', 'BAD_OPTION']).toContain(code)
    expect(message).toMatch(/: expected .*, got null$/)
  })

  it.each(['seed', 'replicate'])('refuses a %s that is not a whole number of at least 0', name => {
    for (const value of [-1, 0.5, 2 ** 60, Number.NaN]) {
      expect(errorOf({method: 'rfa', [name]: value})).toMatchObject({
        code: 'BAD_OPTION',
        message: `${name}: expected a whole number of at least 0, got ${value}`,
      })
    }
  })

  it('distinguishes an unknown preset from one that the method does not have', () => {
    const unknown = {method: 'rfa', preset: 'noah'} as unknown as Asked
    expect(errorOf(unknown)).toMatchObject({code: 'UNKNOWN_NAME'})
    expect(errorOf({method: 'rfa', preset: 'hku'})).toMatchObject({
      code: 'UNSUPPORTED',
      message: 'rfa: expected a preset of exact, noahs-ark, got "hku"',
    })
  })

  it('refuses an unknown projection', () => {
    const options = {method: 'rfa', projection: 'orht'} as unknown as Asked
    expect(errorOf(options)).toMatchObject({
      code: 'UNKNOWN_NAME',
      suggestions: ['did you mean orth?', 'rfa methods --projections lists all'],
    })
  })

  it.each([[[5, 3]], [[3, 5, 4]], [[4]]])('refuses a projection of shape %o', shape => {
    const error = errorOf({method: 'rfa', projection: ones(...shape) as tf.Tensor as tf.Tensor2D})
    expect(error).toMatchObject({
      code: 'SHAPE_MISMATCH',
      message: `projection: expected [M, 4] or [2, M, 4], got [${shape.join(', ')}]`,
    })
  })

  it('refuses a key mask of another shape', () => {
    const error = errorOf({method: 'softmax', keyMask: tf.ones([1, 4])})
    expect([error.code, error.message]).toEqual([
      'SHAPE_MISMATCH',
      'keyMask: expected [1, 3], got [1, 4]',
    ])
  })

  it('refuses masked queries of causal calls whose keys count, where a method has statistics', () => {
    const queryMask = tf.tensor2d([[1, 0, 1]])
    const run = (options: Asked) =>
      attend(ones(...SHAPE), ones(...SHAPE), ones(...SHAPE), {numFeatures: 8, ...options})
    for (const method of ['oprf', 'saderf', 'reformer']) {
      expect(errorOf({method, causal: true, queryMask}).code).toBe('UNSUPPORTED')
      expect(() => run({method, causal: true, queryMask, keyMask: queryMask})).not.toThrow()
    }
    expect(errorOf({method: 'reformer', queryMask}).message).toMatch(
      /the same number of queries and keys/,
    )
    expect(() => run({method: 'oprf', queryMask})).not.toThrow()
    expect(() => run({method: 'elu', causal: true, queryMask})).not.toThrow()
  })

  it.each([
    [{}, [1, 2, 5, 4], 'identity: has no form for unequal numbers of queries and keys'],
    [{keyMask: [1, 3]}, SHAPE, 'identity: has no form with a key mask'],
    [{gate: [1, 2, 3]}, SHAPE, 'identity: has no gate'],
  ] as const)('says which form a method lacks: %o', (asked, key, message) => {
    const tensors = Object.entries(asked).map(([name, shape]) => [name, ones(...shape)])
    const error = errorOf({method: 'identity', ...Object.fromEntries(tensors)}, SHAPE, key)
    expect([error.code, error.message]).toEqual(['UNSUPPORTED', message])
  })

  it('ignores the number of features where there are none', () => {
    tf.tidy(() => {
      const x = ones(...SHAPE)
      expect(attention(x, x, x, {method: 'softmax', numFeatures: 7}).shape).toEqual(SHAPE)
    })
  })
})

describe('decoder', () => {
  const sizes = {heads: 1, headDim: 3, valueDim: 2}

  it.each([
    [{method: 'identity'}, 'identity: has no recurrent form to decode with'],
    [
      {method: 'favor-pos', preset: 'performer-pytorch'},
      'favor-pos: expected stabilizer "log" for decoding, got "max": its maximum over keys needs the whole sequence',
    ],
    [
      {method: 'favor-hyp', preset: 'fast-transformers'},
      'favor-hyp: expected stabilizer "log" for decoding, got "none"',
    ],
    [
      {method: 'favor-trig', preset: 'hku'},
      'favor-trig: expected norms "log" or "none" for decoding, got "max": its shift needs the whole sequence',
    ],
  ] as const)('refuses %o', (asked, message) => {
    const {code, message: got} = thrown(() => decoder({...asked, ...sizes}))
    expect([code, got]).toEqual(['UNSUPPORTED', message])
  })

  it.each(['batch', 'heads', 'headDim', 'valueDim', 'capacity'])(
    'refuses a %s that is not a size',
    name => {
      for (const size of [0, -1, 1.5]) {
        const {code, message} = thrown(() => decoder({method: 'softmax', ...sizes, [name]: size}))
        expect(code).toBe('BAD_OPTION')
        expect(message).toBe(`${name}: expected a whole number of at least 1, got ${size}`)
      }
    },
  )

  it('checks options as attention does', () => {
    expect(thrown(() => decoder({method: 'rfa', ...sizes, tau: -1}))).toMatchObject({
      code: 'BAD_OPTION',
    })
  })

  it('grows its cache by one key and one value per token, and keeps sums at one size', () => {
    const bytes = (method: 'softmax' | 'elu') => {
      const step = decoder({method, ...sizes})
      const after = [step.stateBytes]
      tf.tidy(() => {
        for (let t = 0; t < 2; t++) {
          step.next(ones(1, 1, 1, 3), ones(1, 1, 1, 3), ones(1, 1, 1, 2))
          after.push(step.stateBytes)
        }
      })
      step.dispose()
      return after
    }
    expect(bytes('softmax')).toEqual([0, 4 * (3 + 2), 4 * 2 * (3 + 2)])
    expect(bytes('elu')).toEqual(new Array(3).fill(4 * 3 * (2 + 1)))
  })
})
