import * as tf from '@tensorflow/tfjs-core'
import {expect, it} from 'vitest'
import {loadEstimators, recordOperations} from '../../src/attention/index.js'
import {sampleKeys, segmentMeans} from '../../src/attention/kernels/index.js'
import {optimalMixture} from '../../src/attention/kernels/optimal-mixture.js'
import {useBackend} from '../../src/backends/index.js'
import {
  compute,
  hostNormals,
  maskTensor,
  type Sizes,
  SMALL,
  scatteredMask,
  toTensor,
} from '../helpers/arrays.js'
import {type EstimatorCase, runCase, twinOfCase} from '../helpers/estimator-case.js'
import {assertWithin, gamma} from '../helpers/rounding.js'
import {describeNative, describeOnEachIsa} from './addon.js'
import {guarded} from './guards.js'

await loadEstimators()

/** Lengths around groups of 32 keys and blocks of 256. */
const LENGTHS = [1, 31, 32, 33, 64, 255, 256, 257, 289, 700]

describeNative('fused sampling', addon => {
  describeOnEachIsa(addon, () => {
    it.each(LENGTHS)('draws the keys that the composite draws, of %i', async keyLen => {
      const [batch, heads, queryLen, headDim, draws] = [2, 1, 67, 5, 3]
      const shape = [batch, heads, queryLen, headDim] as const
      const query = hostNormals('query', shape)
      const plain = hostNormals('key', [batch, heads, keyLen, headDim])
      // largest logits rise from block to block
      const block = (i: number) => Math.floor((Math.floor(i / headDim) % keyLen) / 256)
      const key = {...plain, data: plain.data.map((x, i) => x * (1 + 2 * block(i)))}
      const normal = hostNormals('uniform', [batch, heads, queryLen, draws])
      const uniform = {...normal, data: normal.data.map(x => Math.abs(x) % 1)}
      const mask = scatteredMask({batch, keyLen})
      const run = (causal: boolean, masked: boolean) =>
        compute(() => {
          const keyMask = masked ? maskTensor(mask, batch) : undefined
          const tensors = [toTensor(query), toTensor(key), toTensor(uniform)] as const
          const {index, keys} = sampleKeys(...tensors, {scale: 0.7, causal, keyMask})
          return [index, keys]
        }) as [Float32Array, Float32Array]
      for (const causal of [false, true]) {
        for (const masked of [false, true]) {
          await useBackend('cpu')
          const [judge] = run(causal, masked)
          await useBackend('native')
          const {result, operations} = recordOperations(() => guarded(() => run(causal, masked)))
          expect(operations).toEqual({SampleKeys: 'fused'})
          const [index, keys] = result
          // rounding may decide ties otherwise: a few in a thousand at these lengths
          const other = index.filter((drawn, at) => drawn !== judge[at]).length
          expect(other).toBeLessThanOrEqual(0.01 * index.length)
          index.forEach((drawn, at) => {
            const head = Math.floor(at / (queryLen * draws))
            const from = (head * keyLen + drawn) * headDim
            const row = keys.subarray(at * headDim, (at + 1) * headDim)
            expect(row).toEqual(key.data.subarray(from, from + headDim))
          })
        }
      }
    })

    it('gives the same draws whatever the number of threads', () => {
      const query = hostNormals('query', [1, 2, 300, 16])
      const key = hostNormals('key', [1, 2, 500, 16])
      const uniform = hostNormals('uniform', [1, 2, 300, 1])
      const run = () =>
        compute(() => {
          const u = tf.abs(tf.tanh(toTensor(uniform))) as tf.Tensor4D
          const {index, keys} = sampleKeys(toTensor(query), toTensor(key), u)
          return [index, keys]
        })
      const threads = addon.threads()
      addon.setThreads(1)
      const alone = run()
      addon.setThreads(3)
      expect(run()).toEqual(alone)
      addon.setThreads(threads)
    })

    it('takes means of segments of any lengths', () => {
      const starts = [0, 1, 3, 3 + 17, 3 + 17 + 16]
      for (const columns of [1, 4, 15, 16, 17, 64, 65]) {
        const x = hostNormals('x', [2, 3, 36, columns])
        const out = guarded(() => compute(() => segmentMeans(toTensor(x), starts)))
        const expected = new Float64Array(out.length)
        const bound = new Float64Array(out.length)
        expected.forEach((_, at) => {
          const [plane, segment] = [Math.floor(at / (4 * columns)), Math.floor(at / columns) % 4]
          const [first, end] = [starts[segment]!, starts[segment + 1]!]
          for (let row = first; row < end; row++) {
            const term = x.data[(plane * 36 + row) * columns + (at % columns)]! / (end - first)
            expected[at]! += term
            bound[at]! += gamma(end - first + 2) * Math.abs(term)
          }
        })
        assertWithin(`${columns} columns`, out, expected, bound)
      }
    })

    it.each([1, 7, 17, 33])('mixes %i proposals as the composite does', async count => {
      const [headDim, floor] = [5, 0.125]
      const arrays = {
        query: hostNormals('q', [2, 3, 13, headDim]),
        vectors: hostNormals('w', [2, 3, count, headDim]),
        values: hostNormals('v', [2, 3, count, 7]),
        affinity: hostNormals('t', [2, 3, count, 13]),
      }
      const body = () => {
        const bias = tf.zeros<tf.Rank.R3>([2, 3, count])
        // some do not exist
        const exists = Array.from({length: 2 * count}, (_, c) => Number((c % count) % 3 !== 1))
        const present = tf.tensor2d(exists, [2, count])
        const [vectors, values, affinity] = [arrays.vectors, arrays.values, arrays.affinity].map(
          toTensor,
        ) as [tf.Tensor4D, tf.Tensor4D, tf.Tensor4D]
        const mixture = {vectors, values, affinity, bias, balance: bias, present}
        return optimalMixture(toTensor(arrays.query), mixture, {scale: 1, coefficient: 1, floor})
      }
      await useBackend('cpu')
      const judge = compute(body)
      await useBackend('native')
      const [q, w, v, t] = Object.values(arrays).map(({data}) => Math.max(...data.map(Math.abs)))
      // logits, corrections over the least weight, and sums, on both sides; a quotient doubles them
      const weight = gamma(headDim + 8) * headDim * q! * w! + (gamma(count + 8) * 2 * t!) / floor
      const bound = 4 * v! * (weight + gamma(2 * count + 4))
      assertWithin(
        'mixture',
        guarded(() => compute(body)),
        judge,
        new Float64Array(judge.length).fill(bound),
      )
    })

    const wide: Sizes = {...SMALL, batch: 2, heads: 1, queryLen: 97, keyLen: 61}
    const cases: EstimatorCase[] = [1, 7, 16, 33, 49].flatMap(numFeatures =>
      ['single', 'antithetic'].map(sampling => ({
        ...{method: 'lara', sizes: {...wide, numFeatures}, options: {sampling}},
        masked: numFeatures % 2 === 0,
      })),
    )
    it.each(cases)('reads a corrected mixture within rounding: %o', given => {
      const {value, error} = twinOfCase(given).out
      const {result, operations} = recordOperations(() => guarded(() => runCase(given).out))
      expect(operations).toMatchObject({OptimalMixture: 'fused'})
      assertWithin('lara', result, value, error)
    })
  })
})
