/** Held-out errors of all records, by variant. */
import {groupBy} from '../../../report/groups.js'
import {type MeanInterval, mean, overDrawsAndTexts} from '../../../stats/index.js'
import {type CompletedTune, MORE_FEATURES, VARIANTS, type Variant} from '../schema.js'

/** The errors of a variant. */
export interface VariantRow {
  variant: Variant
  /** As tables have it. */
  label: string
  numFeatures: number | null
  /** Mean over heads of all layers, and draws; with its interval over both. */
  all: MeanInterval
  /** Mean over heads and draws, by layer. */
  layers: {layer: number | undefined; error: number | null}[]
}

/** A row for each variant that was measured, the lowest error first. */
export function variantRows(rows: readonly CompletedTune[]): VariantRow[] {
  return VARIANTS.flatMap(variant => {
    const own = rows.flatMap(({result}) => result.errors).find(one => one.variant === variant)
    if (!own) return []
    return [
      {
        variant,
        label: labelOf(variant, rows[0]!),
        numFeatures: own.num_features,
        all: overDrawsAndTexts(tableOf(rows, variant)),
        layers: layersOf(rows).map(([layer, group]) => ({layer, error: headMean(group, variant)})),
      },
    ]
  }).toSorted((a, b) => (a.all.mean ?? Infinity) - (b.all.mean ?? Infinity))
}

function labelOf(variant: Variant, {cell}: CompletedTune): string {
  const {method} = cell
  switch (variant) {
    case 'untuned':
      return method
    case 'tuned':
      return `${method} tuned`
    case 'temperature':
      return `${method}, best temperature`
    case 'more_features':
      return `${method}, ${MORE_FEATURES} x M`
    default:
      return variant
  }
}

/** Records by layer, in ascending order. */
export function layersOf(
  rows: readonly CompletedTune[],
): [layer: number | undefined, rows: readonly CompletedTune[]][] {
  return groupBy(rows, ({cell}) => String(cell.layer))
    .map((group): [number | undefined, readonly CompletedTune[]] => [group[0]!.cell.layer, group])
    .toSorted(([a], [b]) => (a ?? 0) - (b ?? 0))
}

/** Errors of heads, those of all layers one after the other; a row for each draw that all layers have. */
function tableOf(rows: readonly CompletedTune[], variant: Variant): number[][] {
  const layers = layersOf(rows).map(([, group]) => byDraw(group, variant))
  const draws = [...layers[0]!.keys()].filter(draw => layers.every(layer => layer.has(draw)))
  if (draws.length === 0) return [layers.flatMap(layer => [...layer.values()][0] ?? Number.NaN)]
  return draws.map(draw => layers.flatMap(layer => layer.get(draw)!))
}

function byDraw(rows: readonly CompletedTune[], variant: Variant): Map<number, number[]> {
  const own = rows.flatMap(({result}) => result.errors.filter(one => one.variant === variant))
  return new Map(
    own.map(({draw, per_head}) => [draw, per_head.map(error => error ?? Number.NaN)] as const),
  )
}

/** Mean over heads and draws; `null` where one is not a number. */
export function headMean(rows: readonly CompletedTune[], variant: Variant): number | null {
  const found = mean([...byDraw(rows, variant).values()].flat())
  return Number.isFinite(found) ? found : null
}
