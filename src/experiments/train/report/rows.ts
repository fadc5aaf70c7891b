/** Training runs by method: the rate that validation chooses, and the test at that rate. */

import {groupBy} from '../../../report/groups.js'
import {type Interval, mean, studentTest} from '../../../stats/index.js'
import {TASKS, type TrainTask} from '../../../tasks/index.js'
import {methodLabel, projectionLabel} from '../../labels.js'
import {asCalled} from '../guards.js'
import type {CompletedTrain, Score, TrainCell} from '../schema.js'

export interface MethodRow {
  task: TrainTask
  /** As tables have it: with everything that distinguishes it from other methods. */
  label: string
  /** The same without what no other row of the task differs by. */
  short: string
  /** All of its runs. */
  all: readonly CompletedTrain[]
  /** Rates that were tried, ascending. */
  rates: readonly number[]
  /** The one with the best mean on validation. */
  rate: number
  /** Its runs, in their order. */
  runs: readonly CompletedTrain[]
  /** Test of each: of a run that diverged the worst that there is. */
  scores: readonly number[]
  /** Of the scores. */
  mean: number
  /** Its 95 % interval over runs; `NaN` below two. */
  interval: Interval
  /** Runs that left the plateau; `null`: there is none. */
  left: number | null
  /** Runs that ended in a loss that was not finite. */
  diverged: number
}

/** How a task is judged. */
export interface Measure {
  title: string
  /** Whether more is better. */
  rises: boolean
  /** The score of a run without one. */
  worst: number
  of(score: Score): number | null
}

const ACCURACY: Measure = {title: 'accuracy', rises: true, worst: 0, of: ({accuracy}) => accuracy}
const BITS: Measure = {
  title: 'bits per character',
  rises: false,
  worst: Infinity,
  of: ({bits}) => bits,
}

export function measureOf({name}: Pick<TrainTask, 'name'>): Measure {
  return {accuracy: ACCURACY, bits: BITS}[TASKS[name].score]
}

/** The better of two comes first. */
export function byScore(task: TrainTask): (a: number, b: number) => number {
  const {rises} = measureOf(task)
  return (a, b) => (a === b ? 0 : a < b === rises ? 1 : -1)
}

/** A row for each method of each task; of a task the best first. */
export function methodRows(records: readonly CompletedTrain[]): MethodRow[] {
  const several = new Set(records.map(({cell}) => cell.projection).filter(name => name !== null))
  return groupBy(records, ({cell}) => JSON.stringify(cell.task)).flatMap(own => {
    const {task} = own[0]!.cell
    const cells = own.map(({cell}) => cell)
    const labelled = (cell: TrainCell) => labelOf(asCalled(cell, cells), several.size > 1)
    const better = byScore(task)
    const groups = groupBy(own, ({cell}) => labelled(cell))
    const methods = groups.map(([first]) => first!.cell.method)
    return groups
      .map((group, at) => {
        const alone = methods.filter(method => method === methods[at]).length === 1
        const label = labelled(group[0]!.cell)
        return rowOf(task, {label, short: alone ? methods[at]! : label}, group)
      })
      .toSorted((a, b) => better(a.mean, b.mean))
  })
}

/** A method with what it runs with. @param drawn - whether the projection is named */
function labelOf(cell: TrainCell, drawn: boolean): string {
  const {num_features, key_dim, model} = cell
  return [
    methodLabel(cell),
    ...(drawn && cell.projection !== null ? [projectionLabel(cell)!] : []),
    ...(key_dim === model.width / model.heads ? [] : [`D=${key_dim}`]),
    ...(num_features === null ? [] : [`M=${num_features}`]),
  ].join(' ')
}

function rowOf(
  task: TrainTask,
  labels: Pick<MethodRow, 'label' | 'short'>,
  all: readonly CompletedTrain[],
): MethodRow {
  const {of, rises, worst} = measureOf(task)
  const groups = groupBy(all, ({cell}) => String(cell.rate))
  const most = Math.max(...groups.map(({length}) => length))
  const better = byScore(task)
  const [best] = groups
    .filter(({length}) => length === most)
    .map(group => {
      const validation = mean(group.map(({result}) => of(result.validation) ?? worst))
      const bits = mean(group.map(({result}) => result.validation.bits ?? Infinity))
      return {group, validation, bits}
    })
    .toSorted((a, b) => better(a.validation, b.validation) || (a.bits < b.bits ? -1 : 1))
  const runs = best!.group.toSorted((a, b) => a.cell.run - b.cell.run)
  const scores = runs.map(({result}) => of(result.test) ?? worst)
  const {low, high} = studentTest(scores).estimate
  const plateaus = runs.filter(({result}) => result.left_plateau !== null)
  return {
    ...{task, ...labels, all, runs, scores, rate: runs[0]!.cell.rate},
    rates: groups.map(group => group[0]!.cell.rate).sort((a, b) => a - b),
    mean: mean(scores),
    interval: {low: Math.max(0, low), high: rises ? Math.min(1, high) : high},
    left: plateaus.length === 0 ? null : runs.filter(({result}) => result.left_plateau).length,
    diverged: runs.filter(({result}) => result.diverged_step !== null).length,
  }
}

/** Mean over the runs at the chosen rate. */
export function cpuSeconds({runs}: MethodRow): number {
  return mean(runs.map(({result}) => result.cpu_seconds))
}
