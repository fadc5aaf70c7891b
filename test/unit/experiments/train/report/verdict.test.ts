import {describe, expect, it} from 'vitest'
import {methodRows} from '../../../../../src/experiments/train/report/rows.js'
import {isSwept, standings} from '../../../../../src/experiments/train/report/verdict.js'
import {normals, randomStream} from '../../../../../src/random/index.js'
import {studentTest} from '../../../../../src/stats/index.js'
import {sample} from '../../../../helpers/effort.js'
import {trainRecordOf} from '../../../../helpers/train-records.js'

/** Rows of methods with these accuracies. */
function rowsOf(methods: Record<string, readonly (number | null)[]>, rates = [1e-3, 4e-3]) {
  return methodRows(
    Object.entries(methods).flatMap(([method, accuracies]) =>
      rates.flatMap(rate =>
        accuracies.map((accuracy, run) => trainRecordOf({method, rate, run, accuracy})),
      ),
    ),
  )
}

describe('how methods stand to the best', () => {
  it('compares runs with the same data', () => {
    // every run of elu is 0.02 worse but for 0.0002; seeds differ by 0.2
    const elu = [0.68, 0.7801, 0.8799]
    const rows = rowsOf({softmax: [0.7, 0.8, 0.9], elu, rfa: [0.9, 0.6, 0.8]})
    expect(rows.map(({label}) => label)).toEqual(['softmax', 'elu', 'rfa'])
    expect(standings(rows).map(({row, worse}) => [row.label, worse])).toEqual([
      ['elu', true],
      ['rfa', false],
    ])
  })

  it('says nothing of a single run', () => {
    expect(standings(rowsOf({softmax: [0.9], elu: [0.5]}))[0]!.worse).toBeNull()
    expect(standings([])).toEqual([])
  })

  const equals = [3, 6].flatMap(seeds => [2, 5, 9].map(methods => [seeds, methods] as const))
  it.each(sample(equals, 3, 1))(
    'calls an equal method worse in 5 %% at most: %i seeds, %i methods',
    (seeds, methods) => {
      const cases = 200
      let alarms = 0
      for (let at = 0; at < cases; at++) {
        const noise = normals(randomStream(at, 'test.equal'), seeds * methods)
        const scores = Array.from({length: methods}, (_, method) => [
          `method ${method}`,
          Array.from({length: seeds}, (_, run) => 0.7 + 0.01 * noise[method * seeds + run]!),
        ])
        // one rate is enough for scores
        const found = standings(rowsOf(Object.fromEntries(scores), [1e-3]))
        if (found.some(({worse}) => worse)) alarms++
      }
      // 3 standard errors of a binomial share of 5 %; the best by the same scores against each, with Holm, comes to 10 %
      expect(alarms / cases).toBeLessThanOrEqual(0.05 + 3 * Math.sqrt((0.05 * 0.95) / cases))
    },
  )

  it('corrects for all pairs of methods: p times their number, as the best is known from the same scores', () => {
    // t = 13 of 2 degrees against the best: p = 0.0059, which three pairs take to 0.018 and ten to 0.059
    const near = {softmax: [0.7, 0.8, 0.9], elu: [0.69, 0.7875, 0.89]}
    const differences = near.softmax.map((score, run) => score - near.elu[run]!)
    const {pValue} = studentTest(differences)
    expect(pValue).toBeLessThan(0.05 / 3)
    expect(pValue).toBeGreaterThan(0.05 / 10)
    const noisy = {rfa: [0.9, 0.6, 0.8], oprf: [0.6, 0.95, 0.7], taylor: [0.95, 0.7, 0.6]}
    const {rfa} = noisy
    const worse = (methods: Record<string, number[]>) =>
      standings(rowsOf(methods)).find(({row}) => row.label === 'elu')!.worse
    expect(worse({...near, rfa})).toBe(true)
    expect(worse({...near, ...noisy})).toBe(false)
  })

  it('knows whether all methods had rates to choose from', () => {
    expect(isSwept(rowsOf({softmax: [0.9], elu: [0.5]}))).toBe(true)
    expect(isSwept(rowsOf({softmax: [0.9], elu: [0.5]}, [1e-3]))).toBe(false)
  })
})
