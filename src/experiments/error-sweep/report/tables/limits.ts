/** What methods converge to, beside what they are compared with: how far that is off softmax, and the noise around it. */
import type {ColumnSpec} from '../../../../report/document.js'
import {MISSING, significant} from '../../../../report/numbers.js'
import {methodLabel, variantLabel} from '../../../labels.js'
import type {CompletedSweep} from '../../schema.js'
import {isDrawn, isRounding} from '../errors/comparison.js'
import {errorOf} from '../errors/ranking.js'
import {placeKey} from '../groups/places.js'

/** Rows against what each method converges to, by their variant and place. */
export type Limits = ReadonlyMap<string, CompletedSweep>

export function limitsOf(rows: readonly CompletedSweep[]): Limits {
  const matched = rows.filter(({cell}) => cell.target === 'matched')
  return new Map(matched.map(row => [nameOf(row), row]))
}

/** The row of the same draws against what they converge to; `undefined`: they estimate softmax itself, or none was measured. */
export function limitOf(limits: Limits, row: CompletedSweep): CompletedSweep | undefined {
  return row.cell.target === 'raw' ? limits.get(nameOf(row)) : undefined
}

function nameOf(row: CompletedSweep): string {
  return `${variantLabel(row.cell)} ${placeKey(row)}`
}

/** Rows against limits without a row of the same draws against softmax. @param rows - against softmax */
export function withoutPartner(
  matched: readonly CompletedSweep[],
  rows: readonly CompletedSweep[],
): CompletedSweep[] {
  const names = new Set(rows.map(nameOf))
  return matched.filter(row => !names.has(nameOf(row)))
}

/** Columns of floor and noise; none without limits. */
export function limitColumns(limits: Limits): ColumnSpec<CompletedSweep>[] {
  if (limits.size === 0) return []
  const floor: ColumnSpec<CompletedSweep> = {
    title: 'floor',
    priority: 1,
    cell: row => floorText(row, limitOf(limits, row)),
  }
  return [
    ...(hasFloors(limits) ? [floor] : []),
    {title: 'noise', priority: 1, cell: row => noiseText(row, limitOf(limits, row))},
  ]
}

/** Whether floors are known: an earlier version kept none. */
function hasFloors(limits: Limits): boolean {
  return [...limits.values()].some(({result}) => result.limit_distance !== null)
}

function floorText(row: CompletedSweep, limit: CompletedSweep | undefined): string {
  if (limit) return significant(limit.result.limit_distance)
  if (row.result.limit_distance === 0 && !isRounding(row)) return '0'
  return isItsLimit(row) ? significant(finite(errorOf(row))) : MISSING
}

function noiseText(row: CompletedSweep, limit: CompletedSweep | undefined): string {
  if (limit) return isRounding(limit) ? '0' : significant(finite(errorOf(limit)))
  if (row.result.limit_distance === 0 && !isRounding(row)) return significant(finite(errorOf(row)))
  return isItsLimit(row) ? '0' : MISSING
}

/** Whether a row draws nothing and converges to nothing but itself. */
function isItsLimit(row: CompletedSweep): boolean {
  return row.result.limit_distance === null && !isDrawn(row) && !isRounding(row)
}

function finite(value: number): number | null {
  return Number.isFinite(value) ? value : null
}

export function limitsLegend(limits: Limits): string[] {
  if (limits.size === 0) return []
  return [
    ...(hasFloors(limits)
      ? ['floor: how far what a method converges to is off softmax, which no M changes;']
      : []),
    'noise: how far estimates are off what the method converges to, median over replicates.',
  ]
}

export function limitItems(limits: Limits): string[] {
  const items = [...limits.values()].map(
    ({cell, result}) => `${methodLabel(cell)} converges to ${result.target_label}`,
  )
  return [...new Set(items)]
}
