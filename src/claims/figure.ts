/** Verdicts as a figure: what was measured over what theory or the paper says. */
import {table} from '../report/document.js'
import type {Figure, Point} from '../report/figures/figure.js'
import {significant, withInterval} from '../report/numbers.js'
import type {ClaimOutcome} from './outcome.js'

/** A number with what is expected of it. */
interface Row {
  name: string
  verdict: string
  value: number
  low: number | null
  high: number | null
  expected: number
}

/** All numbers that theory or a paper gives as well, where there are two at least. */
export function claimsFigure(outcomes: readonly ClaimOutcome[]): Figure[] {
  const rows = outcomes.flatMap(rowsOf)
  if (rows.length < 2) return []
  return [
    {
      name: 'claims-over-expected',
      title: 'Numbers of claims over what theory or the paper says',
      caption: 'At 1 both agree; bars are 95 % intervals of measured numbers.',
      x: {label: 'measured over expected', scale: 'log'},
      y: {label: 'number', scale: 'linear', names: rows.map(({name}) => name)},
      series: [
        {
          label: 'measured',
          method: 'measured',
          projection: null,
          joined: false,
          points: rows.map(pointOf),
        },
      ],
      guides: [upright(1, rows.length)],
      table: table<Row>(
        [
          {title: 'number', align: 'left', flexible: true, cell: ({name}) => name},
          {title: 'verdict', align: 'left', cell: ({verdict}) => verdict.replace('_', ' ')},
          {title: 'value', cell: ({value, low, high}) => withInterval(value, low, high)},
          {title: 'expected', cell: ({expected}) => significant(expected)},
        ],
        rows,
      ),
    },
  ]
}

/** A line from the first row of names to the last. */
export function upright(x: number, rows: number): Figure['guides'][number] {
  return {
    label: '',
    points: [
      [x, -0.5],
      [x, rows - 0.5],
    ],
  }
}

function rowsOf({id, verdict, quantities}: ClaimOutcome): Row[] {
  return quantities.flatMap(({name, value, low, high, expected}) => {
    const known = value !== null && value > 0 && expected !== null && expected > 0
    return known ? [{name: `${id}: ${name}`, verdict, value, low, high, expected}] : []
  })
}

function pointOf({name, verdict, value, low, high, expected}: Row, y: number): Point {
  return {
    x: value / expected,
    y,
    xLow: low === null ? null : low / expected,
    xHigh: high === null ? null : high / expected,
    facts: [
      `${name} (${verdict.replace('_', ' ')})`,
      `measured: ${withInterval(value, low, high)}`,
      `expected: ${significant(expected)}`,
    ],
  }
}
