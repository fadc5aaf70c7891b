/** The first screen: what each method learns, with how large a state and in how much time. */
import {type Block, type ColumnSpec, list, table, text} from '../../../report/document.js'
import {groupBy} from '../../../report/groups.js'
import {MISSING, plural, significant} from '../../../report/numbers.js'
import {troubleItems} from '../../labels.js'
import type {CompletedTrain, TrainRecord, TrainTask} from '../schema.js'
import {cpuSeconds, type MethodRow, measureOf, methodRows} from './rows.js'
import {isSwept, standings} from './verdict.js'

/** Rows of the table, sentences of an answer, and reasons why there are no other rows. */
const [MOST_ROWS, MOST_TASKS, MOST_REASONS] = [9, 2, 2]

/** Blocks of the first screen. */
export function trainScreen(records: readonly TrainRecord[]): Block[] {
  const completed = completedOf(records)
  const rows = methodRows(completed)
  if (rows.length === 0) return list(troubleItems(records).slice(0, MOST_REASONS))
  const rest = rows.length - MOST_ROWS
  return [
    text(titleOf(completed)),
    text(trainSentences(records).join(' ')),
    table(trainColumns(rows), rows.slice(0, MOST_ROWS)),
    text(
      `${rest > 0 ? `${plural(rest, 'row')} more: --details. ` : ''}Brackets: 95 % interval of the mean. state: numbers per layer.`,
    ),
    ...list(troubleItems(records).slice(0, MOST_REASONS)),
  ]
}

/** What was trained, and on what. */
export function titleOf(rows: readonly CompletedTrain[]): string {
  const {cell} = rows[0]!
  const {layers, width, heads, mlp, convolution} = cell.model
  const tasks = groupBy(rows, row => JSON.stringify(row.cell.task)).map(([row]) => row!.cell.task)
  const what = tasks.length > 1 ? plural(tasks.length, 'task') : taskText(tasks[0]!)
  const runs = new Set(rows.map(row => row.cell.run)).size
  const rates = new Set(rows.map(row => row.cell.rate)).size
  const model = [
    ...(convolution > 0 ? [`convolution of ${convolution}`] : []),
    `${plural(layers, 'layer')} of width ${width}`,
    plural(heads, 'head'),
    ...(mlp > 0 ? [`MLP ${mlp}`] : []),
  ]
  return `${what}; ${model.join(', ')}; ${cell.steps} steps of ${cell.batch}; ${plural(runs, 'seed')}, ${plural(rates, 'rate')}`
}

/** A task in a few words. */
export function taskText(task: TrainTask): string {
  switch (task.name) {
    case 'mqar':
      return `recall (mqar), ${task.length} tokens, ${plural(task.pairs, 'pair')}, V=${task.vocabulary}`
    case 'copy':
      return `selective copying, ${task.data} of ${task.length} tokens, V=${task.vocabulary}`
    case 'chars':
      return `characters, ${task.length} at a time`
  }
}

/** The answer: the best method of each task, which are worse, and which learned nothing. */
export function trainSentences(records: readonly TrainRecord[]): string[] {
  const rows = methodRows(completedOf(records))
  const tasks = groupBy(rows, ({task}) => JSON.stringify(task))
  const sentences = tasks.slice(0, MOST_TASKS).flatMap(own => taskSentences(own, tasks.length > 1))
  const cut =
    tasks.length > MOST_TASKS ? [`${plural(tasks.length - MOST_TASKS, 'task')} more below.`] : []
  if (rows.length === 0 || isSwept(rows)) return [...sentences, ...cut]
  const verdict =
    'No verdict: with one rate, a method may look bad because it needs another one (--rates 1e-3..3e-2x4).'
  return [...sentences, ...cut, verdict]
}

function taskSentences(rows: readonly MethodRow[], named: boolean): string[] {
  const [best] = rows as [MethodRow, ...MethodRow[]]
  const where = named ? `${taskText(best.task)}: ` : ''
  const reaches = `${where}${best.label} has the best test ${measureOf(best.task).title}, ${scoreText(best.task, best.median)}.`
  return [reaches, ...(isSwept(rows) ? verdictSentences(rows) : []), ...plateauSentences(rows)]
}

function verdictSentences(rows: readonly MethodRow[]): string[] {
  const all = standings(rows)
  const named = (worse: boolean | null) =>
    all.filter(one => one.worse === worse).map(({row}) => row.label)
  const [worse, alike, unknown] = [true, false, null].map(named)
  return [
    ...(worse!.length > 0 ? [`Worse: ${worse!.join(', ')}.`] : []),
    ...(alike!.length > 0 ? [`Not distinguishable from it: ${alike!.join(', ')}.`] : []),
    ...(unknown!.length > 0 ? ['One seed cannot tell methods apart: --seeds 3.'] : []),
  ]
}

/** Methods that no run of which left the plateau. */
function plateauSentences(rows: readonly MethodRow[]): string[] {
  const stuck = rows.filter(({left}) => left === 0)
  const plateau = rows[0]!.runs[0]!.result.plateau
  if (stuck.length === 0 || plateau === null) return []
  const labels = stuck.map(({label}) => label).join(', ')
  return [`At the plateau of ${scoreText(rows[0]!.task, plateau)} in every run: ${labels}.`]
}

/** `97.1 %`, or bits as they are. */
export function scoreText(task: TrainTask, score: number): string {
  if (!Number.isFinite(score)) return 'diverged'
  return measureOf(task).rises ? `${significant(100 * score)} %` : significant(score)
}

/** Columns of methods. */
export function trainColumns(rows: readonly MethodRow[]): ColumnSpec<MethodRow>[] {
  const tasks = new Set(rows.map(({task}) => JSON.stringify(task))).size
  const titles = new Set(rows.map(({task}) => measureOf(task).title))
  return [
    {title: 'task', align: 'left', cell: ({task}) => taskText(task), tells: () => tasks > 1},
    {title: 'method', align: 'left', cell: ({label}) => label},
    {title: `${[...titles].join(', ')}, median`, cell: ({task, median}) => scoreText(task, median)},
    {title: 'interval', cell: intervalText},
    {
      title: 'left plateau',
      cell: ({left, runs}) => (left === null ? MISSING : `${left}/${runs.length}`),
      tells: ({left}) => left !== null,
    },
    {title: 'state', cell: stateText},
    {title: 'CPU s', cell: row => significant(cpuSeconds(row), 2)},
    {title: 'rate', cell: ({rate}) => significant(rate, 2)},
  ]
}

function intervalText({task, interval: {low, high}}: MethodRow): string {
  if (!Number.isFinite(low) || !Number.isFinite(high)) return MISSING
  const [from, to] = [low, high].map(end => significant(measureOf(task).rises ? 100 * end : end))
  return `[${from}, ${to}]`
}

function stateText({runs}: MethodRow): string {
  const {state_floats: floats, state_grows: grows} = runs[0]!.result
  if (floats === null) return MISSING
  return grows ? `grows to ${floats}` : String(floats)
}

export function completedOf(records: readonly TrainRecord[]): CompletedTrain[] {
  return records.filter(record => record.status === 'completed')
}
