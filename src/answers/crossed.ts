/** For losses of the same draws on the same texts: the mean of their differences, with an interval over both. */
import {type Estimate, meanOfTable, ratioOfMeans} from '../stats/index.js'
import type {Answer} from './answer.js'
import {byInterval} from './intervals.js'

/** A row for each draw, in it a number for each text, or group of texts. */
type Losses = readonly (readonly number[])[]

/** By the difference of means; `undefined` where the tables do not match, or say too little for an interval. */
export function byCrossedDifference(a: Losses, b: Losses): Answer | undefined {
  const tables = matched(a, b)
  if (!tables) return undefined
  const [own, its] = tables
  const off = own.map((row, draw) => row.map((loss, text) => loss - its[draw]![text]!))
  const {estimate} = meanOfTable(off)
  return isKnown(estimate) ? byInterval(estimate, 0) : undefined
}

/** The ratio of means; `undefined` likewise. */
export function crossedRatio(a: Losses, b: Losses): Estimate | undefined {
  const tables = matched(a, b)
  const estimate = tables && ratioOfMeans(...tables).estimate
  return estimate && isKnown(estimate) ? estimate : undefined
}

/** What draws nothing is the same in every draw of the other. */
function matched(a: Losses, b: Losses): [Losses, Losses] | undefined {
  const draws = Math.max(a.length, b.length)
  const [own, its] = [a, b].map(table =>
    table.length === 1 ? Array<readonly number[]>(draws).fill(table[0]!) : table,
  ) as [Losses, Losses]
  const alike = own.length === its.length && own.every((all, at) => all.length === its[at]!.length)
  return alike && own.flat().length > 0 ? [own, its] : undefined
}

function isKnown({value, low, high}: Estimate): boolean {
  return [value, low, high].every(Number.isFinite)
}
