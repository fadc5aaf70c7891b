/** Swaps as claims read them: numbers of every draw on every group of texts. */
import {variantLabel} from '../../experiments/labels.js'
import type {CompletedSwap, SwapPart} from '../../experiments/swap/schema.js'
import {type RandomStream, randomStream} from '../../random/index.js'
import {groupBy} from '../../report/groups.js'
import {type CrossedEstimate, crossedEstimate, variance} from '../../stats/index.js'
import {Unmeasured} from '../runs.js'

/** Rows are draws, columns are groups of texts; a method without draws has one row. */
export type PartTable = readonly (readonly number[])[]

/** @throws {Unmeasured} where a part has no such number, or the record no parts */
export function tableOf(
  {cell, result}: CompletedSwap,
  read: (part: SwapPart) => number | null | undefined,
): PartTable {
  const parts = result.parts ?? []
  const table = groupBy(parts, ({draw}) => String(draw)).map(sameDraw =>
    sameDraw.map(part => read(part) ?? Number.NaN),
  )
  if (table.length > 0 && table.flat().every(Number.isFinite)) return table
  throw new Unmeasured(`${variantLabel(cell)}: draws without a finite number`)
}

/** What is lost. @throws as {@link tableOf} */
export function damageTable(record: CompletedSwap): PartTable {
  return tableOf(record, ({damage}) => damage)
}

/** A table made of others of the same size, place by place. */
export function combined(
  tables: readonly PartTable[],
  combine: (values: readonly number[]) => number,
): PartTable {
  return tables[0]!.map((row, draw) =>
    row.map((_, group) => combine(tables.map(table => table[draw]![group]!))),
  )
}

/** A method with its draw, all layers exchanged at once and each by itself. */
export interface Variant {
  label: string
  method: string
  /** M; `null`: it has none. */
  numFeatures: number | null
  all: CompletedSwap
  /** By number of the layer. */
  single: readonly CompletedSwap[]
}

/**
 * Variants of a run that exchanges all layers at once and each by itself.
 *
 * @throws {Unmeasured} where a set of layers is not there
 */
export function variantsOf(records: readonly CompletedSwap[]): Variant[] {
  return groupBy(records, ({cell}) => variantLabel(cell)).map(sameVariant => {
    const {cell, result} = sameVariant[0]!
    const label = variantLabel(cell)
    const setOf = (layers: readonly number[]) => {
      const exchange = sameVariant.find(record => record.cell.layers.join() === layers.join())
      if (!exchange)
        throw new Unmeasured(`${label}: layers ${layers.join(', ')} were not exchanged`)
      return exchange
    }
    const layers = Array.from({length: result.model_layers}, (_, layer) => layer)
    return {
      label,
      method: cell.method,
      numFeatures: cell.num_features,
      all: setOf(layers),
      single: layers.map(layer => setOf([layer])),
    }
  })
}

/** What is drawn anew in a study like this one. */
const AXES = ['draws', 'groups', 'methods'] as const

/** How often each draw, each group of texts and each method counts. */
export type Weights = Record<(typeof AXES)[number], Float64Array>

/** Mean over parts by their weights. A method without draws has one, which counts once. */
export function meanOfParts(
  table: PartTable,
  {draws, groups}: Pick<Weights, 'draws' | 'groups'>,
  transform = (value: number) => value,
): number {
  let [sum, weights] = [0, 0]
  table.forEach((row, draw) => {
    row.forEach((value, group) => {
      const weight = (table.length === 1 ? 1 : draws[draw]!) * groups[group]!
      sum += weight * transform(value)
      weights += weight
    })
  })
  return sum / weights
}

/** Times that each axis is drawn anew. */
const RESAMPLES = 200

/**
 * Statistics of the parts of several cells together, with the spread that draws, groups of texts and methods give them: each axis is
 * drawn anew with replacement, the others fixed (bootstrap). The variance of the resamples counts n / (n - 1) times. A resample
 * without a statistic, such as one of a single method, does not count.
 *
 * @param sizes - of the axes
 * @param statistic - by name, at given weights
 */
export function resampled<Name extends string>(
  sizes: Readonly<Record<keyof Weights, number>>,
  seed: number,
  statistic: (weights: Weights) => Record<Name, number>,
): Record<Name, CrossedEstimate> {
  const ones = (axis: keyof Weights) => new Float64Array(sizes[axis]).fill(1)
  const even: Weights = {draws: ones('draws'), groups: ones('groups'), methods: ones('methods')}
  const center = statistic(even)
  const names = Object.keys(center) as Name[]
  const axes = AXES.filter(axis => sizes[axis] > 1).map(axis => {
    const stream = randomStream(seed, 'claims.resampled', AXES.indexOf(axis))
    const resamples = Array.from({length: RESAMPLES}, () =>
      statistic({...even, [axis]: countsOf(sizes[axis], stream)}),
    )
    const degrees = sizes[axis] - 1
    const error = (name: Name) => {
      const values = resamples.map(one => one[name]).filter(Number.isFinite)
      return Math.sqrt((variance(values) * (degrees + 1)) / degrees)
    }
    return {error, degrees}
  })
  const estimates = names.map(name => {
    const spreads = axes.map(({error, degrees}) => ({error: error(name), degrees}))
    return [name, crossedEstimate(center[name], spreads)] as const
  })
  return Object.fromEntries(estimates) as Record<Name, CrossedEstimate>
}

/** How often each of so many is drawn, with replacement. */
function countsOf(count: number, stream: RandomStream): Float64Array {
  const counts = new Float64Array(count)
  for (let at = 0; at < count; at++) counts[stream.integer(count)]! += 1
  return counts
}
