/** Rings on lines that theory predicts: where another method takes the lead, or one gets worse than averaging V. */
import type {Point, Series} from '../../../report/figures/figure.js'
import {significant} from '../../../report/numbers.js'
import {
  heightAmong,
  heightAt,
  type LogLine,
  type LogPlace,
  passesOne,
} from '../../../stats/index.js'
import {predictRelativeVariance, type VarianceLaw} from '../../../theory/predictor.js'
import {projectionLabel, variantLabel} from '../../labels.js'
import type {CompletedSweep} from '../schema.js'
import {type Level, NORM, recordsOf, type Variable} from './figure-lines.js'

/** Lines with their rings, and what rings there are, in words. */
export interface Ringed {
  lines: Series[]
  says: string[]
}

/** What rings are read from. */
interface Place {
  variable: Variable
  /** Of the figure. */
  records: readonly CompletedSweep[]
  /** Of averaging V. */
  levels: readonly Level[]
}

/** Predicted lines with their rings. */
export function withRings(predicted: readonly Series[], place: Place): Ringed {
  const {variable, records, levels} = place
  const turns = variable.law ? [] : turningPoints(predicted)
  const all = predicted.map(line => ({
    line,
    errors: [
      ...turns.flatMap(turn => (turn.line === line ? [turn.point] : [])),
      ...worseFrom(line, levels, variable),
    ],
    // norms alone move the laws of kernels against each other
    kernels: variable === NORM ? kernelTurns(line, records) : [],
  }))
  return {
    lines: all.map(({line, errors, kernels}) => {
      const crossings = [...errors, ...kernels]
      return crossings.length > 0 ? {...line, crossings} : line
    }),
    says: [
      ...(all.some(({errors}) => errors.length > 0) ? [ERRORS] : []),
      ...(all.some(({kernels}) => kernels.length > 0) ? [KERNELS] : []),
    ],
  }
}

const ERRORS = 'another method gets the least error, or one gets worse than averaging V'
const KERNELS = 'the kernel of positive features begins to vary less than that of sines and cosines'

/** Where a line that theory predicts passes the error of averaging V upwards. */
function worseFrom(line: Series, levels: readonly Level[], {label}: Variable): Point[] {
  const known = new Map(levels)
  const gains = line.points.flatMap(({x, y}) => {
    const level = known.get(x)
    return level === undefined ? [] : [{x, y, gain: y / level}]
  })
  return gains.slice(1).flatMap((to, before) => {
    const from = gains[before]!
    if (!(from.gain < 1 && to.gain >= 1)) return []
    const x = passesOne([
      {x: from.x, y: from.gain},
      {x: to.x, y: to.gain},
    ])
    const y = heightAt([from, to], x)
    return [
      {x, y, facts: [`worse than averaging V from ${significant(x)} on (${label}), as predicted`]},
    ]
  })
}

/** A place where another line becomes the lowest. */
interface Turn {
  /** The line that is lowest from there on. */
  line: Series
  point: Point
}

/**
 * Points at which the lowest of several predicted lines changes, on straight lines between their points in log-log axes.
 * Nothing is said beyond the points, between points that lines do not share, or where several change places between two.
 *
 * @param lines - with points in the order of x
 */
export function turningPoints(lines: readonly Series[]): Turn[] {
  const places = lines.map(({points}) => new Set(points.map(({x}) => x)))
  const shared = [...(places[0] ?? [])].filter(x => places.every(own => own.has(x)))
  return shared.slice(1).flatMap((to, at) => {
    const from = shared[at]!
    const [before, after] = [lowestAt(lines, from), lowestAt(lines, to)]
    if (!before || !after || before === after) return []
    const point = crossing([before, after], from, to)
    return isLowest(point, lines, from, to) ? [marked(after, before, point)] : []
  })
}

/** The line that is lowest at a place. */
function lowestAt(lines: readonly Series[], x: number): Series | undefined {
  const [first, second] = lines.toSorted((a, b) => yAt(a, x) - yAt(b, x))
  return first && second && yAt(first, x) < yAt(second, x) ? first : undefined
}

function yAt({points}: Series, x: number): number {
  return points.find(point => point.x === x)!.y
}

/** Where the first of two lines passes from below the other to above it. */
function crossing([one, other]: readonly [Series, Series], from: number, to: number): LogPlace {
  const gap = (x: number) => ({x, y: yAt(other, x) / yAt(one, x)})
  const x = passesOne([gap(from), gap(to)])
  return {x, y: heightAt(between(one, from, to), x)}
}

/** A line from one of its points to another. */
function between(line: Series, from: number, to: number): LogLine {
  return [
    {x: from, y: yAt(line, from)},
    {x: to, y: yAt(line, to)},
  ]
}

/** Whether no third line is lower there. */
function isLowest({x, y}: LogPlace, lines: readonly Series[], from: number, to: number): boolean {
  return lines.every(line => heightAt(between(line, from, to), x) >= y * (1 - 1e-12))
}

function marked(line: Series, before: Series, {x, y}: LogPlace): Turn {
  const [own, other] = [line, before].map(({label}) => label.replace(/, predicted$/, ''))
  const facts = [`${own} overtakes ${other} at ${significant(x)}, by theory`]
  return {line, point: {x, y, facts}}
}

/** Methods of either law. */
const [POSITIVE, TRIGONOMETRIC] = ['favor-pos', 'favor-trig']

/**
 * A mark on the predicted line of a variant of positive features, where one of sines and cosines has the same rows: from which norm
 * on they vary less, by the laws of their kernels at mean norms. None where the kernel varies by more than itself:
 * then neither estimates anything.
 *
 * The error of sines and cosines has no prediction, as their denominators come near zero, which adds to the error
 * of the kernel. On three of the four layers in `fixtures/` errors (M = 64 and 256, iid) changed places at 0.51 to
 * 0.92 of the squared norm that is given here; on the fourth and on generated inputs the laws do not cross, and
 * errors still did.
 *
 * Source: Choromanski et al. 2021, arXiv:2009.14794, Lemma 2.
 *
 * @param line - predicted
 * @param all - records of the figure, at the same M
 */
function kernelTurns(line: Series, all: readonly CompletedSweep[]): Point[] {
  const own = recordsOf(line, NORM, all)
  const [first] = own
  if (first?.cell.method !== POSITIVE) return []
  const rows = projectionLabel(first.cell)
  const rivals = all.filter(
    ({cell}) => cell.method === TRIGONOMETRIC && projectionLabel(cell) === rows,
  )
  const turn = rivals.length > 0 ? turnOf(own) : undefined
  const y = turn && heightAmong(line.points, turn)
  if (turn === undefined || y === undefined) return []
  const names = [first, rivals[0]!].map(({cell}) => variantLabel(cell)).join(' varies less than ')
  const from = `from ${significant(turn)} on (${NORM.label})`
  return [
    {x: turn, y, facts: [`${names} ${from}, by the kernel at mean norms; it may err less before`]},
  ]
}

/** Where the variance of the kernel with sines and cosines passes that with positive features upwards. */
function turnOf(records: readonly CompletedSweep[]): number | undefined {
  const places = records
    .flatMap(record => {
      const x = NORM.read(record)
      return x === null ? [] : [{x, positive: varianceOf(record, 'positive'), record}]
    })
    .toSorted((a, b) => a.x - b.x)
  const ratios = places.map(({x, positive, record}): LogPlace => {
    return {x, y: varianceOf(record, 'trigonometric') / positive}
  })
  const at = ratios.findIndex(({y}, place) => y < 1 && (ratios[place + 1]?.y ?? 0) >= 1)
  if (at < 0) return undefined
  const turn = passesOne([ratios[at]!, ratios[at + 1]!])
  const [from, to] = [places[at]!, places[at + 1]!].map(({x, positive}) => ({x, y: positive}))
  return heightAt([from!, to!], turn) <= 1 ? turn : undefined
}

/** Relative, of one estimate of the kernel. */
function varianceOf({cell, result}: CompletedSweep, law: VarianceLaw): number {
  const {sum_norm2: sumNorm2, difference_norm2: differenceNorm2} = result.statistics
  const norms = {sumNorm2, differenceNorm2, headDim: result.head_dim}
  return predictRelativeVariance(law, norms, cell.num_features ?? 1).relativeVariance
}
