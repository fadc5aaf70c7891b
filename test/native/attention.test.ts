import * as tf from '@tensorflow/tfjs-core'
import '@tensorflow/tfjs-core/dist/register_all_gradients.js'
import {expect, it} from 'vitest'
import {
  attention,
  linearAttention,
  loadEstimators,
  METHOD_NAMES,
  recordOperations,
  softmaxAttention,
} from '../../src/attention/index.js'
import {featureMap, linearAttentionRatio} from '../../src/attention/kernels/index.js'
import {estimatorNamed} from '../../src/attention/resolve.js'
import {useBackend} from '../../src/backends/index.js'
import {
  compute,
  hostInputs,
  hostNormals,
  maskTensor,
  type Sizes,
  SMALL,
  toTensor,
  toTensors,
} from '../helpers/arrays.js'
import {type EstimatorCase, outputBound, runCase, twinOfCase} from '../helpers/estimator-case.js'
import {caseOf, formsOf} from '../helpers/methods.js'
import {addBounds, assertWithin, compare, gamma, U} from '../helpers/rounding.js'
import {PLAIN, TWINS} from '../helpers/twins/index.js'
import {describeNative, describeOnEachIsa} from './addon.js'
import {guarded} from './guards.js'

await loadEstimators()

const LONG: Sizes = {...SMALL, batch: 1, queryLen: 197, keyLen: 193}

/** Finite floats of all sizes and both signs. @param step - between their bits */
function everySize(step: number): Float32Array {
  const count = Math.floor(0x7f800000 / step)
  const bits = Uint32Array.from({length: 2 * count}, (_, i) => (i >> 1) * step + (i % 2) * 2 ** 31)
  return new Float32Array(bits.buffer)
}

/** One form of an operation on cpu and on native. */
async function onBoth(body: () => tf.Tensor[]) {
  await useBackend('cpu')
  const judge = compute(body)
  await useBackend('native')
  const {result, operations} = recordOperations(() => guarded(() => compute(body)))
  return {judge, actual: result, operations}
}

describeNative('fused attention', addon => {
  describeOnEachIsa(addon, () => {
    it('of logits in the thousands is exact softmax still', () => {
      // several blocks of keys: their largest logits lie far apart
      const sizes = {...LONG, keyLen: 593}
      const given: EstimatorCase = {method: 'softmax-online', sizes, scale: 1, inputScale: 40}
      const {value, error} = twinOfCase(given).out
      const logits = 40 * 40 * LONG.headDim
      expect(logits).toBeGreaterThan(4000)
      // at such logits a row's rounding bound may exceed 1; rows with a clear winner stay decidable
      const actual = guarded(() => runCase(given)).out
      expect(actual.every(Number.isFinite)).toBe(true)
      const winners = clearWinners(given)
      expect(winners.size).toBeGreaterThan(LONG.queryLen / 2)
      for (const [element, expectedValue] of winners) expect(actual[element]).toBe(expectedValue)
      expect(compare(actual, value, error).ok).toBe(true)
    })

    it('of far-apart keys in one chunk loses no weight to another maximum', () => {
      for (const method of ['favor-pos', 'favor-hyp'] as const) {
        // norms of about 13: log-features of one chunk span hundreds of nats
        const sizes = {...LONG, headDim: 43}
        const given: EstimatorCase = {method, sizes, causal: true, inputScale: 5}
        const {value, error} = twinOfCase(given).out
        assertWithin(method, guarded(() => runCase(given)).out, value, error)
      }
    })

    it('of long sequences adds the sums of all parts of their keys', () => {
      const sizes = {...SMALL, batch: 1, heads: 1, queryLen: 11, keyLen: 8209, headDim: 5}
      const given: EstimatorCase = {method: 'elu', sizes}
      const {value, error} = twinOfCase(given).out
      assertWithin('four parts', guarded(() => runCase(given)).out, value, error)
    })

    it('has sines and cosines of angles of any size', () => {
      const angles = everySize(40009)
      angles.set([131071.99, 131072, 1e30])
      const [features] = guarded(() =>
        compute(() => [
          featureMap(
            tf.tensor4d(angles, [1, 1, angles.length, 1]),
            tf.ones([1, 1]),
            'trigonometric',
          ),
        ]),
      )
      const wanted = Float64Array.from(features!, (_, i) =>
        (i % 2 === 0 ? Math.sin : Math.cos)(angles[i >> 1]!),
      )
      assertWithin('features', features!, wanted, new Float64Array(wanted.length).fill(5 * U))
    })

    it('gives zero and -Infinity to rows whose keys are all masked', () => {
      const [first, second] = guarded(() =>
        compute(() => {
          const [query, key, value] = toTensors(hostInputs(SMALL))
          const mask = maskTensor(
            Float32Array.from({length: 2 * SMALL.keyLen}, (_, i) => (i < SMALL.keyLen ? 0 : 1)),
            2,
          )
          const {out, lse} = softmaxAttention(query, key, value, {keyMask: mask})
          return [out, lse]
        }),
      ) as [Float32Array, Float32Array]
      const half = first.length / 2
      expect(first.subarray(0, half).every(x => x === 0)).toBe(true)
      expect(first.subarray(half).every(x => x !== 0)).toBe(true)
      expect(second.subarray(0, second.length / 2).every(x => x === -Infinity)).toBe(true)
    })

    it.each([7, 64])('reads nothing of masked keys, with values of %i', valueDim => {
      const absent = (j: number) => j % 3 === 1
      const [keys, values] = [
        hostNormals('k', [2, 3, 71, 16]),
        hostNormals('v', [2, 3, 71, valueDim]),
      ]
      const query = hostNormals('q', [2, 3, 13, 16])
      const mask = Float32Array.from({length: 2 * 71}, (_, j) => (absent(j % 71) ? 0 : 1))
      const outputs = [0, Number.NaN].map(stray => {
        const given = [keys, values].map(({shape, data}) => {
          const isAbsent = (i: number) => absent(Math.floor(i / shape[3]!) % 71)
          return toTensor({shape, data: data.map((x, i) => (isAbsent(i) ? stray : x))})
        })
        return guarded(() =>
          compute(() => {
            const [q, [k, v], keyMask] = [toTensor(query), given, maskTensor(mask, 2)]
            const linear = linearAttention(tf.abs(q), tf.relu(k!) as tf.Tensor4D, v!, {keyMask})
            return [softmaxAttention(q, k!, v!, {keyMask}).out, linear.numerator]
          }),
        )
      })
      expect(outputs[1]).toEqual(outputs[0])
      expect(outputs[0]!.flatMap(out => [...out]).every(Number.isFinite)).toBe(true)
    })

    it.each(METHOD_NAMES.filter(name => estimatorNamed(name).supports.keyMask))(
      'of %s without any key is zero',
      method => {
        for (const {causal} of formsOf(method)) {
          const keyMask = new Float32Array(SMALL.batch * SMALL.keyLen)
          const given = caseOf(method, SMALL, {causal, keyMask})
          const {out} = guarded(() => runCase(given))
          expect(out.every(x => x === 0)).toBe(true)
        }
      },
    )

    it('adds a bias per key and gives the log-sum', () => {
      const {batch, heads, keyLen, headDim} = SMALL
      const inputs = hostInputs(SMALL)
      const bias = hostNormals('bias', [batch, heads, keyLen, 1])
      const [out, lse] = guarded(() =>
        compute(() => {
          const [query, key, value] = toTensors(inputs)
          const keyBias = tf.tensor3d(Float32Array.from(bias.data), [batch, heads, keyLen])
          const result = softmaxAttention(query, key, value, {keyBias, scale: 0.5})
          return [result.out, result.lse]
        }),
      ) as [Float32Array, Float32Array]
      // the twin knows no bias: it is one more dimension, in which every query is 1
      const twin = TWINS.softmax({
        ...PLAIN,
        query: widened(inputs.query, () => 1),
        key: widened(inputs.key, row => bias.data[row]! / 0.5),
        value: inputs.value,
        causal: false,
        logitScale: 0.5,
      })
      assertWithin(`bias, D ${headDim}`, out, twin.out.value, twin.out.error)
      const logits = logitsOf(inputs, bias.data)
      const sums = Float64Array.from(logits, row =>
        Math.log(row.reduce((a, x) => a + Math.exp(x), 0)),
      )
      // logits of a row are wrong by roundings of their terms, and so is the logarithm of their sum
      const size = (array: typeof inputs.query) => ({...array, data: array.data.map(Math.abs)})
      const sized = {...inputs, query: size(inputs.query), key: size(inputs.key)}
      const sizes = logitsOf(sized, bias.data.map(Math.abs))
      const bounds = sizes.map(row => gamma(headDim + keyLen + 16) * (1 + Math.max(...row)))
      assertWithin('log-sum', lse, sums, Float64Array.from(bounds))
    })

    it.each([false, true])('shares what has a leading axis of 1 (causal: %s)', async causal => {
      const {judge, actual} = await onBoth(() => {
        const [query, key, value] = toTensors(hostInputs(SMALL))
        const shared = tf.slice(query, [0, 0, 0, 0], [1, 1, SMALL.queryLen, SMALL.headDim])
        const headKeys = tf.slice(key, [0, 0, 0, 0], [1, SMALL.heads, SMALL.keyLen, SMALL.headDim])
        return [
          softmaxAttention(shared as tf.Tensor4D, key, value, {causal}).out,
          softmaxAttention(query, headKeys as tf.Tensor4D, value, {causal}).out,
        ]
      })
      // both are within the bound of the unshared call with the largest magnitudes
      const bound = outputBound({method: 'softmax-online', sizes: SMALL, scale: 1})
      const worst = new Float64Array(bound.length).fill(Math.max(...bound))
      judge.forEach((expected, i) => {
        assertWithin(`shared ${i}`, actual[i]!, expected, addBounds(worst, worst))
      })
    })

    it.each(['none', 'add:1e-2', 'clamp:0.5', 'abs-clamp:1', 'nudge:0.3'])(
      'divides under the guard %s as the definition does',
      async guard => {
        const features = hostNormals('guard.q', [2, 3, 13, 17])
        const keys = hostNormals('guard.k', [2, 3, 11, 17])
        const value = hostNormals('guard.v', [2, 3, 11, 7])
        for (const causal of [false, true]) {
          const {judge, actual} = await onBoth(() => {
            const result = linearAttentionRatio(
              toTensor(features),
              toTensor(keys),
              toTensor(value),
              guard,
              {causal},
            )
            return [result.out, result.denominator]
          })
          const sums = await onBoth(() => {
            const magnitudes = [features, keys, value].map(array => tf.abs(toTensor(array)))
            const [q, k, v] = magnitudes as [tf.Tensor4D, tf.Tensor4D, tf.Tensor4D]
            const {numerator, denominator} = linearAttention(q, k, v, {causal})
            return [numerator, denominator]
          })
          const {outBound, denominatorBound} = ratioBounds(judge, sums.judge, guard, 7)
          assertWithin(`${guard}: denominator`, actual[1]!, judge[1]!, denominatorBound)
          assertWithin(guard, actual[0]!, judge[0]!, outBound)
        }
      },
    )
  })

  it.each(METHOD_NAMES)('of %s has the same bits for any number of threads', async method => {
    const sizes: Sizes = {...SMALL, batch: 2, queryLen: 331, keyLen: 331, headDim: 11, valueDim: 13}
    for (const {causal} of formsOf(method)) {
      const results = []
      for (const threads of [1, 2, 3]) {
        await useBackend('native', {threads})
        expect(addon.threads()).toBe(threads)
        results.push(runCase({method, sizes, causal}).out)
      }
      expect(results[1]).toEqual(results[0])
      expect(results[2]).toEqual(results[0])
    }
    await useBackend('native')
  })

  it('says which operations ran fused, those with a gradient also while gradients are recorded', async () => {
    await useBackend('native')
    const {operations} = recordOperations(() => runCase({method: 'rfa', sizes: SMALL}))
    expect(operations).toEqual({LinearAttention: 'fused'})
    const gradient = recordOperations(() =>
      compute(() => {
        const [query, key, value] = toTensors(hostInputs({...SMALL, keyLen: SMALL.queryLen}))
        const loss = (q: tf.Tensor) =>
          tf.sum(attention(q as tf.Tensor4D, key, value, {method: 'rfa', numFeatures: 5}))
        return tf.grad(loss)(query)
      }),
    )
    const recorded = {LinearAttention: 'fused', LinearAttentionGradient: 'fused'}
    expect(gradient.operations).toEqual(recorded)
    expect(gradient.result.some(x => x !== 0)).toBe(true)
    expect(gradient.result.every(Number.isFinite)).toBe(true)
  })

  it('writes nothing for no queries and zero for no keys', () => {
    const empty = new Float32Array(0)
    const rows = (data: Float32Array, n: number, width: number) => ({
      data,
      batchStride: n * width,
      headStride: n * width,
      rowStride: width,
    })
    const out = new Float32Array(3 * 2).fill(Number.NaN)
    const lse = new Float32Array(3).fill(Number.NaN)
    addon.softmaxAttention({
      ...{batch: 1, heads: 1, queryLen: 3, keyLen: 0, headDim: 5, valueDim: 2},
      query: rows(new Float32Array(15), 3, 5),
      key: rows(empty, 0, 5),
      value: rows(empty, 0, 2),
      keyBias: undefined,
      keyMask: undefined,
      scale: 1,
      causal: false,
      out: rows(out, 3, 2),
      lse: {data: lse, batchStride: 3, headStride: 3},
    })
    expect([...out]).toEqual([0, 0, 0, 0, 0, 0])
    expect([...lse]).toEqual([-Infinity, -Infinity, -Infinity])
  })
})

/** Elements of rows whose largest weight is 1 in float32, with the value that is therefore exact. */
function clearWinners(given: EstimatorCase): Map<number, number> {
  const {queryLen, keyLen, headDim, valueDim, heads, batch} = given.sizes
  const {query, key, value} = hostInputs(given.sizes, given.inputScale)
  const found = new Map<number, number>()
  for (let row = 0; row < batch * heads * queryLen; row++) {
    const head = Math.floor(row / queryLen)
    const logits = Array.from({length: keyLen}, (_, j) => {
      let sum = 0
      for (let d = 0; d < headDim; d++) {
        sum += query.data[row * headDim + d]! * key.data[(head * keyLen + j) * headDim + d]!
      }
      return sum
    })
    const top = Math.max(...logits)
    const winner = logits.indexOf(top)
    // exp(-150) is zero in float32, and logits of this size are off by less than 1
    if (logits.some((x, j) => j !== winner && top - x < 150)) continue
    for (let d = 0; d < valueDim; d++) {
      found.set(row * valueDim + d, value.data[(head * keyLen + winner) * valueDim + d]!)
    }
  }
  return found
}

/** Half of all products of a row's query with keys and a bias, row by row. */
function logitsOf(
  {query, key}: ReturnType<typeof hostInputs>,
  bias: ArrayLike<number>,
): number[][] {
  const [batch, heads, queryLen, headDim] = query.shape
  const keyLen = key.shape[2]
  return Array.from({length: batch * heads * queryLen}, (_, row) => {
    const first = Math.floor(row / queryLen) * keyLen
    return Array.from({length: keyLen}, (_, j) => {
      const terms = Array.from(
        query.data.subarray(row * headDim, (row + 1) * headDim),
        (x, d) => x * key.data[(first + j) * headDim + d]!,
      )
      return terms.reduce((sum, x) => sum + x / 2, bias[first + j]!)
    })
  })
}

/** One more column, made from the row's number. */
function widened(array: ReturnType<typeof hostNormals>, last: (row: number) => number) {
  const [batch, heads, length, width] = array.shape
  const data = new Float64Array(batch * heads * length * (width + 1))
  for (let row = 0; row < batch * heads * length; row++) {
    data.set(array.data.subarray(row * width, (row + 1) * width), row * (width + 1))
    data[row * (width + 1) + width] = last(row)
  }
  return {shape: [batch, heads, length, width + 1] as const, data}
}

/**
 * Bounds on quotient and denominator, from summed magnitudes of numerator and denominator: each sum
 * is off by 64 u of them on either side (17 features, 11 keys, chunk and guard to spare), and a
 * quotient by the errors of both over the guarded denominator. Where the denominator's own error
 * could move a guard to its other side, nothing is decided.
 */
function ratioBounds(
  [out, denominator]: Float32Array[],
  [numeratorSum, denominatorSum]: Float32Array[],
  guard: string,
  valueDim: number,
) {
  const rounding = 2 * 64 * 2 ** -24
  const denominatorBound = denominatorSum!.map(m => rounding * m)
  const [policy, text] = guard.split(':')
  const edge = Number(text ?? 0)
  const outBound = Float64Array.from(out!, (value, i) => {
    const row = Math.floor(i / valueDim)
    const raw = denominator![row]!
    const error = denominatorBound[row]!
    const inGuard = policy === 'clamp' ? raw < edge : Math.abs(raw) <= edge
    const safe = {
      none: raw,
      add: raw + edge,
      clamp: Math.max(raw, edge),
      'abs-clamp': Math.max(Math.abs(raw), edge),
      nudge: inGuard ? raw + 2 * edge : raw,
    }[policy!]!
    const distance = policy === 'clamp' ? Math.abs(raw - edge) : Math.abs(Math.abs(raw) - edge)
    if (policy === 'nudge' && distance <= error) return Infinity
    const left = Math.abs(safe) - error
    if (left <= 0) return Infinity
    return (
      (rounding * numeratorSum![i]! + Math.abs(value) * (error + 4 * 2 ** -24 * Math.abs(safe))) /
      left
    )
  })
  return {outBound, denominatorBound}
}
