/** Verdicts as tables for other programs: columns are always the same, a row is known by the id of its claim. */
import {z} from 'zod'
import {type Column, columnsOf} from '../../results/tables/columns.js'
import {plainCsv} from '../../results/tables/csv.js'
import {figurePoint} from '../figures/figure.js'
import {type ClaimOutcome, claimOutcome} from '../outcome.js'

const {id, quantities, tests} = claimOutcome.shape

/** A row of each table by the ending of its name. */
const ROWS = {
  '': claimOutcome,
  _quantities: z.object({id, ...quantities.element.shape}),
  _tests: z.object({id, ...tests.element.shape}),
}

interface TableFile {
  name: string
  text: string
}

/** The tables of claims and of a figure, with their columns. */
export function claimTableColumns(): {file: string; flag?: string; columns: Column[]}[] {
  const verdicts = Object.entries(ROWS).map(([ending, schema]) => {
    return {file: `claims${ending}.csv`, columns: columnsOf(schema)}
  })
  return [...verdicts, {file: 'ID.csv', flag: 'figure', columns: columnsOf(figurePoint)}]
}

/** One row for each claim; one for each number that verdicts rest on; one for each test. */
export function claimTables(outcomes: readonly ClaimOutcome[]): TableFile[] {
  const rows: Record<keyof typeof ROWS, readonly unknown[]> = {
    '': outcomes,
    _quantities: outcomes.flatMap(({id, quantities}) => quantities.map(one => ({id, ...one}))),
    _tests: outcomes.flatMap(({id, tests}) => tests.map(one => ({id, ...one}))),
  }
  return Object.entries(ROWS).map(([ending, schema]) => ({
    name: `claims${ending}.csv`,
    text: plainCsv(columnsOf(schema), rows[ending as keyof typeof ROWS]),
  }))
}
