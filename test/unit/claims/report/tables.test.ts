import {parse} from 'csv-parse/sync'
import {describe, expect, it} from 'vitest'
import type {ClaimOutcome} from '../../../../src/claims/outcome.js'
import {claimTables} from '../../../../src/claims/report/tables.js'

const OUTCOME: ClaimOutcome = {
  id: 'H1',
  sentence: 'It is "so", always',
  source: 'here',
  paper: '=1+1',
  ours: null,
  statistic: null,
  rule: null,
  verdict: 'holds',
  inconclusive_because: null,
  statement: 'a; b',
  explanation: 'line one\nline two',
  quantities: [
    {name: 'n, measured', value: 3, low: 2, high: null, expected: -1},
    {name: 'm', value: null, low: null, high: null, expected: null},
  ],
  tests: [{hypothesis: '-x', p: 0.01, adjusted_p: 0.02, rejected: true}],
  runs: ['a', 'b'],
}

describe('tables of verdicts', () => {
  const files = claimTables([OUTCOME, {...OUTCOME, id: 'H2', quantities: [], tests: []}])
  const rows = (name: string) =>
    parse<Record<string, string>>(files.find(file => file.name === name)!.text, {columns: true})

  it('are one of claims, one of numbers and one of tests', () => {
    expect(files.map(({name}) => name)).toEqual([
      'claims.csv',
      'claims_quantities.csv',
      'claims_tests.csv',
    ])
  })

  it('keep texts as they are, but for what a spreadsheet would run', () => {
    const [first, second] = rows('claims.csv')
    expect(first).toMatchObject({
      id: 'H1',
      sentence: 'It is "so", always',
      paper: "'=1+1",
      statement: 'a; b',
      explanation: 'line one\nline two',
      runs: 'a;b',
      ours: '',
    })
    expect(second!.id).toBe('H2')
  })

  it('have every number in a row of its own, empty where there is none', () => {
    expect(rows('claims_quantities.csv')).toEqual([
      {id: 'H1', name: 'n, measured', value: '3', low: '2', high: '', expected: '-1'},
      {id: 'H1', name: 'm', value: '', low: '', high: '', expected: ''},
    ])
    expect(rows('claims_tests.csv')).toEqual([
      {id: 'H1', hypothesis: "'-x", p: '0.01', adjusted_p: '0.02', rejected: 'true'},
    ])
  })
})
