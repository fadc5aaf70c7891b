import type {CellRecord} from '../results/record.js'

/**
 * Watches for records that were computed in another way than those of earlier sessions: by another
 * backend, or another instruction set. They may differ in their last digits.
 *
 * @param earlier - records that the run had when it was resumed
 * @param warn - told once of each new way
 */
export function watchMixture(
  earlier: readonly CellRecord[],
  warn: (text: string) => void,
): (record: CellRecord) => void {
  const known = new Set(earlier.flatMap(wayOf))
  const first = [...known].join(' and ')
  return record => {
    for (const way of wayOf(record)) {
      if (first === '' || known.has(way)) continue
      known.add(way)
      warn(
        `the cells that this run had were computed by ${first}, this session computes by ${way}: ` +
          'they may differ in their last digits; each record names its own',
      )
    }
  }
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
      'where results changed between them, records will not belong together',
  )
}

/** How a record was computed, e.g. `native (avx2)`; nothing for one without a result. */
export function wayOf(record: CellRecord): string[] {
  if (record.status !== 'completed') return []
  const {backend, instruction_set} = record.result
  return [instruction_set === null ? backend : `${backend} (${instruction_set})`]
}
