import {describe, expect, it} from 'vitest'
import benchExperiment from '../../../../../../src/experiments/bench/index.js'
import {sampleRows} from '../../../../../../src/experiments/bench/report/tables/samples.js'
import {plainCsv} from '../../../../../../src/results/tables/csv.js'
import {decoded, oneProcess, timed} from '../../../../../helpers/records/bench.js'

const table = benchExperiment.tables.find(({flag}) => flag === 'samples')!

describe('the table of samples', () => {
  it('has a row for every run, with its turn, after the key of the cell', () => {
    const record = timed({}, 1, {samples_ns: [5, 7, 9], turn_runs: [2, 1]})
    const csv = plainCsv(table.columns(), table.rows(record))
    expect(csv).toBe(
      [
        'key,turn,run,tokens,time_ns,token_ns',
        `${record.key},1,1,,5,`,
        `${record.key},1,2,,7,`,
        `${record.key},2,3,,9,`,
        '',
      ].join('\n'),
    )
    expect(table.suffix).toBe('_samples')
  })

  it('has those of a decode at each of its marks', () => {
    const record = decoded({}, {token: 10}, oneProcess([1, 2]), [25, 100])
    expect(table.rows(record).map(({item}) => item)).toEqual([
      {turn: 1, run: 1, tokens: 25, time_ns: 240, token_ns: 10},
      {turn: 1, run: 2, tokens: 25, time_ns: 480, token_ns: 20},
      {turn: 1, run: 1, tokens: 100, time_ns: 990, token_ns: 10},
      {turn: 1, run: 2, tokens: 100, time_ns: 1980, token_ns: 20},
    ])
  })

  it('knows no turns of earlier records', () => {
    const {result} = timed({}, 1, {samples_ns: [5, 7], turn_runs: []})
    expect(sampleRows(result).map(({turn}) => turn)).toEqual([null, null])
  })

  it('has a row for each time there is, whatever turns are told', () => {
    const {result} = timed({}, 1, {samples_ns: [5, 7, 9], turn_runs: [-1, 1, 1e12]})
    expect(sampleRows(result).map(({turn}) => turn)).toEqual([2, 3, 3])
  })

  it('is no part of the others', () => {
    const names = benchExperiment.tables
      .filter(({flag}) => !flag)
      .flatMap(({columns}) => columns().map(({name}) => name))
    expect(names.filter(name => name.includes('samples'))).toEqual([])
  })
})
