/** What is to be compared: two runs, or two methods of one run, and which of their cells belong together. */
import {type DrawPoint, drawPoint, type MethodSpec} from '../experiments/axes.js'
import type {Comparison, MeasuredRecord, Related} from '../experiments/comparison.js'
import {methodLabel} from '../experiments/labels.js'
import type {Counted} from '../experiments/until-ci.js'
import {groupBy} from '../report/groups.js'
import type {RunManifest} from '../results/folder/manifest.js'
import {canonicalJson} from '../results/keys.js'
import type {CellRecord} from '../results/record.js'
import type {Limit} from './limits.js'

/** A run, or what a method has of it. */
export interface Side {
  directory: string
  /** Name of the method; `null`: the whole run. */
  method: string | null
  manifest: RunManifest
  /** The newest of each cell. */
  records: readonly CellRecord[]
  /** Cells of the plan; `null`: unknown. */
  cells: number | null
}

export interface ComparisonRequest {
  experiment: string
  comparison: Comparison
  related: Related
  a: Side
  b: Side
  limits: readonly Limit[]
  strict: boolean
}

/** Two cells that were both measured. */
export type MeasuredPair = readonly [MeasuredRecord, MeasuredRecord]

/** Cells of A and of B that measure the same. */
export interface Matching {
  pairs: readonly (readonly [CellRecord, CellRecord])[]
  onlyA: readonly CellRecord[]
  onlyB: readonly CellRecord[]
}

type Measured = Pick<Comparison, 'measured'>

/**
 * Matches the cells of two runs by what they measure. Where a run has several that do, by different draws, backends or
 * protocols, those that are equal in all that belong together, then those that the same backend computed; of the rest a cell
 * without a rival on either side is matched with the only one that is left, but not where a run compares backends.
 */
export function matchRuns(
  a: readonly CellRecord[],
  b: readonly CellRecord[],
  {measured}: Measured,
): Matching {
  const left = {a: new Set(a), b: new Set(b)}
  const comparing = new Set([a, b].flatMap(run => severalBackends(run, measured)))
  const pairs: [CellRecord, CellRecord][] = []
  for (const keyOf of [wholeKey, backendKey, measuredKey]) {
    const key = (record: CellRecord) => keyOf(record, measured)
    const [own, other] = [groupsOf(left.a, key), groupsOf(left.b, key)]
    for (const [name, [first, rival]] of own) {
      const [second, otherRival] = other.get(name) ?? []
      if (!first || !second || rival || otherRival) continue
      if (keyOf === measuredKey && comparing.has(name)) continue
      pairs.push([first, second])
      left.a.delete(first)
      left.b.delete(second)
    }
  }
  const order = new Map(a.map((record, at) => [record, at]))
  pairs.sort(([one], [other]) => order.get(one)! - order.get(other)!)
  return {pairs, onlyA: [...left.a], onlyB: [...left.b]}
}

type KeyOf = (record: CellRecord, measured: Measured['measured']) => string

const measuredKey: KeyOf = ({cell}, measured) => canonicalJson(measured(cell))
const wholeKey: KeyOf = ({cell}) => canonicalJson(cell)
const backendKey: KeyOf = (record, measured) =>
  canonicalJson([backendOf(record), measured(record.cell)])

/** The backend that computed a cell, or was to. */
function backendOf(record: CellRecord): unknown {
  if (record.status === 'completed') return record.result.backend
  return (record.cell as {backend?: string}).backend
}

/** What a run measures on more than one backend, by its key. */
function severalBackends(run: readonly CellRecord[], measured: Measured['measured']): string[] {
  const groups = groupsOf(run, record => measuredKey(record, measured))
  return [...groups].flatMap(([key, records]) =>
    new Set(records.map(backendOf)).size > 1 ? [key] : [],
  )
}

function groupsOf(
  records: Iterable<CellRecord>,
  key: (record: CellRecord) => string,
): Map<string, CellRecord[]> {
  const groups = groupBy([...records], key)
  return new Map(groups.map(group => [key(group[0]!), group]))
}

/** What a cell draws, and when; experiments that list matrices in a cell have no field for one. */
type Drawing = Partial<DrawPoint> & {redraw?: string}
const DRAWING = [...(Object.keys(drawPoint) as (keyof DrawPoint)[]), 'redraw'] as const

/**
 * Matches the cells of two methods of one run that are equal in everything else. A method without a projection, or
 * without numbers of features, is compared with each of the other.
 *
 * @param records - those of A, then those of B
 */
export function matchMethods([a, b]: readonly [
  readonly CellRecord[],
  readonly CellRecord[],
]): Matching {
  const others = new Map(groupBy(b, restKey).map(group => [restKey(group[0]!), group]))
  const pairs = a.flatMap(own =>
    (others.get(restKey(own)) ?? [])
      .filter(other => drawAlike(own.cell, other.cell))
      .map(other => [own, other] as const),
  )
  const matched = new Set(pairs.flat())
  const rest = (records: readonly CellRecord[]) => records.filter(one => !matched.has(one))
  return {pairs, onlyA: rest(a), onlyB: rest(b)}
}

/** All of a cell except its method and its draws. Numbers of draws depend on the method, and seeds on the run. */
function restKey({cell}: CellRecord): string {
  const {method, preset, options, plugin, tuned, replicates, until_ci, ...rest} = cell as Partial<
    MethodSpec & Counted
  >
  const drawn: readonly string[] = DRAWING
  const others = Object.entries(rest).filter(([name]) => !drawn.includes(name))
  return canonicalJson(Object.fromEntries(others))
}

function drawAlike(a: Drawing, b: Drawing): boolean {
  const alike = (own: unknown, other: unknown) => own == null || other == null || own === other
  if (!alike(a.num_features, b.num_features)) return false
  // how a matrix is drawn means nothing where there is none
  if (a.projection === null || b.projection === null) return true
  return DRAWING.every(name => name === 'num_features' || a[name] === b[name])
}

/** The cells of a method: those with the name as label, or else all cells of the method, with any options. */
export function cellsOfMethod(records: readonly CellRecord[], name: string): CellRecord[] {
  const labelled = records.filter(({cell}) => methodLabel(cell as MethodSpec) === name)
  if (labelled.length > 0) return labelled
  return records.filter(({cell}) => (cell as MethodSpec).method === name)
}

export function methodsOf(records: readonly CellRecord[]): string[] {
  return [...new Set(records.map(({cell}) => methodLabel(cell as MethodSpec)))]
}
