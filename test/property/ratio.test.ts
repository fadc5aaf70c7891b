import {beforeAll, describe, expect, it} from 'vitest'
import {attend} from '../../src/attention/attention.js'
import {attention, linearAttention, loadEstimators} from '../../src/attention/index.js'
import {useBackend} from '../../src/backends/index.js'
import {compute, hostInputs, hostNormals, SMALL, toTensor, toTensors} from '../helpers/arrays.js'

await loadEstimators()
beforeAll(() => useBackend('cpu'))

describe('the ratio', () => {
  it('does not change when all key features, or one query, are scaled by a power of two', () => {
    const query = hostNormals('q', [2, 3, 67, 5])
    const key = hostNormals('k', [2, 3, 67, 5])
    const value = hostNormals('v', [2, 3, 67, 7])
    const scaled = (array: typeof query, by: number) => ({
      ...array,
      data: array.data.map(x => x * by),
    })
    const ratio = (q: typeof query, k: typeof key) => {
      const [numerator, denominator] = compute(() => {
        const sums = linearAttention(toTensor(q), toTensor(k), toTensor(value), {causal: true})
        return [sums.numerator, sums.denominator]
      })
      return numerator!.map((x, at) => x / denominator![Math.floor(at / 7)]!)
    }
    const plain = ratio(query, key)
    expect(ratio(query, scaled(key, 1024))).toEqual(plain)
    expect(ratio(scaled(query, 1 / 64), key)).toEqual(plain)
  })

  it('is zero where the denominator is exactly zero', () => {
    const inputs = hostInputs(SMALL)
    inputs.query.data.fill(-1) // relu of it is zero
    const out = compute(() =>
      attention(...toTensors(inputs), {
        method: 'favor-relu',
        features: 'deterministic',
        inputScaling: 'raw',
      }),
    )
    expect(out.every(x => x === 0)).toBe(true)
  })

  it('counts a guard where it acted and nowhere else', () => {
    const inputs = hostInputs(SMALL, 2)
    const run = (denGuard: string) =>
      compute(() => {
        const result = attend(...toTensors(inputs), {
          method: 'favor-trig',
          numFeatures: 17,
          denGuard,
        })
        return [result.denominator!, result.guarded!]
      })
    const [denominator, unguarded] = run('none')
    expect(unguarded!.every(x => x === 0)).toBe(true)
    const [, guarded] = run('clamp:0.5')
    expect(Array.from(guarded!)).toEqual(Array.from(denominator!, x => (x < 0.5 ? 1 : 0)))
  })
})
