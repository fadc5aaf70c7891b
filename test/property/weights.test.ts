import {beforeAll, describe, expect, it} from 'vitest'
import {attend} from '../../src/attention/attention.js'
import {attention, linearAttention, loadEstimators} from '../../src/attention/index.js'
import {useBackend} from '../../src/backends/index.js'
import {compute, hostInputs, hostNormals, SMALL, toTensor, toTensors} from '../helpers/arrays.js'
import {hostCase, outputBound, runCase, twinOfCase} from '../helpers/estimator-case.js'
import {assertWithin} from '../helpers/rounding.js'
import {caseOf, formsOf, methodsWhere} from './laws.js'

await loadEstimators()
beforeAll(() => useBackend('cpu'))

describe('weights of a row sum to one', () => {
  const cases = methodsWhere(({rowsSumToOne}) => rowsSumToOne).flatMap(method =>
    formsOf(method).map(form => [method, form.form, form.causal] as const),
  )
  it.each(cases)('%s %s returns a constant value unchanged', (method, _form, causal) => {
    const plain = caseOf(method, SMALL, {causal})
    const {inputs} = hostCase(plain)
    const constant = 3.7
    const value = {...inputs.value, data: inputs.value.data.map(() => Math.fround(constant))}
    const given = {...plain, inputs: {...inputs, value}}
    const {out} = runCase(given)
    const {denominator} = twinOfCase(given)
    const width = SMALL.valueDim
    // a row of rectified features can be zero throughout: it has no weights to sum
    const expected = Float64Array.from(out, (_, at) =>
      denominator?.value[Math.floor(at / width)] === 0 ? 0 : Math.fround(constant),
    )
    assertWithin(method, out, expected, outputBound(given))
  })
})

describe('weights are never negative', () => {
  const cases = methodsWhere(({nonNegative}) => nonNegative).flatMap(method =>
    formsOf(method).map(form => [method, form.form, form.causal] as const),
  )
  it.each(cases)('%s %s stays within the range of the values', (method, _form, causal) => {
    const given = caseOf(method, SMALL, {causal, inputScale: 1.5})
    const {out} = runCase(given)
    const bound = outputBound(given)
    const {value} = hostCase(given).inputs
    const {valueDim} = SMALL
    const [keyLen, queryLen] = [given.sizes.keyLen, given.sizes.queryLen]
    out.forEach((x, at) => {
      const head = Math.floor(at / (queryLen * valueDim))
      const column = Array.from(
        {length: keyLen},
        (_, j) => value.data[(head * keyLen + j) * valueDim + (at % valueDim)]!,
      )
      expect(x).toBeGreaterThanOrEqual(Math.min(0, ...column) - bound[at]!)
      expect(x).toBeLessThanOrEqual(Math.max(0, ...column) + bound[at]!)
    })
  })
})

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
