/** All that was trained: methods, and every rate and run. */
import {type Block, type ColumnSpec, heading, list, table, text} from '../../../report/document.js'
import {MISSING, significant} from '../../../report/numbers.js'
import {backendItems} from '../../labels.js'
import {ordinaryGuard} from '../guards.js'
import type {CompletedTrain, TrainRecord} from '../schema.js'
import {type MethodRow, measureOf, methodRows} from './rows.js'
import {titleOf, trainColumns, trainSentences, trainTrouble} from './screen.js'
import {scoreText, shortTask} from './texts.js'

export function trainReport(records: readonly TrainRecord[]): Block[] {
  const completed = records.filter(record => record.status === 'completed')
  const rows = methodRows(completed)
  if (rows.length === 0) return list(trainTrouble(records))
  return [
    heading(2, titleOf(completed)),
    text(trainSentences(records).join(' ')),
    table(trainColumns(rows), rows),
    text(
      'The rate with the best mean on validation is tested. interval: 95 % of the mean over seeds, by Student. Methods are compared by t tests of all pairs over seeds, at 5 % for all pairs together (Holm). left plateau: seeds with a test accuracy of more than a quarter of the way from the plateau to 1. state: numbers that a layer carries from token to token. CPU s: processor time of all steps, mean over seeds. fresh: the test with random vectors that no step has seen.',
    ),
    ...list([...guardItems(rows), ...edgeItems(rows)]),
    heading(3, 'Every run'),
    table(
      runColumns(rows),
      rows.flatMap(row => runsOf(row)),
    ),
    ...list([...backendItems(completed), ...trainTrouble(records)]),
  ]
}

/** Guards that training has added, which labels leave out. */
function guardItems(rows: readonly MethodRow[]): string[] {
  const guards = rows.flatMap(({label, runs}) => {
    const {cell} = runs[0]!
    const guard = ordinaryGuard(cell)
    return guard === undefined || label.includes('denGuard') ? [] : [`${cell.method} ${guard}`]
  })
  if (guards.length === 0) return []
  return [`Guards on denominators (denGuard): ${[...new Set(guards)].join(', ')}.`]
}

/** Methods with the best rate at the end of those tried. */
function edgeItems(rows: readonly MethodRow[]): string[] {
  const atEnd = (which: 'lowest' | 'highest', index: number) => {
    const own = rows.filter(({rates, rate}) => rates.length > 1 && rates.at(index) === rate)
    const labels = [...new Set(own.map(({label}) => label))].join(', ')
    return labels === ''
      ? []
      : [`Best at the ${which} rate tried, so that others may do better: ${labels}.`]
  }
  return [...atEnd('lowest', 0), ...atEnd('highest', -1)]
}

interface RunRow {
  row: MethodRow
  run: CompletedTrain
}

function runsOf(row: MethodRow): RunRow[] {
  return row.all
    .toSorted((a, b) => a.cell.rate - b.cell.rate || a.cell.run - b.cell.run)
    .map(run => ({row, run}))
}

function runColumns(rows: readonly MethodRow[]): ColumnSpec<RunRow>[] {
  const tasks = new Set(rows.map(({task}) => JSON.stringify(task))).size
  const score = (which: 'validation' | 'test'): ColumnSpec<RunRow> => ({
    title: which,
    cell: ({row: {task}, run: {result}}) => {
      const own = measureOf(task).of(result[which])
      return own === null ? MISSING : scoreText(task, own)
    },
  })
  return [
    {title: 'task', align: 'left', cell: ({row}) => shortTask(row.task), tells: () => tasks > 1},
    {title: 'method', align: 'left', cell: ({row}) => row.label},
    {title: 'rate', cell: ({run}) => String(Number(run.cell.rate.toPrecision(3)))},
    {title: 'seed', cell: ({run}) => String(run.cell.run)},
    score('validation'),
    score('test'),
    {
      title: 'fresh',
      cell: ({row: {task}, run: {result}}) => {
        const own = result.fresh && measureOf(task).of(result.fresh)
        return own === null ? MISSING : scoreText(task, own)
      },
      tells: ({run}) => run.result.fresh !== null,
    },
    {title: 'bits', cell: ({run}) => significant(run.result.test.bits)},
    {title: 'CPU s', cell: ({run}) => significant(run.result.cpu_seconds, 2)},
    {
      title: 'diverged in step',
      cell: ({run}) => String(run.result.diverged_step ?? MISSING),
      sparse: true,
    },
  ]
}
