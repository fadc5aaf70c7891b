import * as tf from '@tensorflow/tfjs-core'
import {expect, it} from 'vitest'
import {featureDecoder} from '../../src/attention/forms/decoders/features.js'
import type {TokenMap} from '../../src/attention/forms/decoders/tokens.js'
import {decoder, loadEstimators, recordOperations} from '../../src/attention/index.js'
import {fusedStep} from '../../src/attention/kernels/dispatch.js'
import {NO_GUARD} from '../../src/attention/kernels/guard.js'
import {estimatorNamed} from '../../src/attention/resolve.js'
import {useBackend} from '../../src/backends/index.js'
import {compute, hostInputs, hostNormals, type Sizes, SMALL, toTensor} from '../helpers/arrays.js'
import {decodeAll, decoderFor, token} from '../helpers/decode.js'
import {
  CASE_SEED,
  type EstimatorCase,
  hostCase,
  toProjection,
  twinOfCase,
} from '../helpers/estimator-case.js'
import {methodsWhere} from '../helpers/methods.js'
import {assertWithin, gamma} from '../helpers/rounding.js'
import {describeNative, describeOnEachIsa} from './addon.js'
import {guarded} from './guards.js'

await loadEstimators()

// longer than the first capacity of a cache, and twice that
const SHAPES: Sizes[] = [
  {...SMALL, batch: 1, queryLen: 131, keyLen: 131},
  {...SMALL, queryLen: 5, keyLen: 5, headDim: 17, valueDim: 33, numFeatures: 1},
  {
    ...SMALL,
    ...{batch: 1, heads: 1, queryLen: 7, keyLen: 7, headDim: 64, valueDim: 65, numFeatures: 67},
  },
]

function makeDecoder(given: EstimatorCase, projection: tf.Tensor2D | tf.Tensor3D | undefined) {
  const {batch, heads, headDim, valueDim, numFeatures} = given.sizes
  const sizes = {batch, heads, headDim, valueDim, numFeatures}
  const {method, options} = given
  const asked = {method, ...sizes, seed: CASE_SEED, ...(projection && {projection}), ...options}
  return decoderFor(asked, hostCase(given).inputs)
}

/** A decoder of three heads, ready for a token of D 5, Dv 7. */
function threeHeads(method: EstimatorCase['method']) {
  const sizes = {heads: 3, headDim: 5, valueDim: 7, numFeatures: 11}
  return decoderFor({method, ...sizes}, hostInputs({...SMALL, batch: 1}))
}

/** Recurrent forms that this backend has steps for; others run as they are defined. */
const STEPS = ['LinearDecode', 'LogFeatureDecode', 'CacheDecode']

describeNative('decode steps', addon => {
  describeOnEachIsa(addon, () => {
    /** Holds a decoder to the definition; returns the forms of its steps. */
    function checkDecoder(name: string, given: EstimatorCase): [string, string][] {
      const {inputs, projection} = hostCase(given)
      const {out} = twinOfCase(given)
      const rows = projection && toProjection(projection, given.sizes.headDim)
      const {result, operations} = recordOperations(() => {
        const step = makeDecoder(given, rows)
        const decoded = guarded(() => decodeAll(step, inputs))
        step.dispose()
        return decoded.out
      })
      rows?.dispose()
      assertWithin(name, result, out.value, out.error)
      return Object.entries(operations).filter(([operation]) => operation.endsWith('Decode'))
    }

    it.each(methodsWhere(({supports}) => supports.decode))(
      'of %s are within rounding of the causal form',
      method => {
        for (const [index, sizes] of SHAPES.entries()) {
          const given = {method, sizes, causal: true, sharedProjection: index === 1}
          const forms = checkDecoder(`${method} ${index}`, given)
          expect(forms).not.toHaveLength(0)
          for (const [name, form] of forms) if (STEPS.includes(name)) expect(form).toBe('fused')
        }
      },
    )

    it('over a cache of several blocks', () => {
      const sizes = {...SMALL, batch: 1, queryLen: 587, keyLen: 587}
      checkDecoder('softmax', {method: 'softmax', sizes, causal: true, inputScale: 2})
    })

    it.each(['favor-pos', 'favor-hyp'] as const)('of %s with features far below 1', method => {
      // norms of about 30: logarithms of a key's features are some -400
      const sizes = {...SMALL, batch: 1, queryLen: 13, keyLen: 13, headDim: 43}
      checkDecoder(method, {method, sizes, causal: true, inputScale: 12})
    })

    it('with features that only a function makes, and an epsilon on the sums', () => {
      const options = {featureEpsilon: 1e-3, normalizerEpsilon: 1e-6}
      const given: EstimatorCase = {method: 'favor-relu', options, sizes: SHAPES[0]!, causal: true}
      checkDecoder('favor-relu', given)
    })
  })

  it('with a gate are those of the definition', async () => {
    const gates = hostNormals('gates', [2, 3, 13, 1]).data.map(x => 1 / (1 + Math.exp(-x)))
    const run = () => {
      const positive: TokenMap = x => tf.add(tf.abs(x), 0.1)
      const sizes = {batch: 2, heads: 3, headDim: 5, valueDim: 7}
      const step = featureDecoder(sizes, 5, {query: positive, key: positive}, {guard: NO_GUARD})
      const inputs = hostInputs({...SMALL, keyLen: 13})
      const out = compute(() => {
        const [query, key, value] = [inputs.query, inputs.key, inputs.value].map(toTensor)
        const tokens = Array.from({length: 13}, (_, t) => {
          const gate = tf.tensor3d(
            Float32Array.from({length: 6}, (_, head) => gates[head * 13 + t]!),
            [2, 3, 1],
          )
          return step.next(token(query!, t), token(key!, t), token(value!, t), gate)
        })
        return tf.concat(tokens, 2)
      })
      step.dispose()
      return out
    }
    await useBackend('cpu')
    const judge = run()
    await useBackend('native')
    const actual = run()
    // positive weights: each is off by a rounding per step and feature, on either side
    const largest = Math.max(...hostInputs({...SMALL, keyLen: 13}).value.data.map(Math.abs))
    const bound = 2 * 2 * gamma(3 * 13 + 5 + 4) * largest
    assertWithin(
      'gate',
      actual,
      judge,
      judge.map(() => bound),
    )
  })

  it('with features of two kinds are those of the definition', async () => {
    const run = () => {
      const sizes = {batch: 2, heads: 3, headDim: 5, valueDim: 7}
      const doubled: TokenMap = {kind: 'explicit', featureScale: 2}
      const maps = {query: {kind: 'elu-plus-one'} as const, key: doubled}
      const step = featureDecoder(sizes, 5, maps, {guard: NO_GUARD})
      const inputs = hostInputs({...SMALL, queryLen: 5, keyLen: 5})
      // positive keys keep every denominator away from zero
      const key = {...inputs.key, data: inputs.key.data.map(x => Math.abs(x) + 0.1)}
      const {out} = decodeAll(step, {...inputs, key})
      step.dispose()
      return out
    }
    await useBackend('cpu')
    const judge = run()
    await useBackend('native')
    const largest = Math.max(
      ...hostInputs({...SMALL, queryLen: 5, keyLen: 5}).value.data.map(Math.abs),
    )
    // positive weights: a rounding per step and feature and six of exp, on either side
    const bound = 2 * 2 * gamma(5 + 5 + 6 + 4) * largest
    assertWithin(
      'two kinds',
      run(),
      judge,
      judge.map(() => bound),
    )
  })

  it('keep their state in place: a token adds one tensor, its output', async () => {
    await useBackend('native')
    for (const method of methodsWhere(({supports}) => supports.decode)) {
      const steps = threeHeads(method)
      const row = (dim: number): tf.Tensor4D => tf.ones([1, 3, 1, dim])
      const tokens = [row(5), row(5), row(7)] as const
      steps.next(...tokens).dispose()
      const before = tf.memory().numTensors
      const outs = Array.from({length: 9}, () => steps.next(...tokens))
      expect(tf.memory().numTensors).toBe(before + 9)
      tf.dispose([...outs, ...tokens])
      const names = Object.keys(steps.state)
      expect(names.length).toBeGreaterThan(0)
      steps.dispose()
    }
  })

  it('keep their state at the start of a cache line', async () => {
    await useBackend('native')
    for (const method of methodsWhere(({supports}) => supports.decode)) {
      const steps = threeHeads(method)
      const row = (dim: number): tf.Tensor4D => tf.ones([1, 3, 1, dim])
      const tokens = [row(5), row(5), row(7)] as const
      const {result: out, operations} = recordOperations(() => steps.next(...tokens))
      const inPlace = operations.LinearDecode ?? operations.LogFeatureDecode
      for (const name of inPlace === 'fused' ? ['state', 'normalizer', 'top'] : []) {
        const sums = steps.state[name]
        if (sums) expect(addon.lineOffset(sums.dataSync<'float32'>())).toBe(0)
      }
      tf.dispose([out, ...tokens])
      steps.dispose()
    }
  })

  it('give every token an output of its own', async () => {
    await useBackend('native')
    // many to a block, eight to a block, and more than a block gives; the mean of 0..t is t / 2, rounded twice
    for (const valueDim of [7, 2048, 5000]) {
      const steps = decoder({method: 'mean-value', heads: 1, headDim: 5, valueDim})
      const token: tf.Tensor4D = tf.ones([1, 1, 1, 5])
      const outs = Array.from({length: 9}, (_, t) => {
        const value: tf.Tensor4D = tf.fill([1, 1, 1, valueDim], t)
        const out = steps.next(token, token, value)
        value.dispose()
        return out
      })
      outs.forEach((out, t) => {
        expect(out.dataSync().every(x => Math.abs(x - t / 2) <= 2 ** -23 * t)).toBe(true)
      })
      tf.dispose([...outs, token])
      steps.dispose()
    }
  })

  it('show the keys and values of the tokens so far', async () => {
    await useBackend('native')
    const step = decoder({method: 'softmax', heads: 3, headDim: 5, valueDim: 7})
    const inputs = hostInputs({...SMALL, batch: 1, queryLen: 131, keyLen: 131})
    const {states} = decodeAll(step, inputs, [3, 131])
    expect(states.get(131)!.key).toEqual(inputs.key.data)
    expect(states.get(131)!.value).toEqual(inputs.value.data)
    expect(states.get(3)!.key).toHaveLength(3 * 3 * 5)
    expect(step.stateBytes).toBe(3 * 131 * (5 + 7) * 4)
    step.dispose()
  })

  it('give the same bits whatever room their cache had from the start', async () => {
    await useBackend('native')
    const inputs = hostInputs({...SMALL, batch: 1, queryLen: 131, keyLen: 131})
    const outputs = [1, 7, 131, 1000, undefined].map(capacity => {
      const room = capacity === undefined ? {} : {capacity}
      const step = decoder({method: 'softmax', heads: 3, headDim: 5, valueDim: 7, ...room})
      expect(step.stateBytes).toBe(0)
      const {out} = decodeAll(step, inputs)
      expect(step.stateBytes).toBe(3 * 131 * (5 + 7) * 4)
      step.dispose()
      return out
    })
    for (const out of outputs) expect(out).toEqual(outputs[0])
  })

  it.each([
    [131, []],
    [undefined, ['Concat', 'Concat', 'Concat', 'Concat']], // keys and values, at 64 tokens and at 128
  ])(
    'with room for %s tokens copy their caches as often as they are full',
    async (room, copies) => {
      await useBackend('native')
      const capacity = room === undefined ? {} : {capacity: room}
      const step = decoder({method: 'softmax', heads: 1, headDim: 5, valueDim: 7, ...capacity})
      const [row, wide] = [tf.ones([1, 1, 1, 5]), tf.ones([1, 1, 1, 7])]
      const {kernels} = await tf.profile(() => {
        for (let t = 0; t < 131; t++) step.next(row, row, wide).dispose()
        return tf.scalar(0)
      })
      expect(kernels.map(({name}) => name).filter(name => name === 'Concat')).toEqual(copies)
      step.dispose()
      tf.dispose([row, wide])
    },
  )

  it('free all they hold', async () => {
    await useBackend('native')
    const before = tf.memory().numTensors
    for (const method of methodsWhere(({supports}) => supports.decode)) {
      const sizes = {heads: 2, headDim: 3, valueDim: 5, numFeatures: 7}
      const step = decoderFor({method, ...sizes}, hostInputs({...SMALL, batch: 1, ...sizes}))
      const token: tf.Tensor4D = tf.ones([1, 2, 1, 3])
      const value: tf.Tensor4D = tf.ones([1, 2, 1, 5])
      tf.dispose([step.next(token, token, value), token, value])
      expect(estimatorNamed(method).supports.decode).toBe(true)
      expect(Object.values(step.state).every(tensor => !tensor.isDisposed)).toBe(true)
      step.dispose()
    }
    expect(tf.memory().numTensors).toBe(before)
  })

  const explicit = {kind: 'explicit'}
  const sizes = {batch: 1, heads: 2, headDim: 3, valueDim: 5}
  const sums = {...sizes, featureDim: 3, query: explicit, key: explicit}
  const zeros = (...shape: number[]) => tf.zeros(shape)
  it.each([
    {
      kernel: 'LinearDecode',
      what: 'sums',
      attributes: {...sums, guard: NO_GUARD, normalizerEpsilon: 0},
      state: () => ({state: zeros(1, 2, 3, 4), normalizer: zeros(1, 2, 3)}),
      message: /decoder: expected state \[1, 2, 3, 5\], got \[1, 2, 3, 4\]/,
    },
    {
      kernel: 'LogFeatureDecode',
      what: 'maxima',
      attributes: sums,
      state: () => ({
        ...{state: zeros(2, 3, 5), normalizer: zeros(2, 3)},
        top: zeros(2, 2),
      }),
      message: /decoder: expected top \[1, 2, 3\], got \[2, 2\]/,
    },
    {
      kernel: 'CacheDecode',
      what: 'values',
      attributes: {...sizes, scale: 1, length: 0},
      state: () => ({keyCache: zeros(1, 2, 7, 3), valueCache: zeros(1, 2, 6, 5)}),
      message: /expected valueCache \[1, 2, 7, 5\], got \[1, 2, 6, 5\]/,
    },
    {
      kernel: 'CacheDecode',
      what: 'tokens',
      attributes: {...sizes, scale: 1, length: 7},
      state: () => ({keyCache: zeros(1, 2, 7, 3), valueCache: zeros(1, 2, 7, 5)}),
      message: /decoder: expected fewer than 7 tokens in the cache, got 7/,
    },
  ])(
    'refuse $what that the state of $kernel has no room for',
    async ({kernel, attributes, state, message}) => {
      await useBackend('native')
      const step = fusedStep(kernel)!
      tf.tidy(() => {
        const row = {query: zeros(1, 2, 1, 3), key: zeros(1, 2, 1, 3), value: zeros(1, 2, 1, 5)}
        expect(() => step({...row, ...state()}, attributes)).toThrow(message)
      })
    },
  )

  it('refuse a token of another shape and a gradient', async () => {
    await useBackend('native')
    const step = decoder({method: 'rfa', heads: 3, headDim: 5, valueDim: 7, numFeatures: 11})
    const row = (heads: number, dim: number): tf.Tensor4D => tf.ones([1, heads, 1, dim])
    tf.tidy(() => {
      expect(() => step.next(row(2, 5), row(3, 5), row(3, 7))).toThrow(
        /decoder: expected query \[1, 3, 1, 5\], got \[1, 2, 1, 5\]/,
      )
      const loss = (q: tf.Tensor) => tf.sum(step.next(q as tf.Tensor4D, row(3, 5), row(3, 7)))
      expect(() => tf.grad(loss)(row(3, 5))).toThrow(/expected no gradient to be recorded/)
    })
    step.dispose()
  })
})
