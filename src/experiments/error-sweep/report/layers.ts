/** What tables and lists say of the layers of one input. */
import {numbered} from '../../../inputs/layers.js'
import {groupBy} from '../../../report/groups.js'
import type {CompletedSweep} from '../schema.js'

/** The records of each layer, layers in ascending order; all together where the input has none. */
export function byLayer(records: readonly CompletedSweep[]): CompletedSweep[][] {
  const groups = groupBy(records, ({cell}) => String(cell.layer))
  return groups.toSorted(([a], [b]) => (a!.cell.layer ?? 0) - (b!.cell.layer ?? 0))
}

/** `layer 3`, `layers 0, 3`; nothing of an input without layers. */
export function layersLabel(records: readonly CompletedSweep[]): string | undefined {
  const layers = byLayer(records).flatMap(([first]) => first!.cell.layer ?? [])
  if (layers.length === 0) return undefined
  return numbered(layers)
}

/**
 * Sentences on each layer by itself: rows are compared within a layer only. What is true of several is said once, with
 * their numbers before it where it is not true of all.
 */
export function itemsByLayer(
  records: readonly CompletedSweep[],
  itemsOf: (layer: readonly CompletedSweep[]) => readonly string[],
): string[] {
  const layers = byLayer(records)
  if (layers.length < 2) return layers.flatMap(itemsOf)
  const said = new Map<string, CompletedSweep[]>()
  for (const layer of layers) {
    for (const item of itemsOf(layer)) said.set(item, [...(said.get(item) ?? []), layer[0]!])
  }
  return [...said].map(([item, own]) =>
    own.length === layers.length ? item : `${layersLabel(own)}: ${item}`,
  )
}
