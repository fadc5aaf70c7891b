import type {CellRecord} from '../../results/record.js'

/**
 * Watches for records that were computed in another way than those of earlier sessions: by another
 * backend than for the same `--backend`, or another instruction set. They may differ in their last digits.
 *
 * @param earlier - records that the run had when it was resumed
 * @param warn - called once for each new way
 */
export function warnOnMixedBackends(
  earlier: readonly CellRecord[],
  warn: (text: string) => void,
): (record: CellRecord) => void {
  const known = new Set(earlier.flatMap(record => wayOf(record).map(way => placed(record, way))))
  const first = (record: CellRecord) => [
    ...new Set(earlier.filter(one => askedOf(one) === askedOf(record)).flatMap(wayOf)),
  ]
  return record => {
    for (const way of wayOf(record)) {
      if (known.has(placed(record, way))) continue
      known.add(placed(record, way))
      const before = first(record)
      if (before.length === 0) continue
      warn(
        `the cells that this run had were computed by ${before.join(' and ')}, this session computes by ${way}: ` +
          'they may differ in their last digits; each record names its backend',
      )
    }
  }
}

/** What a cell is to be computed by: those that ask for something else are meant to differ. */
function askedOf({cell}: CellRecord): string {
  const {backend, peer} = cell as {backend?: string; peer?: string}
  return peer ?? backend ?? ''
}

function placed(record: CellRecord, way: string): string {
  return `${askedOf(record)}: ${way}`
}

/**
 * Warns of a run that was started by other code of the same version: its records and new ones may differ.
 *
 * @param started - commit that it was started by, `null` outside a checkout
 * @param now - commit of this session
 */
export function compareCode(
  started: string | null,
  now: string | null,
  warn?: (text: string) => void,
): void {
  if (started === now || started === null || now === null) return
  warn?.(
    `the run was started by rfa at commit ${started}, this session is at ${now}: ` +
      'if results changed between them, records will not be comparable',
  )
}

/** How a record was computed, e.g. `native (avx2)`; nothing for one without a result. */
export function wayOf(record: CellRecord): string[] {
  if (record.status !== 'completed') return []
  const {backend, instruction_set} = record.result
  return [instruction_set === null ? backend : `${backend} (${instruction_set})`]
}
