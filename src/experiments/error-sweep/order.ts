/** Which rows of a table must not be read as better or worse than others: those whose spreads overlap. */

import {groupBy} from '../../report/groups.js'
import {plural} from '../../report/numbers.js'
import {type Interval, LEAST_FOR_INTERVAL} from '../../stats/index.js'
import {methodLabel, projectionLabel} from '../labels.js'
import {type CompletedSweep, replicatesOf} from './schema.js'
import {boundsOf, LEAST_FOR_RANGE, overlap} from './spread.js'

interface Spread extends Interval {
  row: CompletedSweep
}

/** Groups that one sentence names. */
const MOST_NAMED = 6

/**
 * Says what is not distinguishable: methods and projections of the same M, and neighbouring M of the same variant,
 * where the 95 % intervals of the median relative errors overlap, or the ranges of too few replicates for those; all of
 * them, where there are too few for ranges.
 * Intervals that overlap do not prove two errors the same; that they do not overlap is the proof asked for here.
 *
 * @param rows - of one table, sorted by M within a variant
 * @returns at most two sentences, each of a bounded number of names
 */
export function orderItems(rows: readonly CompletedSweep[]): string[] {
  const spreads = rows.flatMap(toSpread)
  const random = spreads.filter(({low, high}) => low < high)
  if (random.length === 0) return []
  const counts = [...new Set(random.map(({row}) => replicatesOf(row)))].sort((a, b) => a - b)
  const why = `${counts
    .slice(0, -1)
    .map(count => `${count} or `)
    .join('')}${plural(counts.at(-1)!, 'replicate')} (${reason(counts[0]!)})`
  return [
    sentence(`rel L2 is not distinguishable at ${why}`, sameSize(spreads)),
    sentence(`rel L2 shows no trend with M at ${why}`, sameVariant(spreads)),
  ].flat()
}

/** @param count - the fewest replicates of a row */
function reason(count: number): string {
  if (count < LEAST_FOR_RANGE) return `fewer than ${LEAST_FOR_RANGE} tell nothing`
  return `their ${count < LEAST_FOR_INTERVAL ? 'ranges' : '95 % intervals'} overlap`
}

function sentence(head: string, groups: readonly string[]): string[] {
  if (groups.length === 0) return []
  const rest = groups.length - MOST_NAMED
  const more = rest > 0 ? [`and ${rest} more`] : []
  return [`${head}: ${[...groups.slice(0, MOST_NAMED), ...more].join('; ')}`]
}

/** Rows without features to choose have no neighbours; broken replicates have no spread. */
function toSpread(row: CompletedSweep): Spread[] {
  if (row.cell.num_features === null) return []
  const bounds = boundsOf(row, row.result.rel_l2)
  return bounds ? [{row, ...bounds}] : []
}

/** Groups of one M, the same groups of several M together: `favor-pos iid, orth at M=64, 256`. */
function sameSize(spreads: readonly Spread[]): string[] {
  const found = groupBy(spreads, ({row}) => String(row.cell.num_features)).flatMap(group =>
    cliques(group).map(members => ({name: groupName(members), size: sizeOf(members[0]!)})),
  )
  return groupBy(found, ({name}) => name).map(
    same => `${same[0]!.name} at M=${same.map(({size}) => size).join(', ')}`,
  )
}

/** The largest groups in which every two overlap: each is made of all that hold the low end of one of its members. */
function cliques(spreads: readonly Spread[]): Spread[][] {
  const holders = spreads.map(({low}) => spreads.filter(own => own.low <= low && low <= own.high))
  return holders.filter(
    (group, at) =>
      group.length > 1 &&
      !holders.some(
        (other, place) =>
          group.every(member => other.includes(member)) &&
          (other.length > group.length || (other.length === group.length && place < at)),
      ),
  )
}

/** `favor-pos iid, orth and rfa orth`, in the order of the table. */
function groupName(members: readonly Spread[]): string {
  return groupBy(members, ({row}) => methodLabel(row.cell))
    .map(group => {
      const projections = group.flatMap(({row}) => projectionLabel(row.cell) ?? [])
      return [methodLabel(group[0]!.row.cell), projections.join(', ')].filter(Boolean).join(' ')
    })
    .join(' and ')
}

/** Runs of neighbouring M of one variant, the same runs together: `rfa iid, orth M=64, 256`. */
function sameVariant(spreads: readonly Spread[]): string[] {
  const runs = groupBy(spreads, ({row}) => groupName([{row, low: 0, high: 0}])).flatMap(runsOf)
  const sizes = (run: readonly Spread[]) => run.map(sizeOf).join(', ')
  return groupBy(runs, run => `${methodLabel(run[0]!.row.cell)} ${sizes(run)}`).map(
    same => `${groupName(same.map(run => run[0]!))} M=${sizes(same[0]!)}`,
  )
}

/** Neighbours that overlap, one after the other. */
function runsOf(variant: readonly Spread[]): Spread[][] {
  const runs: Spread[][] = []
  for (const spread of variant) {
    const run = runs.at(-1)
    if (run && overlap(run.at(-1)!, spread)) run.push(spread)
    else runs.push([spread])
  }
  return runs.filter(run => run.length > 1)
}

function sizeOf({row}: Spread): number {
  return row.cell.num_features ?? 0
}
