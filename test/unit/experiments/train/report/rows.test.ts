import {describe, expect, it} from 'vitest'
import {methodRows} from '../../../../../src/experiments/train/report/rows.js'
import {type MadeRun, trainRecordOf} from '../../../../helpers/train-records.js'

const rowsOf = (runs: readonly MadeRun[]) => methodRows(runs.map(trainRecordOf))

/** Three runs with these accuracies. */
function three(method: string, rate: number, accuracies: readonly (number | null)[]): MadeRun[] {
  return accuracies.map((accuracy, run) => ({method, rate, run, accuracy}))
}

describe('rows of methods', () => {
  it('judge by the test at the rate that validation chooses', () => {
    const validation = {validation: {accuracy: 1, bits: 0.1}}
    const chosen = three('elu', 1e-3, [0.7, 0.8, 0.75]).map(run => ({...run, result: validation}))
    const [row] = rowsOf([...chosen, ...three('elu', 4e-3, [0.9, 0.9, 0.9])])
    expect(row).toMatchObject({rate: 1e-3, rates: [1e-3, 4e-3], mean: 0.75})
    // Student with 2 degrees: 4.303 standard errors of 0.05 / sqrt(3)
    expect(row!.interval.low).toMatchReference(0.75 - (4.302653 * 0.05) / Math.sqrt(3), 5)
    expect(row!.interval.high).toMatchReference(0.75 + (4.302653 * 0.05) / Math.sqrt(3), 5)
  })

  it('count a run that diverged as the worst, in choosing, too', () => {
    const [row] = rowsOf([
      ...three('elu', 1e-3, [0.5, 0.5, 0.5]),
      ...three('elu', 4e-3, [0.7, 0.7, null]),
    ])
    expect(row).toMatchObject({rate: 1e-3, diverged: 0})
    const [only] = rowsOf(three('elu', 4e-3, [0.7, 0.9, null]))
    expect(only).toMatchObject({scores: [0.7, 0.9, 0], diverged: 1, left: 2})
    expect(only!.mean).toMatchReference(1.6 / 3, 12)
  })

  it('have a mean inside its interval, whatever one of the seeds did', () => {
    const [row] = rowsOf(three('elu', 1e-3, [0.986, 0.99, 0.5]))
    expect(row!.mean).toMatchReference((0.986 + 0.99 + 0.5) / 3, 12)
    const {low, high} = row!.interval
    // not cut at 1: both ends are as far away
    if (high < 1) expect(row!.mean - low).toMatchReference(high - row!.mean, 9)
    expect(low).toBeLessThan(row!.mean)
  })

  it('leave out a guard that nobody typed, unless methods differ by it', () => {
    const guarded = (method: string, denGuard: string, rate = 1e-3) =>
      three(method, rate, [0.1]).map(run => ({...run, cell: {options: {denGuard}}}))
    const labels = (runs: readonly MadeRun[]) => rowsOf(runs).map(({label}) => label)
    expect(labels([...guarded('rfa', 'clamp:1'), ...guarded('elu', 'add:1')])).toEqual([
      'rfa',
      'elu (denGuard=add:1)',
    ])
    expect(labels([...guarded('rfa', 'clamp:1'), ...guarded('rfa', 'none')])).toEqual([
      'rfa (denGuard=clamp:1)',
      'rfa (denGuard=none)',
    ])
  })

  it('take the lower loss where accuracies are the same', () => {
    const bits = (rate: number, own: number) =>
      three('elu', rate, [1, 1, 1]).map(run => ({...run, bits: own}))
    expect(rowsOf([...bits(1e-3, 0.2), ...bits(4e-3, 0.1)])[0]!.rate).toBe(4e-3)
  })

  it('leave out a rate that has fewer runs than others', () => {
    const runs = [...three('elu', 1e-3, [0.5, 0.5, 0.5]), ...three('elu', 4e-3, [0.9])]
    expect(rowsOf(runs)[0]!.rate).toBe(1e-3)
  })

  it('have the best first: of accuracies the highest, of bits the lowest', () => {
    const order = (name: 'mqar' | 'chars') => {
      const texts = {path: 'a', digest: 'b'}
      const cell = name === 'chars' ? {task: {name, length: 8, texts}} : {}
      const runs = [0.3, 0.9, 0.6].flatMap((value, at) =>
        three(['elu', 'softmax', 'rfa'][at]!, 1e-3, [value, value, value]).map(run => ({
          ...{...run, bits: value, cell},
        })),
      )
      return rowsOf(runs).map(({label}) => label)
    }
    expect(order('mqar')).toEqual(['softmax', 'rfa', 'elu'])
    expect(order('chars')).toEqual(['elu', 'rfa', 'softmax'])
  })

  it('name D where it is not that of values, and in short what is needed', () => {
    const drawn = (num_features: number, rate = 1e-3) =>
      three('rfa', rate, [0.1]).map(run => ({
        ...{...run, cell: {projection: 'orth' as const, num_features, options: {tau: 2}}},
      }))
    const taylor = three('taylor', 1e-3, [0.4]).map(run => ({...run, cell: {key_dim: 4}}))
    const labels = (runs: readonly MadeRun[]) =>
      rowsOf(runs).map(({label, short}) => [label, short])
    expect(labels([...taylor, ...drawn(8)])).toEqual([
      ['taylor D=4', 'taylor'],
      ['rfa (tau=2) M=8', 'rfa'],
    ])
    expect(labels([...drawn(8), ...drawn(16)])).toEqual([
      ['rfa (tau=2) M=8', 'rfa (tau=2) M=8'],
      ['rfa (tau=2) M=16', 'rfa (tau=2) M=16'],
    ])
  })
})
