/** The first screen: what each method learns, with how large a state and in how much time. */
import {type Block, type ColumnSpec, list, table, text} from '../../../report/document.js'
import {groupBy} from '../../../report/groups.js'
import {MISSING, plural, significant} from '../../../report/numbers.js'
import {fittedScreen} from '../../../report/screen.js'
import {troubleItems} from '../../labels.js'
import {asCalled} from '../guards.js'
import type {CompletedTrain, TrainRecord} from '../schema.js'
import {cpuSeconds, type MethodRow, measureOf, methodRows} from './rows.js'
import {scoreText, shortTask, tasksText} from './texts.js'
import {isSwept, standings} from './verdict.js'

/** Tasks that sentences speak of, and reasons why there are no other rows. */
const [MOST_TASKS, MOST_REASONS] = [3, 2]

export function trainScreen(records: readonly TrainRecord[]): Block[] {
  const completed = records.filter(record => record.status === 'completed')
  const rows = methodRows(completed)
  const notes = trainTrouble(records).slice(0, MOST_REASONS)
  if (rows.length === 0) return list(notes)
  return fittedScreen({
    title: text(titleOf(completed)),
    answer: trainSentences(records),
    rows: rows.length,
    table(shown) {
      const rest = rows.length - shown
      const more = rest > 0 ? [`${plural(rest, 'row')} more: --details.`] : []
      return {
        blocks: [table(trainColumns(rows), rows.slice(0, shown))],
        below: [...more, 'Means over seeds with 95 % intervals; state: numbers per layer.'],
      }
    },
    notes,
  })
}

export function titleOf(rows: readonly CompletedTrain[]): string {
  const {cell} = rows[0]!
  const {layers, width, heads, mlp, convolution} = cell.model
  const tasks = groupBy(rows, row => JSON.stringify(row.cell.task)).map(([row]) => row!.cell.task)
  const runs = new Set(rows.map(row => row.cell.run)).size
  const rates = new Set(rows.map(row => row.cell.rate)).size
  const model = [
    ...(convolution > 0 ? [`convolution of ${convolution}`] : []),
    `${plural(layers, 'layer')} of width ${width}`,
    plural(heads, 'head'),
    ...(mlp > 0 ? [`MLP of ${mlp}`] : []),
  ]
  return `${tasksText(tasks)}; ${model.join(', ')}; ${cell.steps} steps of ${cell.batch}; ${plural(runs, 'seed')}, ${plural(rates, 'rate')}`
}

/** The answer: the best method of each task, which are worse, and which learned nothing. */
export function trainSentences(records: readonly TrainRecord[]): string[] {
  const rows = methodRows(records.filter(record => record.status === 'completed'))
  if (rows.length === 0) return []
  const tasks = groupBy(rows, ({task}) => JSON.stringify(task))
  const answers = tasks.slice(0, MOST_TASKS).flatMap(own => taskSentences(own, tasks.length > 1))
  if (isSwept(rows)) return answers
  return [
    ...answers,
    'Only one learning rate was tried, and methods need different ones: --rates 1e-3..3e-2x4 tries four.',
  ]
}

function taskSentences(rows: readonly MethodRow[], named: boolean): string[] {
  const scored = rows.filter(row => !allDiverged(row))
  const [best] = scored
  const place = named ? `${shortTask(rows[0]!.task)}: ` : ''
  if (!best) return [`${place}Every run diverged: no loss stayed finite. Try lower --rates.`]
  const {task, short, mean} = best
  const what = named ? `${place}best` : `Best test ${measureOf(task).title}:`
  const verdicts = isSwept(rows) ? verdictSentences(rows) : []
  return [
    `${what} ${short}, ${scoreText(task, mean)}.`,
    ...verdicts,
    ...divergedSentences(rows, place),
    ...plateauSentences(scored, place),
  ]
}

function allDiverged({diverged, runs}: MethodRow): boolean {
  return diverged === runs.length
}

/** Runs with a loss that was not finite. */
function divergedSentences(rows: readonly MethodRow[], place: string): string[] {
  const some = rows.filter(({diverged}) => diverged > 0)
  if (some.length === 0) return []
  const counts = some.map(
    ({short, diverged, runs}) => `${short} ${diverged} of ${runs.length} runs`,
  )
  return [placed(place, `Diverged, and counted as the worst score: ${counts.join(', ')}.`)]
}

function verdictSentences(rows: readonly MethodRow[]): string[] {
  const all = standings(rows)
  const named = (worse: boolean | null) =>
    all.flatMap(one => (one.worse === worse ? [one.row.short] : [])).join(', ')
  const [worse, alike] = [named(true), named(false)]
  return [
    ...(worse === '' ? [] : [`Worse: ${worse}.`]),
    ...(alike === '' ? [] : [`Not distinguishable from the best: ${alike}.`]),
    ...(all.some(one => one.worse === null) ? ['One seed is too few to compare: --seeds 3.'] : []),
  ]
}

/** In how many of its runs each method left the plateau. */
function plateauSentences(rows: readonly MethodRow[], place: string): string[] {
  const {plateau} = rows[0]!.runs[0]!.result
  if (plateau === null) return []
  const named = (keep: (left: number, runs: number) => boolean) =>
    rows.filter(({left, runs}) => left !== null && keep(left, runs.length))
  const list = (own: readonly MethodRow[], seeds: string) =>
    own.length > 0 ? [`${own.map(({short}) => short).join(', ')} ${seeds}`] : []
  const some = named((left, runs) => left > 0 && left < runs)
  const parts = [
    ...list(
      named((left, runs) => left === runs),
      'with all seeds',
    ),
    ...some.flatMap(row => list([row], `with ${row.left} of ${row.runs.length}`)),
    ...list(
      named(left => left === 0),
      'with none',
    ),
  ]
  const level = scoreText(rows[0]!.task, plateau)
  return [placed(place, `Beyond the plateau of ${level}: ${parts.join('; ')}.`)]
}

/** A sentence behind the name of its task. @param place - empty: there is one task */
function placed(place: string, sentence: string): string {
  return place === '' ? sentence : `${place}${sentence[0]!.toLowerCase()}${sentence.slice(1)}`
}

export function trainColumns(rows: readonly MethodRow[]): ColumnSpec<MethodRow>[] {
  const tasks = new Set(rows.map(({task}) => JSON.stringify(task))).size
  return [
    {title: 'task', align: 'left', cell: ({task}) => shortTask(task), tells: () => tasks > 1},
    {
      title: 'method',
      align: 'left',
      cell: ({label}) => label,
      short: {cell: ({short}) => short, lacks: 'options'},
    },
    {
      title: measureOf(rows[0]!.task).title,
      cell: row => (allDiverged(row) ? MISSING : scoreText(row.task, row.mean)),
    },
    {title: '95 %', cell: intervalText},
    {
      title: 'left plateau',
      cell: ({left, runs}) => (left === null ? MISSING : `${left}/${runs.length}`),
      sparse: true,
    },
    {title: 'state', cell: stateText},
    {title: 'CPU s', cell: row => significant(cpuSeconds(row), 2)},
    {title: 'rate', cell: ({rate}) => String(Number(rate.toPrecision(3)))},
  ]
}

function intervalText(row: MethodRow): string {
  const {task, interval} = row
  const {low, high} = interval
  if (allDiverged(row) || !Number.isFinite(low) || !Number.isFinite(high)) return MISSING
  const factor = measureOf(task).rises ? 100 : 1
  return `[${significant(factor * low)}, ${significant(factor * high)}]`
}

function stateText({runs}: MethodRow): string {
  const {state_floats: floats, state_grows: grows} = runs[0]!.result
  if (floats === null) return MISSING
  return grows ? 'grows' : String(floats)
}

/** Why there are no other rows, with methods as tables call them. */
export function trainTrouble(records: readonly TrainRecord[]): string[] {
  const cells = records.map(({cell}) => cell)
  return troubleItems(records.map(record => ({...record, cell: asCalled(record.cell, cells)})))
}
