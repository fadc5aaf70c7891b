/** Rings on lines that theory predicts: where another method takes the lead, or one gets worse than averaging V. */
import type {Point, Series} from '../../../report/figures/figure.js'
import {significant} from '../../../report/numbers.js'
import {heightAt, passesOne} from '../../../stats/index.js'
import type {CompletedSweep} from '../schema.js'
import type {Level} from './figure-guides.js'
import {recordsOf} from './figure-lines.js'
import {NORM, type Variable} from './figure-variables.js'
import {kernelTurns} from './kernel-turns.js'
import {turningPoints} from './turning-points.js'

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
  const turns = variable.slope ? [] : turningPoints(predicted)
  const all = predicted.map(line => ({
    line,
    errors: [
      ...turns.flatMap(turn => (turn.line === line ? [turn.point] : [])),
      ...worseFrom(line, levels, variable),
    ],
    // norms alone move the laws of kernels against each other
    kernels:
      variable === NORM ? kernelTurns(line, recordsOf(line, NORM, records), records, NORM) : [],
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
