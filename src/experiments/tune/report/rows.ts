/** Held-out errors of all records, by variant. */
import {groupBy} from '../../../report/groups.js'
import {type MeanInterval, mean, overDrawsAndTexts} from '../../../stats/index.js'
import {type CompletedTune, VARIANTS, type Variant} from '../schema.js'

/** The errors of a variant. */
export interface VariantRow {
  variant: Variant
  /** As tables have it. */
  label: string
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
        label: variant === 'more_features' ? `M=${own.variant_num_features}` : variant,
        all: aboveZero(overDrawsAndTexts(tableOf(rows, variant))),
        layers: layersOf(rows).map(([layer, group]) => ({layer, error: headMean(group, variant)})),
      },
    ]
  }).toSorted((a, b) => (a.all.mean ?? Infinity) - (b.all.mean ?? Infinity))
}

/** No error is below zero, whatever Student's t says of few draws. */
function aboveZero({mean, low, high}: MeanInterval): MeanInterval {
  return {mean, low: low === null ? null : Math.max(0, low), high}
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
    own.map(
      ({replicate, per_head}) => [replicate, per_head.map(error => error ?? Number.NaN)] as const,
    ),
  )
}

/** Mean over heads and draws; `null` where one is not a number. */
export function headMean(rows: readonly CompletedTune[], variant: Variant): number | null {
  const found = mean([...byDraw(rows, variant).values()].flat())
  return Number.isFinite(found) ? found : null
}
