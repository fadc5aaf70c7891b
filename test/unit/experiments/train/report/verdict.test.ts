import {describe, expect, it} from 'vitest'
import {methodRows} from '../../../../../src/experiments/train/report/rows.js'
import {isSwept, standings} from '../../../../../src/experiments/train/report/verdict.js'
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
    // every run of elu is 0.02 worse but for 0.001; seeds differ by 0.2
    const rows = rowsOf({softmax: [0.7, 0.8, 0.9], elu: [0.68, 0.781, 0.879], rfa: [0.9, 0.6, 0.8]})
    expect(rows.map(({label}) => label)).toEqual(['softmax', 'rfa', 'elu'])
    expect(standings(rows).map(({row, worse}) => [row.label, worse])).toEqual([
      ['rfa', false],
      ['elu', true],
    ])
  })

  it('says nothing of a single run', () => {
    expect(standings(rowsOf({softmax: [0.9], elu: [0.5]}))[0]!.worse).toBeNull()
    expect(standings([])).toEqual([])
  })

  it('knows whether all methods had rates to choose from', () => {
    expect(isSwept(rowsOf({softmax: [0.9], elu: [0.5]}))).toBe(true)
    expect(isSwept(rowsOf({softmax: [0.9], elu: [0.5]}, [1e-3]))).toBe(false)
  })
})
